# The ONNX decoder: <build>/frontend/onnx/onnx.pb-c.{c,h}, made by protoc-c from the onnx.proto that
# libonnx-dev installs; the object library qgc_onnx_generated.
find_program(QGC_PROTOC_C protoc-c)
find_file(QGC_ONNX_PROTO onnx/onnx.proto PATHS /usr/include /usr/local/include NO_DEFAULT_PATH)
qgc_require_generator(protoc-c "${QGC_PROTOC_C}")
qgc_require_generator("onnx/onnx.proto" "${QGC_ONNX_PROTO}")

set(onnx_directory ${CMAKE_CURRENT_BINARY_DIR}/frontend/onnx)
file(MAKE_DIRECTORY ${onnx_directory})
get_filename_component(onnx_proto_directory ${QGC_ONNX_PROTO} DIRECTORY)
add_custom_command(OUTPUT ${onnx_directory}/onnx.pb-c.c ${onnx_directory}/onnx.pb-c.h
    COMMAND ${QGC_PROTOC_C} --c_out=${onnx_directory} -I${onnx_proto_directory} onnx.proto
    DEPENDS ${QGC_ONNX_PROTO}
    COMMENT "protoc-c onnx.proto" VERBATIM)
add_custom_target(qgc-onnx-generated
    DEPENDS ${onnx_directory}/onnx.pb-c.c ${onnx_directory}/onnx.pb-c.h)
qgc_generated_library(qgc_onnx_generated ${onnx_directory}/onnx.pb-c.c)
target_link_libraries(qgc_onnx_generated PRIVATE qgc_dependencies)
add_dependencies(qgc_onnx_generated qgc-onnx-generated)
add_dependencies(qgc-generated qgc-onnx-generated)
if(TARGET qgc_frontend)
    add_dependencies(qgc_frontend qgc-onnx-generated)
endif()
