# Style sheets and scripts of the driver's HTML pages: tools/qgc/html/NAME.EXT is the NUL-terminated
# array html_NAME_EXT of <build>/tools/assets.c, byte for byte.
file(GLOB asset_files CONFIGURE_DEPENDS tools/qgc/html/*.css tools/qgc/html/*.js)
set(asset_arrays "")
foreach(asset ${asset_files})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${asset})
    get_filename_component(name ${asset} NAME)
    string(MAKE_C_IDENTIFIER ${name} name)
    file(READ ${asset} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
    string(APPEND asset_arrays "extern const char html_${name}[];\nconst char html_${name}[] = {${bytes}0};\n")
endforeach()
file(CONFIGURE OUTPUT tools/assets.c CONTENT [[
/* Made from tools/qgc/html/: do not edit. */
@asset_arrays@]] @ONLY)
