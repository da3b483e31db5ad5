/* Infer hooks: sampling and choosing boxes. */
#include "ir/infer.h"
#include "ir/nms.h"

static const char *type_str(qgc_infer *in, uint32_t index)
{
    return qgc_in_type_str(in, qgc_in(in, index));
}

static bool is_number(qgc_dim dim, int64_t value)
{
    return !qgc_dim_conflict(dim, qgc_dim_number(value));
}

static bool is_empty_image(const qgc_type *x)
{
    qgc_dim zero = qgc_dim_number(0);
    return qgc_dim_equal(x->dims[2], zero) || qgc_dim_equal(x->dims[3], zero);
}

qgc_result infer_grid_sample(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0), *grid = qgc_in(in, 1);
    QGC_RULE(in, 1, x->dtype == grid->dtype, "x is %s, grid is %s", type_str(in, 0),
             type_str(in, 1));
    QGC_RULE(in, 2,
             x->rank == 4 && grid->rank == 4 && !qgc_dim_conflict(x->dims[0], grid->dims[0]) &&
                 is_number(grid->dims[3], 2),
             "x is %s, grid is %s", type_str(in, 0), type_str(in, 1));
    QGC_RULE(in, 3, !is_empty_image(x), "x is %s", type_str(in, 0));
    const qgc_dim dims[] = {x->dims[0], x->dims[1], grid->dims[1], grid->dims[2]};
    in->results[0] = qgc_in_type(in, x->dtype, 4, dims);
    return QGC_OK;
}

qgc_result infer_roi_align(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0), *rois = qgc_in(in, 1), *batch = qgc_in(in, 2);
    int64_t height = qgc_node_int(in->node, "output_height");
    int64_t width = qgc_node_int(in->node, "output_width");
    int64_t samples = qgc_node_int(in->node, "sampling_ratio");
    enum { MAX_BINS = 1 << 20, MAX_SAMPLES = 4096 };
    QGC_RULE(in, 1, x->dtype == rois->dtype, "x is %s, rois is %s", type_str(in, 0),
             type_str(in, 1));
    QGC_RULE(in, 2,
             x->rank == 4 && rois->rank == 2 && batch->rank == 1 && is_number(rois->dims[1], 4) &&
                 !qgc_dim_conflict(rois->dims[0], batch->dims[0]),
             "x is %s, rois is %s, batch is %s", type_str(in, 0), type_str(in, 1), type_str(in, 2));
    QGC_RULE(in, 3,
             height >= 1 && height <= MAX_BINS && width >= 1 && width <= MAX_BINS && samples >= 0 &&
                 samples <= MAX_SAMPLES,
             "output is %lld x %lld, sampling_ratio is %lld", (long long)height, (long long)width,
             (long long)samples);
    QGC_RULE(in, 4, !is_empty_image(x), "x is %s", type_str(in, 0));
    const qgc_dim dims[] = {rois->dims[0], x->dims[1], qgc_dim_number(height),
                            qgc_dim_number(width)};
    in->results[0] = qgc_in_type(in, x->dtype, 4, dims);
    return QGC_OK;
}

/* The operands' values; false where one is not known. */
static bool all_known(qgc_infer *in, const qgc_tensor **values)
{
    for (uint32_t i = 0; i < 5; i++) {
        values[i] = qgc_in_value(in, i);
        if (qgc_in(in, i) && !values[i])
            return false;
    }
    return true;
}

qgc_result infer_nms(qgc_infer *in)
{
    const qgc_type *boxes = qgc_in(in, 0), *scores = qgc_in(in, 1);
    const qgc_tensor *values[5];
    qgc_dim dims[] = {qgc_dim_unknown(&in->context->dims), qgc_dim_number(3)};
    QGC_RULE(in, 1,
             boxes->rank == 3 && scores->rank == 3 && is_number(boxes->dims[2], 4) &&
                 !qgc_dim_conflict(boxes->dims[0], scores->dims[0]) &&
                 !qgc_dim_conflict(boxes->dims[1], scores->dims[2]),
             "boxes is %s, scores is %s", type_str(in, 0), type_str(in, 1));
    for (uint32_t i = 2; i < 5; i++) {
        const qgc_type *one = qgc_in(in, i);
        QGC_RULE(in, 2, !one || (one->rank <= 1 && (!one->rank || is_number(one->dims[0], 1))),
                 "%s is %s", in->op->operands[i].name, type_str(in, i));
    }
    if (all_known(in, values)) {
        qgc_nms_list list = {{0}};
        qgc_nms_select(values, qgc_node_flag(in->node, "center"), in->arena, &list);
        dims[0] = qgc_dim_number((int64_t)list.kept.size);
    }
    in->results[0] = qgc_in_type(in, QGC_DTYPE_I64, 2, dims);
    return QGC_OK;
}
