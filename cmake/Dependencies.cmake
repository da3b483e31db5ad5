# The libraries qgc stands on; tools/setup installs them.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(jansson REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(protobuf_c REQUIRED IMPORTED_TARGET libprotobuf-c)
pkg_check_modules(zlib REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(png REQUIRED IMPORTED_TARGET libpng)
pkg_check_modules(turbojpeg REQUIRED IMPORTED_TARGET libturbojpeg)

add_library(qgc_dependencies INTERFACE)
target_link_libraries(qgc_dependencies INTERFACE PkgConfig::jansson PkgConfig::libzip
    PkgConfig::xxhash PkgConfig::protobuf_c PkgConfig::zlib PkgConfig::png PkgConfig::turbojpeg Threads::Threads ${CMAKE_DL_LIBS} m)

# LLVM's own tools (FileCheck, not, count, lit) come from the same prefix as its libraries.
find_program(QGC_LLVM_CONFIG NAMES llvm-config-19 llvm-config)
if(QGC_LLVM_CONFIG)
    execute_process(COMMAND ${QGC_LLVM_CONFIG} --prefix OUTPUT_VARIABLE qgc_llvm_prefix
        OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()

# LLVM: code generation only; no other layer sees its headers.
if(NOT QGC_LLVM_CONFIG)
    message(FATAL_ERROR "llvm-config not found: run tools/setup")
endif()
execute_process(COMMAND ${QGC_LLVM_CONFIG} --includedir OUTPUT_VARIABLE qgc_llvm_include
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${QGC_LLVM_CONFIG} --libdir OUTPUT_VARIABLE qgc_llvm_libdir
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_library(QGC_LLVM NAMES LLVM-19 LLVM HINTS ${qgc_llvm_libdir} REQUIRED)
target_link_libraries(qgc_dependencies INTERFACE ${QGC_LLVM})

find_package(Threads REQUIRED)
target_link_libraries(qgc_dependencies INTERFACE Threads::Threads)
