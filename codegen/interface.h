/* What compiled functions look like from C: names, sizes, and the header that declares them. */
#ifndef QGC_CODEGEN_INTERFACE_H
#define QGC_CODEGEN_INTERFACE_H

#include "codegen/plan.h"

/* A parameter or a result. */
typedef struct qgc_port {
    const qgc_value *value;
    const char *name;  /* of the C parameter */
    const char *macro; /* what its constants begin with */
    size_t bytes;
} qgc_port;

typedef struct qgc_entry {
    const qgc_plan *plan;
    const char *symbol; /* of the C function; its query functions begin with it */
    const char *macro;
    uint32_t num_inputs, num_outputs;
    qgc_port *inputs, *outputs;
} qgc_entry;

typedef struct qgc_interface {
    qgc_arena *arena;
    const char *prefix; /* of all symbols; in capitals of all macros */
    const char *source; /* the graph's file, for the comment */
    const char *cpu;    /* the level */
    QGC_VEC(qgc_entry) entries;
    qgc_interner taken; /* macros */
} qgc_interface;

/* |name|: what the prefix is made from. Everything lives in |arena|. */
void qgc_interface_init(qgc_interface *interface, qgc_arena *arena, qgc_str name,
                        const char *source, const char *cpu);
void qgc_interface_add(qgc_interface *interface, const qgc_plan *plan);
/* "name; " for every C function of the entry. */
void qgc_interface_print_symbols(const qgc_entry *entry, qgc_text *out);
/* The header, C and C++. */
void qgc_interface_print(const qgc_interface *interface, qgc_text *out);

#endif
