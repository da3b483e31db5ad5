/* What a pass is. A pass changes graphs only through ir/graph.h, reports only through env->context,
 * and says whether it changed anything. */
#ifndef QGC_PASSES_PASS_H
#define QGC_PASSES_PASS_H

#include "ir/infer.h"

typedef enum qgc_pass_status {
    QGC_PASS_UNCHANGED,
    QGC_PASS_CHANGED,
    QGC_PASS_FAILED, /* reported */
} qgc_pass_status;

typedef struct qgc_pass_option {
    const char *name, *default_text, *summary;
} qgc_pass_option;

enum { QGC_MAX_PASS_OPTIONS = 8 };

typedef struct qgc_pass_env {
    qgc_context *context;
    qgc_arena *scratch;                        /* emptied when the pass returns */
    const char *options[QGC_MAX_PASS_OPTIONS]; /* parallel to the row; defaults applied */
} qgc_pass_env;

typedef qgc_pass_status qgc_pass_fn(qgc_module *module, const qgc_pass_env *env);

typedef struct qgc_pass_info {
    const char *name, *summary;
    const char *detail;  /* Markdown: what it does, what it does not; or NULL */
    const char *example; /* .qir, a line "// becomes", .qir; or NULL */
    uint32_t
        requires; /* bit per form */
    int provides; /* a form, or -1: keeps it */
    qgc_pass_option options[QGC_MAX_PASS_OPTIONS];
    qgc_pass_fn *run;
} qgc_pass_info;

/* Rows of passes/passes.def. */
size_t qgc_num_passes(void);
const qgc_pass_info *qgc_pass_at(size_t index);
const qgc_pass_info *qgc_pass_find(qgc_str name);

/* An option as an integer of at least |min|; false: reported. */
bool qgc_pass_option_int(const qgc_pass_env *env, size_t index, const char *name, int64_t min,
                         int64_t *out);

/* Adds the fields op, value (the first result, "@main.%c") and scope of |node| to what has just
 * been reported. */
void qgc_report_node(qgc_diag *diag, const qgc_node *node);

/* A match that ends early says why: a remark (code R0501) at the node. Costs nothing where nobody
 * asks. False: nobody does, and nothing has been reported that fields could be added to. */
bool qgc_no_match(const qgc_pass_env *env, const qgc_node *node, const char *format, ...)
    QGC_PRINTF(3, 4);

#endif
