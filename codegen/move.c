#include "codegen/move.h"

#include "codegen/product.h"
#include "ir/view.h"
#include "runtime/ref/ref.h"
#include "runtime/ref/resize.h"

#include <string.h>

typedef struct mover {
    qgc_arena *arena;
    const qgc_node *node;
    const qgc_type *x, *y;
    qgc_move *move;
} mover;

/* ---- parts ---- */

static qgc_move_part *add_part(mover *m, const qgc_value *in, const qgc_value *out)
{
    qgc_move_part *part = QGC_NEW(m->arena, qgc_move_part);
    part->in = in;
    part->out = out;
    qgc_vec_push(m->arena, &m->move->parts, part);
    return part;
}

static qgc_move_part *only_part(mover *m)
{
    return add_part(m, m->node->operands[0].value, &m->node->results[0]);
}

static qgc_move_axis *add_axis(qgc_move_part *part, int64_t size, int32_t in_dim, int32_t out_dim)
{
    qgc_move_axis *axis = &part->axes[part->rank++];
    *axis = (qgc_move_axis){size, in_dim, out_dim, 1, 1, NULL, false};
    return axis;
}

static int64_t size_of(const qgc_type *type, uint32_t dim)
{
    return type->dims[dim].value;
}

/* Dimensions [first, end) of |type|, which x and y have in common up to a shift. */
static void add_common(qgc_move_part *part, const qgc_type *type, uint32_t first, uint32_t end,
                       int32_t in_shift, int32_t out_shift)
{
    for (uint32_t d = first; d < end; d++)
        add_axis(part, size_of(type, d), (int32_t)d + in_shift, (int32_t)d + out_shift);
}

/* ---- numbers of a node ---- */

typedef struct list {
    uint32_t num;
    int64_t *items; /* NULL: neither attribute nor operand */
} list;

/* The attribute |name| or the constant operand; false where the operand is no constant. */
static bool read_list(const mover *m, const char *name, uint32_t operand, list *out)
{
    const qgc_value *value =
        operand < m->node->num_operands ? m->node->operands[operand].value : NULL;
    *out = (list){0};
    if (value) {
        const qgc_tensor *t = qgc_constant_operand(m->node, operand);
        if (!t)
            return false;
        out->num = (uint32_t)qgc_tensor_count(t);
        out->items = QGC_NEW_ARRAY(m->arena, int64_t, out->num + 1);
        for (uint32_t i = 0; i < out->num; i++)
            out->items[i] = qgc_get_int(t, i);
        return true;
    }
    if (!qgc_node_has(m->node, name))
        return true;
    out->num = qgc_node_list_size(m->node, name);
    out->items = QGC_NEW_ARRAY(m->arena, int64_t, out->num + 1);
    for (uint32_t i = 0; i < out->num; i++)
        out->items[i] = qgc_node_int_at(m->node, name, i);
    return true;
}

static uint32_t axis_at(const list *axes, uint32_t i, uint32_t rank)
{
    if (!axes->items)
        return i;
    return (uint32_t)(axes->items[i] < 0 ? axes->items[i] + rank : axes->items[i]);
}

static uint32_t axis_of(const mover *m, const char *name, uint32_t rank)
{
    int64_t axis = qgc_node_int(m->node, name);
    return (uint32_t)(axis < 0 ? axis + rank : axis);
}

/* ---- shapes and orders ---- */

static const char *move_flat(mover *m)
{
    int64_t num = 0;
    m->move->in_is_flat = m->move->out_is_flat = true;
    qgc_move_part *part = only_part(m);
    if (!qgc_type_num_elements(m->y, &num))
        return "it is too large";
    add_axis(part, num, QGC_MOVE_FLAT, QGC_MOVE_FLAT);
    return NULL;
}

static const char *move_transpose(mover *m)
{
    list perm;
    qgc_move_part *part = only_part(m);
    read_list(m, "perm", UINT32_MAX, &perm);
    for (uint32_t i = 0; i < m->y->rank; i++) {
        uint32_t from = axis_at(&perm, perm.items ? i : m->x->rank - 1 - i, m->x->rank);
        add_axis(part, size_of(m->y, i), (int32_t)from, (int32_t)i);
    }
    return NULL;
}

static const char *move_expand(mover *m)
{
    qgc_move_part *part = only_part(m);
    m->move->keeps_layout = m->x->rank == m->y->rank;
    for (uint32_t i = 0; i < m->y->rank; i++) {
        int32_t from = (int32_t)i + (int32_t)m->x->rank - (int32_t)m->y->rank;
        bool repeats = from < 0 || size_of(m->x, (uint32_t)from) == 1;
        add_axis(part, size_of(m->y, i), repeats ? QGC_MOVE_NO_DIM : from, (int32_t)i);
    }
    return NULL;
}

static const char *move_tile(mover *m)
{
    qgc_move_part *part = only_part(m);
    m->move->keeps_layout = true;
    for (uint32_t i = 0; i < m->y->rank; i++) {
        int64_t size = size_of(m->x, i), repeats = size_of(m->y, i) / size;
        add_axis(part, repeats, QGC_MOVE_NO_DIM, (int32_t)i)->out_step = size;
        add_axis(part, size, (int32_t)i, (int32_t)i);
    }
    return NULL;
}

static const char *move_concat(mover *m)
{
    uint32_t axis = axis_of(m, "axis", m->y->rank);
    int64_t first = 0;
    m->move->keeps_layout = true;
    for (uint32_t i = 0; i < m->node->num_operands; i++) {
        const qgc_value *x = m->node->operands[i].value;
        int64_t num;
        if (!qgc_type_num_elements(x->type, &num) || !num)
            continue;
        qgc_move_part *part = add_part(m, x, &m->node->results[0]);
        add_common(part, x->type, 0, x->type->rank, 0, 0);
        part->out_first[axis] = first;
        first += size_of(x->type, axis);
    }
    return NULL;
}

static const char *move_split(mover *m)
{
    uint32_t axis = axis_of(m, "axis", m->x->rank);
    int64_t first = 0;
    m->move->keeps_layout = true;
    for (uint32_t i = 0; i < m->node->num_results; i++) {
        const qgc_value *y = &m->node->results[i];
        qgc_move_part *part = add_part(m, m->node->operands[0].value, y);
        add_common(part, y->type, 0, y->type->rank, 0, 0);
        part->in_first[axis] = first;
        first += size_of(y->type, axis);
    }
    return NULL;
}

static const char *move_slice(mover *m)
{
    list starts, ends, axes, steps;
    m->move->keeps_layout = true;
    if (!read_list(m, "starts", 1, &starts) || !read_list(m, "ends", 2, &ends) ||
        !read_list(m, "axes", 3, &axes) || !read_list(m, "steps", 4, &steps))
        return "its bounds are not constant";
    qgc_move_part *part = only_part(m);
    add_common(part, m->y, 0, m->y->rank, 0, 0);
    for (uint32_t i = 0; i < starts.num; i++) {
        uint32_t axis = axis_at(&axes, i, m->x->rank);
        int64_t start = starts.items[i], step = steps.items ? steps.items[i] : 1;
        qgc_slice_count(size_of(m->x, axis), &start, ends.items[i], step);
        part->in_first[axis] = start;
        part->axes[axis].in_step = size_of(m->y, axis) > 1 ? step : 1;
    }
    return NULL;
}

/* ---- blocks ---- */

static const char *move_depth_to_space(mover *m)
{
    int64_t block = qgc_node_int(m->node, "block"), channels = size_of(m->y, 1);
    bool is_crd = qgc_node_word(m->node, "mode") == 1;
    qgc_move_part *part = only_part(m);
    m->move->keeps_layout = true;
    add_axis(part, size_of(m->y, 0), 0, 0);
    add_axis(part, channels, 1, 1)->in_step = is_crd ? block * block : 1;
    for (int32_t d = 2; d < 4; d++) {
        add_axis(part, size_of(m->x, (uint32_t)d), d, d)->out_step = block;
        int64_t step = d == 2 ? block : 1;
        add_axis(part, block, 1, d)->in_step = is_crd ? step : step * channels;
    }
    return NULL;
}

static const char *move_space_to_depth(mover *m)
{
    int64_t block = qgc_node_int(m->node, "block"), channels = size_of(m->x, 1);
    qgc_move_part *part = only_part(m);
    m->move->keeps_layout = true;
    add_axis(part, size_of(m->y, 0), 0, 0);
    add_axis(part, block, 2, 1)->out_step = block * channels;
    add_axis(part, block, 3, 1)->out_step = channels;
    add_axis(part, channels, 1, 1);
    for (int32_t d = 2; d < 4; d++)
        add_axis(part, size_of(m->y, (uint32_t)d), d, d)->in_step = block;
    return NULL;
}

/* ---- pad ---- */

typedef enum pad_mode { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP } pad_mode;

static int64_t modulo(int64_t value, int64_t period)
{
    int64_t rest = value % period;
    return rest < 0 ? rest + period : rest;
}

/* What position |at|, perhaps out of [0, size), repeats. */
static int64_t repeated(pad_mode mode, int64_t at, int64_t size)
{
    if (mode == PAD_EDGE)
        return at < 0 ? 0 : at >= size ? size - 1 : at;
    if (mode == PAD_WRAP)
        return modulo(at, size);
    if (size == 1)
        return 0;
    int64_t folded = modulo(at, 2 * (size - 1));
    return folded < size ? folded : 2 * (size - 1) - folded;
}

/* Everything gets |value|, of one element; NULL: 0. */
static void add_fill(mover *m, const qgc_value *value, uint64_t fill)
{
    qgc_move_part *part = add_part(m, value, &m->node->results[0]);
    part->has_fill = !value;
    part->fill = fill;
    for (uint32_t d = 0; d < m->y->rank; d++)
        add_axis(part, size_of(m->y, d), QGC_MOVE_NO_DIM, (int32_t)d);
}

/* The positions of y that lie in x. */
static void add_inside(mover *m, const int64_t *before)
{
    qgc_move_part *part = only_part(m);
    for (uint32_t d = 0; d < m->y->rank; d++) {
        int64_t first = before[d] > 0 ? before[d] : 0, end = before[d] + size_of(m->x, d);
        end = end < size_of(m->y, d) ? end : size_of(m->y, d);
        add_axis(part, end > first ? end - first : 0, (int32_t)d, (int32_t)d);
        part->out_first[d] = first;
        part->in_first[d] = first - before[d];
    }
}

static const char *move_pad(mover *m)
{
    list pads, axes;
    int64_t before[QGC_MAX_RANK] = {0};
    pad_mode mode = (pad_mode)qgc_node_word(m->node, "mode");
    m->move->keeps_layout = true;
    if (!read_list(m, "pads", 1, &pads) || !read_list(m, "axes", 3, &axes))
        return "its sizes are not constant";
    for (uint32_t i = 0; i < pads.num / 2; i++)
        before[axis_at(&axes, i, m->x->rank)] = pads.items[i];
    if (mode == PAD_CONSTANT) {
        add_fill(m, m->node->operands[2].value, 0);
        add_inside(m, before);
        return NULL;
    }
    qgc_move_part *part = only_part(m);
    for (uint32_t d = 0; d < m->y->rank; d++) {
        int64_t size = size_of(m->y, d),
                *positions = QGC_NEW_ARRAY(m->arena, int64_t, (size_t)size);
        for (int64_t i = 0; i < size; i++)
            positions[i] = repeated(mode, i - before[d], size_of(m->x, d));
        add_axis(part, size, (int32_t)d, (int32_t)d)->positions = positions;
    }
    return NULL;
}

/* ---- indices ---- */

static bool has_constant_indices(const mover *m)
{
    return qgc_constant_operand(m->node, 1) != NULL;
}

/* Constant indices, counted from 0, all within |size| (of each column, where there are several). */
static const char *read_indices(mover *m, uint32_t columns, const int64_t *sizes, int64_t **out)
{
    const qgc_tensor *t = qgc_constant_operand(m->node, 1);
    size_t num = qgc_tensor_count(t);
    *out = QGC_NEW_ARRAY(m->arena, int64_t, num + 1);
    for (size_t i = 0; i < num; i++) {
        int64_t index = qgc_get_int(t, i), size = sizes[i % columns];
        (*out)[i] = index < 0 ? index + size : index;
        if ((*out)[i] < 0 || (*out)[i] >= size)
            return "an index is out of range";
    }
    return NULL;
}

/* The loops' positions come from indices that are known when it runs. */
static qgc_move_indices *add_computed(mover *m, qgc_move_axis *axis)
{
    axis->is_computed = true;
    m->move->indices.value = m->node->operands[1].value;
    return &m->move->indices;
}

static void add_dim(qgc_move_indices *to, int64_t size, int32_t in_dim, int64_t in_step)
{
    to->dims[to->rank++] = (qgc_move_index){size, in_dim, in_step};
}

static void add_column(qgc_move_indices *to, int64_t size, int32_t in_dim, int64_t in_step)
{
    to->columns[to->num_columns++] = (qgc_move_index){size, in_dim, in_step};
}

static const char *move_gather(mover *m)
{
    uint32_t axis = axis_of(m, "axis", m->x->rank);
    const qgc_type *type = m->node->operands[1].value->type;
    int32_t shift = (int32_t)type->rank - 1;
    int64_t *positions, num, size = size_of(m->x, axis);
    if (!qgc_type_num_elements(type, &num))
        return "it is too large";
    m->move->keeps_layout = type->rank == 1;
    qgc_move_part *part = only_part(m);
    add_common(part, m->x, 0, axis, 0, 0);
    /* A scalar index stands for no dimension of y: its loop of one position may count any. */
    int32_t out = type->rank ? (int32_t)axis + shift : QGC_MOVE_FLAT;
    qgc_move_axis *chosen = add_axis(part, num, (int32_t)axis, out);
    add_common(part, m->x, axis + 1, m->x->rank, 0, shift);
    if (has_constant_indices(m)) {
        const char *why = read_indices(m, 1, &size, &positions);
        chosen->positions = positions;
        return why;
    }
    qgc_move_indices *indices = add_computed(m, chosen);
    add_dim(indices, num, QGC_MOVE_NO_DIM, 0);
    add_column(indices, size, (int32_t)axis, 1);
    return NULL;
}

/* Row-major strides, in elements. */
static void element_strides(const qgc_type *type, int64_t *out)
{
    int64_t stride = 1;
    for (uint32_t d = type->rank; d-- > 0;) {
        out[d] = stride;
        stride *= size_of(type, d);
    }
}

/* One loop over |num| elements, each with its own position in x. */
static qgc_move_axis *add_elements(mover *m, int64_t num)
{
    m->move->in_is_flat = m->move->out_is_flat = true;
    return add_axis(only_part(m), num, QGC_MOVE_FLAT, QGC_MOVE_FLAT);
}

static int64_t *add_positions(mover *m, qgc_move_axis *axis)
{
    int64_t *positions = QGC_NEW_ARRAY(m->arena, int64_t, (size_t)axis->size);
    axis->positions = positions;
    return positions;
}

/* The positions of element |i|. */
static void unravel(const qgc_type *type, int64_t i, int64_t *index)
{
    for (uint32_t d = type->rank; d-- > 0;) {
        index[d] = i % size_of(type, d);
        i /= size_of(type, d);
    }
}

static const char *move_gather_elements(mover *m)
{
    uint32_t axis = axis_of(m, "axis", m->x->rank);
    int64_t *constant, num, index[QGC_MAX_RANK], strides[QGC_MAX_RANK], size = size_of(m->x, axis);
    if (!qgc_type_num_elements(m->y, &num))
        return "it is too large";
    qgc_move_axis *elements = add_elements(m, num);
    element_strides(m->x, strides);
    if (!has_constant_indices(m)) {
        qgc_move_indices *indices = add_computed(m, elements);
        for (uint32_t d = 0; d < m->y->rank; d++)
            add_dim(indices, size_of(m->y, d), QGC_MOVE_FLAT, d == axis ? 0 : strides[d]);
        add_column(indices, size, QGC_MOVE_FLAT, strides[axis]);
        return NULL;
    }
    const char *why = read_indices(m, 1, &size, &constant);
    if (why)
        return why;
    int64_t *positions = add_positions(m, elements);
    for (int64_t i = 0; i < num; i++) {
        unravel(m->y, i, index);
        index[axis] = constant[i];
        for (uint32_t d = 0; d < m->x->rank; d++)
            positions[i] += index[d] * strides[d];
    }
    return NULL;
}

static const char *move_gather_nd(mover *m)
{
    const qgc_type *type = m->node->operands[1].value->type;
    uint32_t batch = (uint32_t)qgc_node_int(m->node, "batch_dims");
    uint32_t depth = (uint32_t)size_of(type, type->rank - 1);
    int64_t sizes[QGC_MAX_RANK], strides[QGC_MAX_RANK], *constant, num, num_x, rows, batches = 1,
                                                                                     inner = 1;
    for (uint32_t d = batch + depth; d < m->x->rank; d++)
        inner *= size_of(m->x, d);
    for (uint32_t d = 0; d < batch; d++)
        batches *= size_of(m->x, d);
    if (!qgc_type_num_elements(m->y, &num) || !qgc_type_num_elements(m->x, &num_x))
        return "it is too large";
    rows = num / inner;
    qgc_move_axis *tuples = add_elements(m, rows);
    qgc_move_part *part = m->move->parts.data[0];
    tuples->out_step = inner;
    add_axis(part, inner, QGC_MOVE_FLAT, QGC_MOVE_FLAT);
    element_strides(m->x, strides);
    if (!has_constant_indices(m)) {
        qgc_move_indices *indices = add_computed(m, tuples);
        add_dim(indices, batches, QGC_MOVE_FLAT, num_x / batches);
        add_dim(indices, rows / batches, QGC_MOVE_NO_DIM, 0);
        for (uint32_t d = batch; d < batch + depth; d++)
            add_column(indices, size_of(m->x, d), QGC_MOVE_FLAT, strides[d]);
        return NULL;
    }
    for (uint32_t d = 0; d < depth; d++)
        sizes[d] = size_of(m->x, batch + d);
    const char *why = read_indices(m, depth, sizes, &constant);
    if (why)
        return why;
    int64_t *positions = add_positions(m, tuples);
    for (int64_t r = 0; r < rows; r++) {
        positions[r] = r / (rows / batches) * (num_x / batches);
        for (uint32_t d = 0; d < depth; d++)
            positions[r] += constant[r * depth + d] * strides[batch + d];
    }
    return NULL;
}

static const char *move_reverse_sequence(mover *m)
{
    const qgc_tensor *lengths = qgc_constant_operand(m->node, 1);
    uint32_t batch = axis_of(m, "batch_axis", m->x->rank);
    uint32_t time = axis_of(m, "time_axis", m->x->rank);
    int64_t num, index[QGC_MAX_RANK], strides[QGC_MAX_RANK];
    if (!lengths)
        return "its lengths are not constant";
    if (!qgc_type_num_elements(m->x, &num))
        return "it is too large";
    for (size_t i = 0; i < qgc_tensor_count(lengths); i++)
        if (qgc_get_int(lengths, i) < 0 || qgc_get_int(lengths, i) > size_of(m->x, time))
            return "a length is out of range";
    int64_t *positions = add_positions(m, add_elements(m, num));
    element_strides(m->x, strides);
    for (int64_t i = 0; i < num; i++) {
        unravel(m->x, i, index);
        int64_t length = qgc_get_int(lengths, (size_t)index[batch]), t = index[time];
        positions[i] = t < length ? i + (length - 1 - 2 * t) * strides[time] : i;
    }
    return NULL;
}

/* ---- resize ---- */

/* |positions| is each of x's |factor| times. */
static int64_t repetition(const int64_t *positions, int64_t in, int64_t out)
{
    int64_t factor = out / in;
    if (!factor || factor * in != out)
        return 0;
    for (int64_t i = 0; i < out; i++)
        if (positions[i] != i / factor)
            return 0;
    return factor;
}

/* Of the positions [first, first + size) of the result. */
static void add_resized(mover *m, qgc_move_part *part, uint32_t d, const qgc_resize_taps *taps,
                        int64_t first, int64_t size)
{
    int64_t *positions = QGC_NEW_ARRAY(m->arena, int64_t, (size_t)size), in = size_of(m->x, d);
    for (int64_t i = 0; i < size; i++)
        positions[i] = taps[first + i].position[0];
    part->out_first[d] = first;
    int64_t factor = repetition(positions, in, size);
    if (!factor) {
        add_axis(part, size, (int32_t)d, (int32_t)d)->positions = positions;
        return;
    }
    add_axis(part, in, (int32_t)d, (int32_t)d)->out_step = factor;
    add_axis(part, factor, QGC_MOVE_NO_DIM, (int32_t)d);
}

static const char *move_resize(mover *m)
{
    const qgc_resize_taps *taps[QGC_MAX_RANK];
    int64_t first[QGC_MAX_RANK], size[QGC_MAX_RANK];
    bool is_whole = true;
    if (qgc_node_word(m->node, "mode") != 0)
        return "";
    const char *why = qgc_resize_of_node(m->node, m->arena, taps);
    if (why)
        return why;
    m->move->keeps_layout = true;
    for (uint32_t d = 0; d < m->y->rank; d++) {
        if (!qgc_resize_inside(taps[d], size_of(m->y, d), &first[d], &size[d]))
            return "what it extrapolates lies between what it does not";
        is_whole = is_whole && size[d] == size_of(m->y, d);
    }
    if (!is_whole)
        add_fill(m, NULL, qgc_resize_fill(m->node));
    qgc_move_part *part = only_part(m);
    for (uint32_t d = 0; d < m->y->rank; d++)
        add_resized(m, part, d, taps[d], first[d], size[d]);
    return NULL;
}

/* ---- the table ---- */

static bool has_nothing(const qgc_node *node)
{
    for (uint32_t i = 0; i < node->num_results; i++) {
        int64_t num;
        if (!qgc_type_num_elements(node->results[i].type, &num) || num)
            return false;
    }
    return true;
}

const char *qgc_move_describe(qgc_planner *p, const qgc_node *node, qgc_move *out)
{
    static const struct {
        qgc_opcode op;
        const char *(*describe)(mover *);
    } movers[] = {
        {QGC_OP_IDENTITY, move_flat},
        {QGC_OP_RESHAPE, move_flat},
        {QGC_OP_FLATTEN, move_flat},
        {QGC_OP_SQUEEZE, move_flat},
        {QGC_OP_UNSQUEEZE, move_flat},
        {QGC_OP_TRANSPOSE, move_transpose},
        {QGC_OP_EXPAND, move_expand},
        {QGC_OP_TILE, move_tile},
        {QGC_OP_CONCAT, move_concat},
        {QGC_OP_SPLIT, move_split},
        {QGC_OP_SLICE, move_slice},
        {QGC_OP_PAD, move_pad},
        {QGC_OP_GATHER, move_gather},
        {QGC_OP_GATHER_ELEMENTS, move_gather_elements},
        {QGC_OP_GATHER_ND, move_gather_nd},
        {QGC_OP_REVERSE_SEQUENCE, move_reverse_sequence},
        {QGC_OP_DEPTH_TO_SPACE, move_depth_to_space},
        {QGC_OP_SPACE_TO_DEPTH, move_space_to_depth},
        {QGC_OP_RESIZE, move_resize},
    };
    for (size_t i = 0; i < sizeof movers / sizeof *movers; i++) {
        if (movers[i].op != node->op)
            continue;
        mover m = {&p->plan->arena, node, node->operands[0].value->type, node->results[0].type,
                   out};
        return has_nothing(node) ? NULL : movers[i].describe(&m);
    }
    return "";
}
