# <build>/qgc.pc: what a C program needs to stand on libqgc.a of this build (docs/api.md).
function(qgc_link_words target result)
    get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
    set(words)
    foreach(library ${libraries})
        if(library STREQUAL Threads::Threads)
            list(APPEND words -pthread)
        elseif(TARGET ${library})
            qgc_link_words(${library} inner)
            list(APPEND words ${inner})
        elseif(library MATCHES "/|^-")
            list(APPEND words ${library})
        elseif(library)
            list(APPEND words -l${library})
        endif()
    endforeach()
    set(${result} ${words} PARENT_SCOPE)
endfunction()

qgc_link_words(libqgc qgc_words)
list(REMOVE_DUPLICATES qgc_words)
list(JOIN qgc_words " " qgc_words)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/qgc.pc "Name: qgc
Description: quantizing graph compiler
Version: ${PROJECT_VERSION}
Cflags: -I${CMAKE_CURRENT_SOURCE_DIR}/include
Libs: ${CMAKE_CURRENT_BINARY_DIR}/libqgc.a ${qgc_words}
")
