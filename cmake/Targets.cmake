# The claim rows of the shipped targets, passes/targets/NAME.qpat, compiled in as text:
# <build>/passes/targets.h has their bytes. Include it as "passes/targets.h".
file(GLOB target_rows CONFIGURE_DEPENDS passes/targets/*.qpat)
set(target_arrays "")
set(target_table "")
foreach(rows ${target_rows})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${rows})
    get_filename_component(name ${rows} NAME_WE)
    file(READ ${rows} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND target_arrays "static const char rows_${name}[] = {${bytes}0};\n")
    string(APPEND target_table "    {\"${name}\", rows_${name}, sizeof rows_${name} - 1},\n")
endforeach()
file(CONFIGURE OUTPUT passes/targets.h CONTENT [[
/* Made from passes/targets/: do not edit. */
@target_arrays@
static const struct {
    const char *name, *text;
    size_t size;
} targets[] = {
@target_table@};
]] @ONLY)
