# Unit tests, fuzz targets, lints, the lit suite, and the check-* targets over them.
enable_testing()
find_program(QGC_PYTHON python3 HINTS /usr/bin REQUIRED) # the system's, not one of a virtual environment
find_program(QGC_FILECHECK FileCheck HINTS ${qgc_llvm_prefix}/bin)
find_file(QGC_LIT lit.py HINTS ${qgc_llvm_prefix}/build/utils/lit)
pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)

# A locale with a decimal comma, for the tests of numbers (they say so where it is missing).
set(qgc_test_locales ${CMAKE_CURRENT_BINARY_DIR}/test/locale)
find_program(QGC_LOCALEDEF localedef)
if(QGC_LOCALEDEF AND NOT EXISTS ${qgc_test_locales}/de_DE.UTF-8)
    file(MAKE_DIRECTORY ${qgc_test_locales})
    execute_process(COMMAND ${QGC_LOCALEDEF} -i de_DE -f UTF-8 ${qgc_test_locales}/de_DE.UTF-8
        OUTPUT_QUIET ERROR_QUIET)
endif()

add_custom_target(unit-threaded) # the unit tests with "thread" in their name
add_custom_target(fuzz-targets)

# test/unit/NAME.c is one cmocka program, unit-NAME. White box: it may include the layers' headers.
function(qgc_unit_test source)
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "^test_|_test$" "" name ${name})
    string(REPLACE "_" "-" name ${name})
    add_executable(unit-${name} ${source})
    target_include_directories(unit-${name} PRIVATE include . ${CMAKE_CURRENT_BINARY_DIR})
    target_include_directories(unit-${name} SYSTEM PRIVATE ${qgc_llvm_include})
    target_link_libraries(unit-${name} PRIVATE qgc_warnings libqgc PkgConfig::cmocka)
    set_target_properties(unit-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY test/unit)
    add_test(NAME unit-${name} COMMAND unit-${name}
        WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set_tests_properties(unit-${name} PROPERTIES LABELS unit TIMEOUT 300
        ENVIRONMENT "LOCPATH=${qgc_test_locales}")
    if(name STREQUAL engine-threads) # counts allocations
        target_link_options(unit-${name} PRIVATE
            -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=aligned_alloc)
    endif()
    if(name MATCHES thread)
        set_property(TEST unit-${name} APPEND PROPERTY LABELS threads)
        add_dependencies(unit-threaded unit-${name})
    endif()
    set_property(GLOBAL APPEND PROPERTY qgc_unit_tests unit-${name})
endfunction()

# test/fuzz/NAME.c defines LLVMFuzzerTestOneInput. Only the fuzzer build links it into a program;
# the others compile it, so that it cannot rot.
function(qgc_fuzz_target source)
    get_filename_component(name ${source} NAME_WE)
    if(QGC_SANITIZE STREQUAL fuzzer)
        add_executable(${name} ${source})
        target_link_libraries(${name} PRIVATE libqgc)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY test/fuzz)
    else()
        add_library(${name} OBJECT ${source})
    endif()
    add_dependencies(fuzz-targets ${name})
    target_include_directories(${name} PRIVATE include . ${CMAKE_CURRENT_BINARY_DIR})
    target_link_libraries(${name} PRIVATE qgc_warnings)
endfunction()

if(TARGET libqgc)
    file(GLOB unit_sources CONFIGURE_DEPENDS test/unit/*.c)
    foreach(source ${unit_sources})
        qgc_unit_test(${source})
    endforeach()
    file(GLOB fuzz_sources CONFIGURE_DEPENDS test/fuzz/*.c)
    foreach(source ${fuzz_sources})
        qgc_fuzz_target(${source})
    endforeach()
endif()

# test/lint/check_NAME.py is lint-NAME; the class of its self-test in test_lints.py is NAME's.
set(lint_directory ${CMAKE_CURRENT_SOURCE_DIR}/test/lint)
foreach(lint format layering directives calls order sizes ops headers)
    set(options)
    if(lint STREQUAL headers)
        set(options --include ${CMAKE_CURRENT_BINARY_DIR} --include ${qgc_llvm_prefix}/include)
    endif()
    add_test(NAME lint-${lint} COMMAND ${QGC_PYTHON} -B ${lint_directory}/check_${lint}.py
        ${CMAKE_CURRENT_SOURCE_DIR} ${options})
    string(SUBSTRING ${lint} 0 1 initial)
    string(TOUPPER ${initial} initial)
    string(SUBSTRING ${lint} 1 -1 rest)
    add_test(NAME lint-${lint}-self-test COMMAND ${QGC_PYTHON} -B -m unittest -q test_lints.${initial}${rest}
        WORKING_DIRECTORY ${lint_directory})
    set_tests_properties(lint-${lint} lint-${lint}-self-test PROPERTIES LABELS lint TIMEOUT 300)
endforeach()

# A documentation page is a test: docs-PAGE. The worked examples share one build of a copy of the tree.
if(TARGET qgc AND NOT QGC_SANITIZE)
    set(docs_directory ${CMAKE_CURRENT_SOURCE_DIR}/test/docs)
    set(docs_run ${QGC_PYTHON} -B ${docs_directory})
    file(GLOB pages RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS docs/*.md
        docs/generated/*.md)
    set(docs_tests docs-worked-examples docs-self-test)
    foreach(page README.md CONTRIBUTING.md ${pages})
        get_filename_component(name ${page} NAME_WE)
        string(TOLOWER ${name} name)
        if(page MATCHES generated)
            string(PREPEND name generated-)
        endif()
        add_test(NAME docs-${name} COMMAND ${docs_run}/run_docs.py
            --build ${CMAKE_CURRENT_BINARY_DIR} ${page})
        list(APPEND docs_tests docs-${name})
    endforeach()
    add_test(NAME docs-worked-examples COMMAND ${docs_run}/worked_examples.py
        --build ${CMAKE_CURRENT_BINARY_DIR} --lit ${QGC_LIT} docs/adding-an-op.md docs/adding-a-pass.md)
    add_test(NAME docs-self-test COMMAND ${docs_run}/test_run_docs.py)
    set_tests_properties(${docs_tests} PROPERTIES LABELS docs TIMEOUT 600
        WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
        ENVIRONMENT "QGC_BUILD_DIR=${CMAKE_CURRENT_BINARY_DIR}")
    add_custom_target(check-docs COMMAND ${CMAKE_CTEST_COMMAND} -L docs --output-on-failure
        DEPENDS qgc libqgc libqgc_shared ${qgc_test_plugins} USES_TERMINAL VERBATIM)
endif()

# The suite's own test: a crash or a sanitizer finding never passes for an expected failure.
add_test(NAME lint-harness-self-test COMMAND ${QGC_PYTHON} -B -m unittest -q test_harness
    WORKING_DIRECTORY ${lint_directory})
set_tests_properties(lint-harness-self-test PROPERTIES LABELS lint TIMEOUT 300
    ENVIRONMENT "QGC_BUILD_DIR=${CMAKE_CURRENT_BINARY_DIR};QGC_LIT=${QGC_LIT}")

add_custom_target(check-lint COMMAND ${CMAKE_CTEST_COMMAND} -L lint --output-on-failure
    USES_TERMINAL VERBATIM)
add_dependencies(check-lint qgc-generated)
add_custom_target(check-unit COMMAND ${CMAKE_CTEST_COMMAND} -L unit --output-on-failure
    USES_TERMINAL VERBATIM)
get_property(unit_tests GLOBAL PROPERTY qgc_unit_tests)
if(unit_tests)
    add_dependencies(check-unit ${unit_tests})
endif()

configure_file(test/lit/lit.site.cfg.py.in test/lit/lit.site.cfg.py @ONLY)
set(check_targets check-lint check-unit)
if(TARGET qgc AND QGC_LIT AND QGC_FILECHECK)
    add_custom_target(check-lit
        COMMAND ${QGC_PYTHON} ${QGC_LIT} -sv ${CMAKE_CURRENT_BINARY_DIR}/test/lit
        DEPENDS qgc ${qgc_test_plugins} USES_TERMINAL VERBATIM)
    list(APPEND check_targets check-lit)
endif()
if(TARGET check-docs)
    list(APPEND check_targets check-docs)
endif()
add_custom_target(check-qgc DEPENDS ${check_targets})

# Random graphs, interpreted and compiled (test/differential/), built when asked for.
if(TARGET libqgc)
    file(GLOB differential_sources CONFIGURE_DEPENDS test/differential/*.c)
    add_executable(differential EXCLUDE_FROM_ALL ${differential_sources})
    target_include_directories(differential PRIVATE include . ${CMAKE_CURRENT_BINARY_DIR})
    target_include_directories(differential SYSTEM PRIVATE ${qgc_llvm_include})
    target_link_libraries(differential PRIVATE qgc_warnings libqgc)
    set_target_properties(differential PROPERTIES RUNTIME_OUTPUT_DIRECTORY test/differential)

    # The same with planted bugs: copies of some sources, linked before the library.
    set(mutator ${CMAKE_CURRENT_SOURCE_DIR}/test/differential/mutations.py)
    set(mutated_folder ${CMAKE_CURRENT_BINARY_DIR}/mutated)
    execute_process(COMMAND ${QGC_PYTHON} -B ${mutator} --files OUTPUT_VARIABLE mutated
        OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${mutator})
    list(TRANSFORM mutated PREPEND ${mutated_folder}/ OUTPUT_VARIABLE mutated_copies)
    list(TRANSFORM mutated PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE mutated_sources)
    add_custom_command(OUTPUT ${mutated_copies} ${mutated_folder}/mutations.c
        COMMAND ${QGC_PYTHON} -B ${mutator} ${CMAKE_CURRENT_SOURCE_DIR} ${mutated_folder}
        DEPENDS ${mutator} ${mutated_sources} VERBATIM)
    add_executable(differential-mutants EXCLUDE_FROM_ALL ${differential_sources} ${mutated_copies}
        ${mutated_folder}/mutations.c)
    target_compile_definitions(differential-mutants PRIVATE QGC_MUTATIONS)
    target_include_directories(differential-mutants PRIVATE include . ${CMAKE_CURRENT_BINARY_DIR})
    target_include_directories(differential-mutants SYSTEM PRIVATE ${qgc_llvm_include})
    target_link_libraries(differential-mutants PRIVATE qgc_warnings libqgc)
    set_target_properties(differential-mutants PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY test/differential)
endif()

# test/bench/NAME.c is bench-NAME, built when asked for (tools/bench).
if(TARGET libqgc)
    add_executable(bench-kernels EXCLUDE_FROM_ALL test/bench/kernels.c)
    target_include_directories(bench-kernels PRIVATE include . ${CMAKE_CURRENT_BINARY_DIR})
    target_include_directories(bench-kernels SYSTEM PRIVATE ${qgc_llvm_include})
    target_link_libraries(bench-kernels PRIVATE qgc_warnings libqgc)
    find_library(QGC_DNNL dnnl)
    if(QGC_DNNL)
        add_executable(bench-peer-onednn EXCLUDE_FROM_ALL test/bench/peer_onednn.c)
        target_link_libraries(bench-peer-onednn PRIVATE qgc_warnings ${QGC_DNNL})
    endif()
endif()
