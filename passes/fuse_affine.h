/* An affine op per channel, y = x * f[c] + g[c], behind the op with weights that makes x. */
#ifndef QGC_PASSES_FUSE_AFFINE_H
#define QGC_PASSES_FUSE_AFFINE_H

#include "passes/fuse.h"
#include "runtime/quant.h"

typedef struct qgc_affine {
    const qgc_pass_env *env;
    qgc_node *node; /* to be folded away */
    qgc_node *head; /* the op with weights */
    const qgc_weighted_op *op;
    const qgc_tensor *w, *b; /* the head's constants, f32; b: NULL where it has none */
    qgc_node *step;          /* between w and the head: fake_quant or fake_cast; or NULL */
    int64_t channels;
    double *f, *g; /* one per output channel */
} qgc_affine;

/* The output channel that element |index| of the weights belongs to. */
int64_t qgc_weight_channel(const qgc_affine *a, int64_t index);

/* ---- weights behind a step of training, in fuse_fake.c ---- */

/* What the step and its constant become. */
typedef struct qgc_faked {
    float *data;         /* as many as w has; the step leaves them as they are */
    int64_t axis;        /* of w, along which the parameters go; -1: one for all */
    int64_t num;         /* along axis; 1 for all */
    qgc_qparams *params; /* of a fake_quant */
} qgc_faked;

/* The step that makes |weights|, or NULL. */
qgc_node *qgc_find_fake_step(const qgc_value *weights);
/* In env->scratch. False: said why. */
bool qgc_fold_fake(const qgc_affine *a, qgc_faked *out);
/* The new step on |data|, before the head; unnamed. |scales|, |zero_points|: f32 and i32 constants
 * of out->num elements, or NULL for parameters in attributes. */
qgc_value *qgc_make_fake_step(const qgc_affine *a, const qgc_faked *faked, qgc_value *data,
                              qgc_value *scales, qgc_value *zero_points);

#endif
