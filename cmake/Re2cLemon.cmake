# Lexer and parser: frontend/lex.re (re2c) and frontend/grammar.y (lemon) become
# <build>/frontend/{lex,grammar}.c and grammar.h, compiled as the object library
# qgc_frontend_generated. Include the token header as "frontend/grammar.h".
find_program(QGC_RE2C re2c)
find_program(QGC_LEMON lemon)
find_file(QGC_LEMON_TEMPLATE lempar.c PATHS /usr/share/lemon /usr/local/share/lemon NO_DEFAULT_PATH)

function(qgc_require_generator name path)
    if(NOT path)
        message(FATAL_ERROR "${name} not found: run tools/setup")
    endif()
endfunction()

# qgc_re2c(source.re output.c extra-dependency...)
function(qgc_re2c source output)
    qgc_require_generator(re2c "${QGC_RE2C}")
    add_custom_command(OUTPUT ${output}
        COMMAND ${QGC_RE2C} -W -Werror --no-generation-date -o ${output} ${source}
        DEPENDS ${source} ${ARGN}
        COMMENT "re2c ${source}" VERBATIM)
endfunction()

# qgc_lemon(source.y output-directory): NAME.c, NAME.h and the state report NAME.out. Lemon exits
# with the number of conflicts, so a conflict fails the build.
function(qgc_lemon source directory)
    qgc_require_generator(lemon "${QGC_LEMON}")
    qgc_require_generator("lemon's template lempar.c" "${QGC_LEMON_TEMPLATE}")
    get_filename_component(name ${source} NAME_WE)
    add_custom_command(OUTPUT ${directory}/${name}.c ${directory}/${name}.h
        BYPRODUCTS ${directory}/${name}.out
        COMMAND ${QGC_LEMON} -T${QGC_LEMON_TEMPLATE} -d${directory} ${source}
        DEPENDS ${source}
        COMMENT "lemon ${source}" VERBATIM)
endfunction()

# qgc_generated_library(name source...): our flags without -Wpedantic and without the warnings that
# generators cause. NDEBUG removes lemon's trace hooks, the only mutable globals of the template.
function(qgc_generated_library name)
    add_library(${name} OBJECT ${ARGN})
    target_include_directories(${name} PRIVATE include . ${CMAKE_CURRENT_BINARY_DIR})
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE NDEBUG)
    target_compile_options(${name} PRIVATE -Wall -Wextra -Werror -ffp-contract=off
        -fvisibility=hidden -Wno-unused-function -Wno-unused-parameter -Wno-unused-variable
        -Wno-unused-but-set-variable -Wno-sign-compare -Wno-implicit-fallthrough)
endfunction()

set(generated_directory ${CMAKE_CURRENT_BINARY_DIR}/frontend)
file(MAKE_DIRECTORY ${generated_directory})
set(generated_sources)
file(GLOB grammars CONFIGURE_DEPENDS frontend/*.y)
foreach(grammar ${grammars})
    get_filename_component(name ${grammar} NAME_WE)
    qgc_lemon(${grammar} ${generated_directory})
    list(APPEND generated_sources
        ${generated_directory}/${name}.c ${generated_directory}/${name}.h)
endforeach()
file(GLOB lexers CONFIGURE_DEPENDS frontend/*.re)
foreach(lexer ${lexers})
    get_filename_component(name ${lexer} NAME_WE)
    qgc_re2c(${lexer} ${generated_directory}/${name}.c)
    list(APPEND generated_sources ${generated_directory}/${name}.c)
endforeach()
add_custom_target(qgc-generated DEPENDS ${generated_sources}) # without compiling them
if(generated_sources)
    qgc_generated_library(qgc_frontend_generated ${generated_sources})
    add_dependencies(qgc_frontend_generated qgc-generated)
    if(TARGET qgc_frontend)
        add_dependencies(qgc_frontend qgc-generated)
    endif()
endif()
