# Plug-ins for the tests: <build>/test/plugin/NAME.so. Those of plugins/ are built here from their
# sources alone; tools/check builds them as their authors would, against an installed qgc.
function(qgc_test_plugin name source)
    add_library(plugin-${name} MODULE ${source})
    target_include_directories(plugin-${name} PRIVATE include)
    target_compile_options(plugin-${name} PRIVATE -Wall -Wextra -Wpedantic -Werror -ffp-contract=off
        -fvisibility=hidden)
    target_compile_definitions(plugin-${name} PRIVATE ${ARGN})
    target_link_libraries(plugin-${name} PRIVATE m)
    set_target_properties(plugin-${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} SUFFIX ".so"
        LIBRARY_OUTPUT_DIRECTORY test/plugin)
    set(qgc_test_plugins ${qgc_test_plugins} plugin-${name} PARENT_SCOPE)
endfunction()

qgc_test_plugin(add plugins/add/add.c)
qgc_test_plugin(template plugins/template/backend.c)
foreach(fault VERSION NOTHING SHORT NAME NO_ROWS BAD_ROW OPEN FAIL SILENT TWICE UNITS BAD_IR
        NO_FUNCTION WRONG_TYPE KERNEL REMARK FLOATS MEET)
    string(TOLOWER ${fault} name)
    qgc_test_plugin(${name} test/plugin/faulty.c FAULT=${fault})
endforeach()
qgc_test_plugin(no_query test/plugin/faulty.c FAULT=NONE NO_QUERY)
