# cmake --install: the driver, the shared library with the symbols of QGC_API alone, the headers, and
# what find_package(qgc) and pkg-config read. The tests stand on libqgc.a, which is not installed.
if(QGC_SANITIZE)
    return() # a library under a sanitizer asks for a driver under the same one
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(libqgc_shared SHARED ${layers})
set_target_properties(libqgc_shared PROPERTIES OUTPUT_NAME qgc EXPORT_NAME qgc LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
target_link_libraries(libqgc_shared PRIVATE qgc_dependencies)
target_link_options(libqgc_shared PRIVATE -Wl,--no-undefined)
target_include_directories(libqgc_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# Headers alone: all that a backend needs.
add_library(qgc_backend INTERFACE)
set_target_properties(qgc_backend PROPERTIES EXPORT_NAME backend)
target_include_directories(qgc_backend INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

set(qgc_package ${CMAKE_INSTALL_LIBDIR}/cmake/qgc)
install(TARGETS qgc RUNTIME)
install(TARGETS libqgc_shared qgc_backend EXPORT qgc-targets)
install(DIRECTORY include/qgc TYPE INCLUDE)
install(EXPORT qgc-targets NAMESPACE qgc:: DESTINATION ${qgc_package})
configure_package_config_file(cmake/qgc-config.cmake.in qgc-config.cmake
    INSTALL_DESTINATION ${qgc_package} PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(qgc-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/qgc-config.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/qgc-config-version.cmake DESTINATION ${qgc_package})

# Relative to the file itself, so that the tree can be moved.
file(RELATIVE_PATH qgc_up ${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig
    ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" qgc_up "${qgc_up}")
file(CONFIGURE OUTPUT install/qgc.pc CONTENT [[
prefix=${pcfiledir}/@qgc_up@
Name: qgc
Description: quantizing graph compiler
Version: @PROJECT_VERSION@
Cflags: -I${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
Libs: -L${prefix}/@CMAKE_INSTALL_LIBDIR@ -lqgc
]] @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/install/qgc.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
