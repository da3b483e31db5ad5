/* Protobuf bytes to protobuf-c messages, in the reader's arena. */
#include "frontend/onnx/reader.h"

typedef struct cursor {
    const uint8_t *at, *end;
} cursor;

static bool read_varint(cursor *c, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 70 && c->at < c->end; shift += 7) {
        uint8_t byte = *c->at++;
        if (shift < 64)
            *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static bool skip(cursor *c, uint64_t size)
{
    if (size > (uint64_t)(c->end - c->at))
        return false;
    c->at += size;
    return true;
}

static const ProtobufCMessageDescriptor *nested_message(const ProtobufCMessageDescriptor *message,
                                                        uint64_t number)
{
    if (number > UINT32_MAX)
        return NULL;
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(message, (unsigned)number);
    return field && field->type == PROTOBUF_C_TYPE_MESSAGE ? field->descriptor : NULL;
}

static qgc_result check(qgc_onnx_reader *reader, const ProtobufCMessageDescriptor *message,
                        cursor c, int depth)
{
    enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };
    if (depth > QGC_ONNX_MAX_NESTING)
        return qgc_onnx_malformed(reader, "messages are nested deeper than %d",
                                  QGC_ONNX_MAX_NESTING);
    while (c.at < c.end) {
        uint64_t key, value = 0;
        bool ok = read_varint(&c, &key);
        int wire_type = (int)(key & 7);
        if (ok && (wire_type == VARINT || wire_type == LENGTH))
            ok = read_varint(&c, &value);
        const uint8_t *payload = c.at;
        if (ok && wire_type != VARINT)
            ok = (wire_type == LENGTH && skip(&c, value)) ||
                 (wire_type == FIXED64 && skip(&c, 8)) || (wire_type == FIXED32 && skip(&c, 4));
        if (!ok)
            return qgc_onnx_malformed(reader,
                                      "%s ends in the middle of a field (or is no protobuf)",
                                      message->short_name);
        const ProtobufCMessageDescriptor *inner =
            wire_type == LENGTH ? nested_message(message, key >> 3) : NULL;
        if (inner)
            QGC_TRY(check(reader, inner, (cursor){payload, c.at}, depth + 1));
    }
    return QGC_OK;
}

qgc_result qgc_onnx_check_wire(qgc_onnx_reader *reader, const ProtobufCMessageDescriptor *message,
                               const uint8_t *data, size_t size)
{
    return check(reader, message, (cursor){data, data + size}, 0);
}

static void *allocate(void *arena, size_t size)
{
    return qgc_arena_alloc(arena, size);
}

static void release(void *arena, void *pointer)
{
    (void)arena; /* everything goes with the arena */
    (void)pointer;
}

ProtobufCMessage *qgc_onnx_unpack(qgc_onnx_reader *reader,
                                  const ProtobufCMessageDescriptor *message, const qgc_file *file)
{
    if (qgc_onnx_check_wire(reader, message, file->data, file->size) != QGC_OK)
        return NULL;
    ProtobufCAllocator allocator = {allocate, release, reader->arena};
    ProtobufCMessage *unpacked =
        protobuf_c_message_unpack(message, &allocator, file->size, file->data);
    if (!unpacked)
        qgc_onnx_malformed(reader, "%s does not decode", message->short_name);
    return unpacked;
}
