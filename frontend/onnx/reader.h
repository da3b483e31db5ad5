/* What the parts of the reader share. */
#ifndef QGC_FRONTEND_ONNX_READER_H
#define QGC_FRONTEND_ONNX_READER_H

#include "frontend/onnx/model.h"
#include "frontend/onnx/onnx.pb-c.h"

typedef struct qgc_onnx_reader {
    qgc_context *context;
    qgc_arena *arena;
    const char *file;      /* for messages */
    const char *directory; /* of external data; NULL: there must be none */
    qgc_text listing;      /* a line per node */
    uint32_t depth;        /* of graphs in graphs */
} qgc_onnx_reader;

/* QGC_D_ONNX_FORMAT "FILE: ...". Always QGC_FAILED. */
qgc_result qgc_onnx_malformed(qgc_onnx_reader *reader, const char *format, ...) QGC_PRINTF(2, 3);

/* Checks |size| bytes against a message's description without building it: truncated fields and
 * nesting beyond QGC_ONNX_MAX_NESTING, which protobuf-c would follow without limit. */
qgc_result qgc_onnx_check_wire(qgc_onnx_reader *reader, const ProtobufCMessageDescriptor *message,
                               const uint8_t *data, size_t size);
/* Checks and unpacks into the reader's arena; NULL: reported. */
ProtobufCMessage *qgc_onnx_unpack(qgc_onnx_reader *reader,
                                  const ProtobufCMessageDescriptor *message, const qgc_file *file);

/* Empty and NULL give NULL. */
qgc_name qgc_onnx_name(qgc_onnx_reader *reader, const char *text);

qgc_result qgc_onnx_convert_tensor(qgc_onnx_reader *reader, const Onnx__TensorProto *proto,
                                   qgc_onnx_tensor *out);
qgc_result qgc_onnx_convert_graph(qgc_onnx_reader *reader, const Onnx__GraphProto *proto,
                                  qgc_onnx_graph *out);
qgc_result qgc_onnx_convert_attr(qgc_onnx_reader *reader, const char *node,
                                 const Onnx__AttributeProto *proto, qgc_onnx_attr *out);

#endif
