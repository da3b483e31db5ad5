# check-tidy: clang-tidy over every layer and the driver, incrementally. A file is looked at again
# when its object file changes, which is when it or one of its headers changed.
find_program(QGC_CLANG_TIDY clang-tidy-19)

# The stamps of one target's C sources.
function(qgc_tidy_stamps target out_stamps)
    set(stamps)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.c$")
    foreach(source ${sources})
        string(FIND ${source} ${CMAKE_CURRENT_BINARY_DIR}/ generated)
        if(generated EQUAL 0)
            continue()
        endif()
        file(RELATIVE_PATH path ${CMAKE_CURRENT_SOURCE_DIR} ${source})
        set(stamp ${CMAKE_CURRENT_BINARY_DIR}/tidy/${path}.ok)
        get_filename_component(directory ${stamp} DIRECTORY)
        file(MAKE_DIRECTORY ${directory})
        add_custom_command(OUTPUT ${stamp}
            COMMAND ${QGC_CLANG_TIDY} --quiet -p ${CMAKE_CURRENT_BINARY_DIR} ${source}
            COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
            DEPENDS ${source} ${CMAKE_CURRENT_SOURCE_DIR}/.clang-tidy
                ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/${path}.o
            COMMENT "clang-tidy ${path}" VERBATIM)
        list(APPEND stamps ${stamp})
    endforeach()
    set(${out_stamps} ${stamps} PARENT_SCOPE)
endfunction()

if(QGC_CLANG_TIDY AND CMAKE_C_COMPILER_ID MATCHES Clang AND CMAKE_GENERATOR STREQUAL Ninja)
    set(all_stamps)
    foreach(target qgc_base qgc_ir qgc_frontend qgc_passes qgc_runtime qgc_codegen qgc)
        if(TARGET ${target})
            qgc_tidy_stamps(${target} stamps)
            list(APPEND all_stamps ${stamps})
        endif()
    endforeach()
    add_custom_target(check-tidy DEPENDS ${all_stamps})
endif()
