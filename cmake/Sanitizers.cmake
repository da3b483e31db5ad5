# QGC_SANITIZE names the checks compiled into everything. A finding ends the process with a signal
# (tools/check and lit.cfg.py set *SAN_OPTIONS), so that `not qgc ...` cannot mistake it for an error.
set(QGC_SANITIZE "" CACHE STRING "address-undefined, thread, fuzzer, or empty")
set_property(CACHE QGC_SANITIZE PROPERTY STRINGS "" address-undefined thread fuzzer)

set(qgc_sanitize_address-undefined address,undefined)
set(qgc_sanitize_thread thread)
set(qgc_sanitize_fuzzer fuzzer-no-link,address,undefined)

if(QGC_SANITIZE)
    if(NOT DEFINED qgc_sanitize_${QGC_SANITIZE})
        message(FATAL_ERROR "QGC_SANITIZE is '${QGC_SANITIZE}': expected address-undefined, thread or fuzzer")
    endif()
    set(flags -fsanitize=${qgc_sanitize_${QGC_SANITIZE}} -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
    add_compile_options(${flags})
    add_link_options(${flags})
endif()
