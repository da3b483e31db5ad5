/* Infer hooks: pooling with a window, over all positions, or to a given size. */
#include "ir/window.h"

#include <math.h>
#include <string.h>

enum { MAX_SPATIAL = 3 };

/* An attribute's entries say how many spatial dimensions x has. */
static qgc_result read_sizes(qgc_infer *in, const char *name, uint32_t *out_num,
                             const int64_t **out_list)
{
    const qgc_type *x = qgc_in(in, 0);
    *out_num = UINT32_MAX;
    QGC_TRY(qgc_in_ints(in, name, 1, out_num, out_list));
    QGC_RULE(in, 1, *out_num >= 1 && *out_num <= MAX_SPATIAL && x->rank == *out_num + 2,
             "%s has %u entries, x is %s", name, *out_num, qgc_in_type_str(in, x));
    for (uint32_t i = 0; i < *out_num; i++)
        QGC_RULE(in, 1, (*out_list)[i] >= 1 && (*out_list)[i] <= INT32_MAX, "%s[%u] is %lld", name,
                 i, (long long)(*out_list)[i]);
    return QGC_OK;
}

static void set_results(qgc_infer *in, const qgc_dim *dims)
{
    const qgc_type *x = qgc_in(in, 0);
    in->results[0] = qgc_in_type(in, x->dtype, x->rank, dims);
    if (in->num_results > 1)
        in->results[1] = qgc_in_type(in, QGC_DTYPE_I64, x->rank, dims);
}

qgc_result infer_pool(qgc_infer *in)
{
    static const qgc_window_rules rules = {.steps = 2, .padding = 3, .fits = 5};
    const qgc_type *x = qgc_in(in, 0);
    uint32_t num;
    const int64_t *kernel;
    QGC_TRY(read_sizes(in, "kernel", &num, &kernel));
    qgc_window_attrs attrs;
    QGC_TRY(qgc_in_window(in, num, &rules, &attrs));
    bool ceil_mode = qgc_node_flag(in->node, "ceil_mode");
    QGC_RULE(in, 4, !ceil_mode || attrs.auto_pad == QGC_PAD_NONE,
             "both ceil_mode and auto_pad are given");
    qgc_dim dims[QGC_MAX_RANK] = {x->dims[0], x->dims[1]};
    for (uint32_t i = 0; i < num; i++)
        QGC_TRY(qgc_window_out(in, &attrs, rules.fits, i, x->dims[2 + i], qgc_dim_number(kernel[i]),
                               ceil_mode, &dims[2 + i]));
    set_results(in, dims);
    return QGC_OK;
}

static qgc_result check_power(qgc_infer *in, int rule)
{
    float p = qgc_node_float(in->node, "p");
    QGC_RULE(in, rule, p > 0 && isfinite(p), "p is %g", (double)p);
    return QGC_OK;
}

qgc_result infer_lp_pool(qgc_infer *in)
{
    QGC_TRY(check_power(in, 6));
    return infer_pool(in);
}

qgc_result infer_global_pool(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    QGC_RULE(in, 1, x->rank >= 3, "x is %s", qgc_in_type_str(in, x));
    qgc_dim dims[QGC_MAX_RANK] = {x->dims[0], x->dims[1]};
    for (uint32_t i = 2; i < x->rank; i++)
        dims[i] = qgc_dim_number(1);
    set_results(in, dims);
    return QGC_OK;
}

qgc_result infer_global_lp_pool(qgc_infer *in)
{
    QGC_TRY(check_power(in, 2));
    return infer_global_pool(in);
}

qgc_result infer_adaptive_pool(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    uint32_t num;
    const int64_t *size;
    QGC_TRY(read_sizes(in, "output_size", &num, &size));
    qgc_dim dims[QGC_MAX_RANK] = {x->dims[0], x->dims[1]};
    for (uint32_t i = 0; i < num; i++)
        dims[2 + i] = qgc_dim_number(size[i]);
    set_results(in, dims);
    return QGC_OK;
}
