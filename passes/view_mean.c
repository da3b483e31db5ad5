/* Means and sums: over which elements, and how many at each output position. */
#include "base/arena.h"
#include "ir/view.h"
#include "passes/view.h"
#include "runtime/ref/window.h"

/* ---- means over axes ---- */

static bool add_axis(qgc_view_counts *out, int64_t axis, uint32_t rank)
{
    out->axes[out->num_axes++] = axis < 0 ? axis + rank : axis;
    return true;
}

static bool read_axes(const qgc_node *op, uint32_t rank, qgc_view_counts *out)
{
    const qgc_value *operand = qgc_node_operand(op, 1);
    const qgc_tensor *list = operand && operand->def ? operand->def->constant : NULL;
    uint32_t num = qgc_node_list_size(op, "axes");
    if (operand && !list)
        return false;
    for (uint32_t i = 0; i < num; i++)
        add_axis(out, qgc_node_int_at(op, "axes", i), rank);
    size_t listed = list ? list->bytes / qgc_dtype_bytes(list->dtype) : 0;
    for (size_t i = 0; i < listed; i++)
        add_axis(out,
                 list->dtype == QGC_DTYPE_I64 ? ((const int64_t *)list->data)[i]
                                              : ((const int32_t *)list->data)[i],
                 rank);
    for (uint32_t i = 0; !out->num_axes && i < rank; i++)
        add_axis(out, i, rank);
    return true;
}

static bool count_axes(const qgc_view *view, qgc_arena *arena, qgc_view_counts *out, qgc_why *why)
{
    const qgc_type *x = view->operands[0].value->type;
    if (view->op->op == QGC_OP_GLOBAL_AVG_POOL)
        for (uint32_t i = 2; i < x->rank; i++)
            add_axis(out, i, x->rank);
    else if (!read_axes(view->op, x->rank, out) || qgc_node_flag(view->op, "noop_with_empty_axes"))
        return qgc_why_not(arena, why, QGC_FAULT_SIZE, "the axes are not known");
    int64_t *count = QGC_NEW(arena, int64_t);
    *count = 1;
    for (uint32_t i = 0; i < out->num_axes; i++) {
        qgc_dim dim = x->dims[out->axes[i]];
        if (!qgc_dim_is_number(dim) || __builtin_mul_overflow(*count, dim.value, count))
            return qgc_why_not(arena, why, QGC_FAULT_SIZE, "x is %s: what is averaged is not known",
                               qgc_type_str(arena, x));
    }
    out->counts = count;
    out->num_terms = (uint64_t)*count;
    if (!*count)
        return qgc_why_not(arena, why, QGC_FAULT_SIZE, "a mean over nothing");
    *count = view->op->op == QGC_OP_REDUCE_SUM ? 1 : *count;
    return true;
}

/* ---- windows ---- */

/* Elements of window |o| along a dimension; with |pads|, positions within the padded input. */
static int64_t count_taps(const qgc_window_dim *dim, int64_t o, bool pads)
{
    qgc_window_dim padded = *dim;
    int64_t first, last;
    if (pads) {
        padded.size += dim->begin + dim->end;
        padded.begin = 0;
    }
    qgc_window_taps(&padded, o, &first, &last);
    return last > first ? last - first : 0;
}

/* No window reaches over a border: one count whatever the sizes. */
static bool is_uniform(const qgc_node *op)
{
    if (qgc_node_flag(op, "ceil_mode"))
        return false;
    if (qgc_node_flag(op, "count_include_pad"))
        return true;
    for (uint32_t i = 0; i < qgc_node_list_size(op, "padding"); i++)
        if (qgc_node_int_at(op, "padding", i))
            return false;
    int auto_pad = qgc_node_word(op, "auto_pad");
    return auto_pad == QGC_PAD_NONE || auto_pad == QGC_PAD_VALID;
}

static bool count_uniform(const qgc_view *view, qgc_arena *arena, qgc_view_counts *out)
{
    int64_t *count = QGC_NEW(arena, int64_t);
    *count = 1;
    for (uint32_t i = 0; i < qgc_node_list_size(view->op, "kernel"); i++)
        *count *= qgc_node_int_at(view->op, "kernel", i);
    out->counts = count;
    return true;
}

static bool read_sizes(const qgc_view *view, uint32_t num, int64_t *in, int64_t *kernel,
                       int64_t *result)
{
    const qgc_type *x = view->operands[0].value->type, *y = view->op->results[0].type;
    for (uint32_t i = 0; i < num; i++) {
        if (!qgc_dim_is_number(x->dims[i + 2]) || !qgc_dim_is_number(y->dims[i + 2]))
            return false;
        in[i] = x->dims[i + 2].value;
        result[i] = y->dims[i + 2].value;
        kernel[i] = qgc_node_int_at(view->op, "kernel", i);
    }
    return true;
}

static bool count_windows(const qgc_view *view, qgc_arena *arena, qgc_view_counts *out,
                          qgc_why *why)
{
    uint32_t num = qgc_node_list_size(view->op, "kernel");
    int64_t in[QGC_MAX_SPATIAL], kernel[QGC_MAX_SPATIAL], size[QGC_MAX_SPATIAL];
    if (is_uniform(view->op))
        return count_uniform(view, arena, out);
    if (!read_sizes(view, num, in, kernel, size))
        return qgc_why_not(arena, why, QGC_FAULT_SIZE,
                           "x is %s: windows at the border have counts that are not known",
                           qgc_type_str(arena, view->operands[0].value->type));
    qgc_window_dim dims[QGC_MAX_SPATIAL];
    qgc_window_read(view->op, num, &(qgc_window_sizes){in, kernel, size}, false, dims);
    bool pads = qgc_node_flag(view->op, "count_include_pad");
    int64_t total = 1, index[QGC_MAX_SPATIAL] = {0};
    for (uint32_t i = 0; i < num; i++) {
        out->shape[i] = size[i];
        total *= size[i];
    }
    int64_t *counts = QGC_NEW_ARRAY(arena, int64_t, (size_t)total);
    bool is_same = true;
    for (int64_t at = 0; at < total; at++) {
        int64_t count = 1;
        for (uint32_t i = 0; i < num; i++)
            count *= count_taps(&dims[QGC_MAX_SPATIAL - num + i], index[i], pads);
        counts[at] = count ? count : 1;
        is_same = is_same && counts[at] == counts[0];
        for (uint32_t i = num; i-- > 0 && ++index[i] == size[i];)
            index[i] = 0;
    }
    out->rank = is_same && total ? 0 : num;
    out->counts = counts;
    return true;
}

/* ---- adaptive windows: those that are all alike ---- */

static bool count_adaptive(const qgc_view *view, qgc_arena *arena, qgc_view_counts *out,
                           qgc_why *why)
{
    const qgc_type *x = view->operands[0].value->type;
    int64_t *count = QGC_NEW(arena, int64_t);
    *count = 1;
    for (uint32_t i = 2; i < x->rank; i++) {
        int64_t size = qgc_node_int_at(view->op, "output_size", i - 2);
        if (!qgc_dim_is_number(x->dims[i]) || x->dims[i].value % size)
            return qgc_why_not(arena, why, QGC_FAULT_SIZE,
                               "%lld windows do not divide dimension %u of %s evenly",
                               (long long)size, i, qgc_type_str(arena, x));
        *count *= x->dims[i].value / size;
    }
    out->counts = count;
    return *count > 0 || qgc_why_not(arena, why, QGC_FAULT_SIZE, "a mean over nothing");
}

bool qgc_view_count(const qgc_view *view, qgc_arena *arena, qgc_view_counts *out, qgc_why *why)
{
    *out = (qgc_view_counts){0};
    bool done = false;
    if (view->op->op == QGC_OP_AVG_POOL)
        done = count_windows(view, arena, out, why);
    else if (view->op->op == QGC_OP_ADAPTIVE_AVG_POOL)
        done = count_adaptive(view, arena, out, why);
    else
        done = count_axes(view, arena, out, why);
    if (!done)
        return false;
    QGC_ASSERT(out->counts, "%s", qgc_node_op(view->op)->mnemonic);
    float m;
    size_t num = 1;
    for (uint32_t i = 0; i < out->rank; i++)
        num *= (size_t)out->shape[i];
    for (size_t i = 0; i < num; i++) {
        uint64_t terms = (uint64_t)out->counts[i];
        out->num_terms = terms > out->num_terms ? terms : out->num_terms;
        qgc_quant_fault fault = qgc_pool_multiplier(view->operands[0].params.scales[0],
                                                    out->counts[i], view->output.scale, &m);
        if (fault != QGC_QUANT_OK)
            return qgc_why_not(arena, why, QGC_FAULT_PARAMETERS, "the multiplier: %s",
                               qgc_quant_fault_text(fault));
    }
    if (qgc_dtype_bytes(view->operands[0].dtype) == 1 &&
        !qgc_accumulates_in_i32(out->num_terms, qgc_view_extreme(&view->operands[0]), 1, 0))
        return qgc_why_not(arena, why, QGC_FAULT_CONDITION,
                           "a sum of %llu elements may overflow i32",
                           (unsigned long long)out->num_terms);
    return true;
}
