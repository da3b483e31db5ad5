/* Two graphs on the same data, value by value: where they differ, by how much, and why. */
#ifndef QGC_COMPARE_H
#define QGC_COMPARE_H

#include "qgc/data.h"
#include "qgc/engine.h"
#include "qgc/mismatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the values of one side are computed; the bits are the same. */
typedef enum qgc_compare_engine {
    QGC_COMPARE_OPS,   /* each op in machine code of its own where shapes allow, so that all values
                          are seen */
    QGC_COMPARE_REF,   /* the reference interpreter */
    QGC_COMPARE_WHOLE, /* compiled functions as they are: values inside of them are not seen */
} qgc_compare_engine;

typedef struct qgc_compare_side {
    qgc_module *module; /* is changed: its ops become functions; to be destroyed afterwards */
    qgc_compare_engine engine;
} qgc_compare_side;

/* What samples are ranked by. */
typedef enum qgc_compare_metric {
    QGC_COMPARE_SQNR,
    QGC_COMPARE_MSE,
    QGC_COMPARE_COSINE,
    QGC_COMPARE_MAX_ABS,
    QGC_COMPARE_NUM_METRICS
} qgc_compare_metric;

typedef struct qgc_compare_options {
    const char *func;          /* NULL: "main" */
    const char *labels;        /* of the first result, as for qgc_module_eval, or NULL */
    bool outputs_only;         /* rows for outputs alone */
    size_t worst;              /* samples listed for each output */
    qgc_compare_metric metric; /* by which */
    bool as_is; /* a float graph is not fused before it is held against one that is not float */
    double start_db; /* error starts where a value loses more than this from what it is made of */
    const char *cpu; /* level of machine code */
    /* qgc_engine_create; NULL: the reference interpreter runs everything. */
    qgc_result (*create_engine)(qgc_module *module, const char *cpu, qgc_engine **out);
    void (*progress)(void *user, size_t done, size_t total);
    void *user;
} qgc_compare_options;

enum { QGC_COMPARE_BINS = 64 };

/* Errors are of the second graph's values against the first's. dB: 10 log10 of a ratio of energies;
 * infinity where there is no error. NaN: not defined. */
typedef struct qgc_compare_row {
    const char *name; /* "@main.%c"; " at %r" behind it where its function has several call sites */
    const char *op_a, *op_b;       /* what computes it: a mnemonic, or "input" */
    const char *dtype_a, *dtype_b; /* what holds it */
    bool is_constant, is_output;
    bool shape_differs; /* then there are no numbers */
    bool stays_float;   /* the second graph is quantized, but neither what this op reads nor what it
                           gives */
    uint64_t count;     /* elements compared */
    uint64_t differing; /* of them with other bits, after reading integers */
    qgc_mismatch broken; /* not finite in one of the graphs only, in no sum below; |ours| is the
                            second one's */
    double min_a, max_a, min_b, max_b; /* NaN where no finite value was seen */
    double energy;                     /* mean square of the first graph's */
    double mse, l1, max_abs, max_rel;  /* l1: mean |error|; max_rel: of |error| / |a|, a not 0 */
    double cosine, sqnr;
    double kl;           /* sum P ln(P / Q) over QGC_COMPARE_BINS, one half added to each count */
    size_t num_channels; /* 0 or 1: none */
    double channel_sqnr; /* median of the channels' */
    size_t worst_channel;
    double worst_channel_sqnr;
    /* where the second graph stores the value with known parameters, one step per tensor */
    bool has_step;
    double step, max_steps;
    int64_t zero_point;
    /* where it stores it: mean squares of the three parts of the error, and what is missing to the
     * mse: clipped + rounded + inherited + mixed = mse */
    bool has_parts;
    double clipped, rounded, inherited, mixed;
    double clipped_share; /* of the elements */
    double loss;          /* dB that the value loses from the worst value it is made of */
    const char *cause;    /* "clipped", "rounded", "inherited", "magnified", "computed", or "" */
    const char *remedy;   /* what to do; "" where nothing is wrong */
    double bin_lo, bin_width; /* of the histograms */
    uint64_t bins_a[QGC_COMPARE_BINS], bins_b[QGC_COMPARE_BINS];
} qgc_compare_row;

typedef struct qgc_compare_sample {
    size_t index; /* in the data */
    double sqnr, mse, cosine, max_abs;
    size_t top_a, top_b; /* place of the greatest element */
    size_t unlike;       /* answers whose highest class differs */
} qgc_compare_sample;

typedef struct qgc_compare_output {
    const char *name;
    size_t classes,
        answers;           /* as for qgc_module_eval: one for each sample, or each position in it */
    size_t agree;          /* answers with the same highest class in both graphs */
    size_t top1_a, top1_b; /* of the first result, with labels: answers that are right */
    size_t num_worst;
    qgc_compare_sample *worst; /* worst first; equal ones in order of the data */
} qgc_compare_output;

typedef struct qgc_compare_report {
    size_t samples;
    bool has_labels;
    size_t num_folders;
    const char *const *folders; /* labels by folder: names of the classes */
    size_t num_rows;
    qgc_compare_row *rows; /* in the order in which the first graph computes them */
    size_t num_codes; /* values that both graphs have, one as integers whose scale is not known:
                         they have no row */
    size_t num_only_a, num_only_b;
    const char **only_a, **only_b; /* identifiers of values that one graph has alone */
    size_t num_outputs;
    qgc_compare_output *outputs; /* those that both graphs have: the first result, then the others
                                    in program order */
    size_t first_difference;     /* index of a row; SIZE_MAX: none */
    size_t start;                /* where error starts; SIZE_MAX: nowhere */
    void *owner;                 /* private */
} qgc_compare_report;

/* Runs both graphs over the samples once; memory does not grow with their number. The default batch
 * is 32, less of large graphs. Both modules are
 * of one context. Values are matched by identifier, whatever the forms are. */
QGC_API qgc_result qgc_compare(const qgc_compare_side *a, const qgc_compare_side *b,
                               const qgc_samples *samples, const qgc_compare_options *options,
                               qgc_compare_report *out);
QGC_API void qgc_compare_report_free(qgc_compare_report *report);

#ifdef __cplusplus
}
#endif
#endif
