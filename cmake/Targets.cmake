# Rows that are compiled in as text: the claim rows of the shipped targets, passes/targets/NAME.qpat,
# and the quantizer tables, passes/quantizers/NAME.qpat. <build>/passes/target_rows.h has an array
# rows_NAME for each target, <build>/passes/quantizers.h a table of the others.
foreach(table targets quantizers)
    file(GLOB table_files CONFIGURE_DEPENDS passes/${table}/*.qpat)
    set(table_arrays "")
    set(table_rows "")
    foreach(rows ${table_files})
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${rows})
        get_filename_component(name ${rows} NAME_WE)
        string(MAKE_C_IDENTIFIER ${name} array)
        file(READ ${rows} bytes HEX)
        string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
        string(APPEND table_arrays "static const char rows_${array}[] = {${bytes}0};\n")
        string(APPEND table_rows "    {\"${name}\", rows_${array}, sizeof rows_${array} - 1},\n")
    endforeach()
    if(table STREQUAL targets)
        file(CONFIGURE OUTPUT passes/target_rows.h CONTENT [[
/* Made from passes/targets/: do not edit. */
@table_arrays@]] @ONLY)
        continue()
    endif()
    file(CONFIGURE OUTPUT passes/${table}.h CONTENT [[
/* Made from passes/@table@/: do not edit. */
@table_arrays@
static const struct {
    const char *name, *text;
    size_t size;
} @table@[] = {
@table_rows@};
]] @ONLY)
endforeach()
