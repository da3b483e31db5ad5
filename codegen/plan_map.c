/* Plans requantize as an elementwise kernel: any terms that broadcast, on NHWC buffers where one of
 * its shape lies so, else on PLAIN ones. */
#include "codegen/conv.h"
#include "ir/view.h"

#include <string.h>

typedef struct map {
    qgc_planner *p;
    const qgc_node *node;
    const qgc_value *result;
    const qgc_node *product;      /* an int_mul: node itself, or what it requantizes */
    uint32_t num_terms, num_sums; /* the node's: of a product there is one */
    qgc_map_kernel *k;
    int64_t shape[QGC_MAP_MAX_DIMS];        /* of the result, in the order of the loops */
    uint32_t rank, order[QGC_MAP_MAX_DIMS]; /* loop i goes over the result's dimension order[i] */
    bool nhwc;
    qgc_buffer *inputs[QGC_MAP_MAX_TERMS + 2];
    uint32_t num_inputs;
} map;

static const qgc_value *term_of(const map *m, uint32_t index)
{
    return (m->product ? m->product : m->node)->operands[index].value;
}

static bool is_raw(const map *m)
{
    return m->node == m->product;
}

static bool is_axis(const map *m, uint32_t dim)
{
    int64_t axis = qgc_node_int(m->node, "axis");
    return dim == (uint32_t)(axis < 0 ? axis + m->rank : axis);
}

/* Byte strides of a row-major tensor with |rank| dimensions |sizes|, seen as the result's. */
static void plain_strides(const map *m, uint32_t rank, const int64_t *sizes, bool by_axis,
                          qgc_map_operand *out)
{
    int64_t stride = (int64_t)qgc_dtype_bytes(out->dtype), strides[QGC_MAP_MAX_DIMS] = {0};
    for (uint32_t i = 0; by_axis && i < m->rank; i++)
        strides[i] = is_axis(m, i) ? stride : 0;
    for (uint32_t i = 0; !by_axis && i < rank; i++) {
        uint32_t from = rank - 1 - i;
        strides[m->rank - 1 - i] = sizes[from] == 1 ? 0 : stride;
        stride *= sizes[from];
    }
    for (uint32_t i = 0; i < m->rank; i++)
        out->strides[i] = strides[m->order[i]];
}

static void nhwc_strides(const map *m, const qgc_buffer *b, qgc_map_operand *out)
{
    qgc_border none = {0};
    qgc_pixels p = qgc_buffer_pixels(b, &none);
    const int64_t strides[] = {p.image, p.row, p.pixel, (int64_t)qgc_dtype_bytes(out->dtype)};
    const int64_t sizes[] = {b->n, b->h, b->w, b->c};
    out->first = p.first;
    for (uint32_t i = 0; i < m->rank; i++)
        out->strides[i] = sizes[i] == 1 ? 0 : strides[i];
}

static void plain_operand(map *m, const qgc_value *value, uint32_t skip, bool by_axis,
                          qgc_map_operand *out)
{
    const qgc_type *type = value->type;
    int64_t sizes[QGC_MAP_MAX_DIMS];
    for (uint32_t i = skip; i < type->rank; i++)
        sizes[i - skip] = type->dims[i].value;
    out->dtype = type->dtype;
    plain_strides(m, type->rank - skip, sizes, by_axis && type->rank > skip, out);
    m->inputs[m->num_inputs++] = qgc_planner_plain(m->p, value);
}

/* ---- forms ---- */

static bool lies_nhwc(const map *m, const qgc_value *value)
{
    qgc_border none = {0};
    return qgc_planner_find_nhwc(m->p, value, none, 0) != NULL;
}

static bool has_same_shape(const qgc_type *a, const qgc_type *b)
{
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->rank != b->rank || a->dims[i].value != b->dims[i].value)
            return false;
    return a->rank == b->rank;
}

static bool choose_nhwc(const map *m)
{
    bool any = false;
    if (m->rank != 4 || m->result->type->dtype == QGC_DTYPE_I32 || is_raw(m))
        return false;
    for (uint32_t i = 0; i < m->num_terms; i++) {
        const qgc_value *term = term_of(m, i);
        if (term->type->rank != 4)
            return false;
        any = any || (lies_nhwc(m, term) && has_same_shape(term->type, m->result->type));
    }
    return any;
}

static void choose_loops(map *m)
{
    static const uint32_t nhwc[] = {0, 2, 3, 1};
    m->nhwc = choose_nhwc(m);
    for (uint32_t i = 0; i < m->rank; i++) {
        m->order[i] = m->nhwc ? nhwc[i] : i;
        m->shape[i] = m->result->type->dims[m->order[i]].value;
    }
}

/* ---- operands ---- */

/* In the form NHWC. */
static qgc_dtype stored_dtype(const qgc_value *value)
{
    return value->type->dtype == QGC_DTYPE_I8 ? QGC_DTYPE_U8 : value->type->dtype;
}

static void add_term(map *m, uint32_t index)
{
    const qgc_value *value = term_of(m, index);
    qgc_map_operand *term = &m->k->terms[index];
    m->k->term_zero_points[index] =
        m->product ? qgc_node_int(m->product, index ? "b_zero_point" : "a_zero_point")
                   : qgc_node_int_at(m->node, "term_zero_points", index);
    if (!m->nhwc) {
        plain_operand(m, value, 0, false, term);
        return;
    }
    qgc_border none = {0};
    qgc_buffer *buffer = qgc_planner_nhwc(m->p, value, none, 0);
    term->dtype = stored_dtype(value);
    m->k->term_zero_points[index] += qgc_unsigned_shift(value->type->dtype);
    nhwc_strides(m, buffer, term);
    m->inputs[m->num_inputs++] = buffer;
}

static void add_constants(map *m)
{
    const qgc_node *node = m->node;
    qgc_map_kernel *k = m->k;
    const qgc_value *multipliers = node->operands[m->num_sums].value;
    const qgc_value *c = node->operands[m->num_sums + 1].value;
    bool by_axis = qgc_node_has(node, "axis");
    k->has_multipliers = multipliers != NULL;
    k->has_c = c != NULL;
    k->c_value = c ? 0.0f : qgc_node_float(node, "c");
    for (uint32_t i = 0; !multipliers && i < m->num_sums; i++)
        k->multiplier_values[i] = qgc_node_float_at(node, "multipliers", i);
    if (multipliers) {
        int64_t num = 1;
        for (uint32_t i = 1; i < multipliers->type->rank; i++)
            num *= multipliers->type->dims[i].value;
        k->multiplier_step = num * (int64_t)sizeof(float);
        plain_operand(m, multipliers, 1, by_axis, &k->multipliers);
    }
    if (c)
        plain_operand(m, c, 0, by_axis, &k->c);
}

/* zp_first: ((zero_point - (z1 * m1 + z2 * m2 + ...)) + c), then the terms without zero points. */
static void begin_with_zero_points(map *m)
{
    qgc_map_kernel *k = m->k;
    float sum = 0.0f;
    for (uint32_t i = 0; i < m->num_terms; i++) {
        int64_t z = qgc_node_int_at(m->node, "term_zero_points", i);
        float product = (float)(int32_t)z * k->multiplier_values[i];
        sum = i == 0 ? product : sum + product;
        k->term_zero_points[i] -= z;
    }
    k->before = ((float)qgc_node_int(m->node, "zero_point") - sum) + k->c_value;
    k->has_before = true;
    k->c_value = 0.0f;
}

static qgc_epilogue make_bounds(const map *m)
{
    const qgc_node *node = m->node;
    qgc_dtype dtype = m->result->type->dtype;
    bool is_u8 = dtype == QGC_DTYPE_U8, is_u16 = dtype == QGC_DTYPE_U16;
    int64_t lowest = is_u8 || is_u16 ? 0 : dtype == QGC_DTYPE_I8 ? INT8_MIN : INT16_MIN;
    int64_t highest = lowest + (qgc_is_8bit(dtype) ? UINT8_MAX : UINT16_MAX);
    int32_t shift = m->nhwc ? qgc_unsigned_shift(dtype) : 0;
    bool first = qgc_node_word(node, "mode") != 0;
    int32_t zero_point = (int32_t)qgc_node_int(node, "zero_point");
    return (qgc_epilogue){
        .has_nan = true,
        .nan = first ? zero_point : 0,
        .zero_point = shift + (first ? 0 : zero_point),
        .lo = shift + (int32_t)(qgc_node_has(node, "lo") ? qgc_node_int(node, "lo") : lowest),
        .hi = shift + (int32_t)(qgc_node_has(node, "hi") ? qgc_node_int(node, "hi") : highest)};
}

/* ---- loops ---- */

static uint32_t list_operands(map *m, qgc_map_operand **out)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < m->num_terms; i++)
        out[num++] = &m->k->terms[i];
    if (m->k->has_multipliers)
        out[num++] = &m->k->multipliers;
    if (m->k->has_c)
        out[num++] = &m->k->c;
    out[num++] = &m->k->out;
    return num;
}

/* Loops of one iteration go; a loop that continues the one inside it becomes one with it. */
static void collapse(map *m)
{
    qgc_map_operand *operands[QGC_MAP_MAX_TERMS + 3];
    uint32_t num = list_operands(m, operands), inner = 0, rank = 0;
    int64_t dims[QGC_MAP_MAX_DIMS], strides[QGC_MAP_MAX_TERMS + 3][QGC_MAP_MAX_DIMS];
    for (uint32_t i = m->rank; i-- > 0;) {
        bool merges = rank > 0;
        for (uint32_t o = 0; o < num && merges; o++)
            merges = operands[o]->strides[i] == strides[o][inner] * dims[inner];
        if (m->shape[i] == 1)
            continue;
        if (merges) {
            dims[inner] *= m->shape[i];
            continue;
        }
        inner = rank++;
        dims[inner] = m->shape[i];
        for (uint32_t o = 0; o < num; o++)
            strides[o][inner] = operands[o]->strides[i];
    }
    m->k->rank = rank ? rank : 1;
    m->k->dims[0] = 1;
    for (uint32_t o = 0; o < num; o++)
        memset(operands[o]->strides, 0, sizeof operands[o]->strides);
    for (uint32_t i = 0; i < rank; i++) {
        m->k->dims[i] = dims[rank - 1 - i];
        for (uint32_t o = 0; o < num; o++)
            operands[o]->strides[i] = strides[o][rank - 1 - i];
    }
}

/* Whole vectors need the innermost loop to go from element to element, or to stay. */
static bool is_contiguous(map *m)
{
    qgc_map_operand *operands[QGC_MAP_MAX_TERMS + 3];
    uint32_t num = list_operands(m, operands);
    for (uint32_t o = 0; o < num; o++) {
        int64_t stride = operands[o]->strides[m->k->rank - 1];
        if (stride && stride != (int64_t)qgc_dtype_bytes(operands[o]->dtype))
            return false;
    }
    return true;
}

static int64_t count_units(const qgc_map_kernel *k)
{
    if (k->rank == 1)
        return (k->dims[0] + QGC_MAP_BLOCK - 1) / QGC_MAP_BLOCK;
    int64_t rows = 1;
    for (uint32_t i = 0; i + 1 < k->rank; i++)
        rows *= k->dims[i];
    return rows;
}

/* ---- the step ---- */

static const char *check(const map *m)
{
    const qgc_type *type = m->result->type;
    int64_t num;
    if (m->num_terms > QGC_MAP_MAX_TERMS)
        return "it has more than four terms";
    if (type->dtype == QGC_DTYPE_I32 && !is_raw(m))
        return "its result has 32 bits";
    if (type->rank > QGC_MAP_MAX_DIMS)
        return "it has more than eight dimensions";
    if (!qgc_type_num_elements(type, &num) || !num)
        return "it is empty";
    if (is_raw(m))
        return NULL;
    bool varies = m->node->operands[m->num_sums].value || m->node->operands[m->num_sums + 1].value;
    if (qgc_node_word(m->node, "mode") != 0 && varies)
        return "zero points come first and its constants are operands";
    return NULL;
}

static qgc_buffer *make_output(map *m)
{
    qgc_map_operand *out = &m->k->out;
    out->dtype = m->nhwc ? stored_dtype(m->result) : m->result->type->dtype;
    qgc_buffer *buffer =
        m->nhwc ? qgc_make_output(m->p, m->result) : qgc_planner_plain(m->p, m->result);
    int64_t sizes[QGC_MAP_MAX_DIMS];
    for (uint32_t i = 0; i < m->rank; i++)
        sizes[i] = m->result->type->dims[i].value;
    if (m->nhwc)
        nhwc_strides(m, buffer, out);
    else
        plain_strides(m, m->rank, sizes, false, out);
    return buffer;
}

static char *describe(const map *m)
{
    const qgc_map_kernel *k = m->k;
    char *text =
        qgc_arena_printf(&m->p->plan->arena, "%s = %u, loops = %lld",
                         m->product ? "factors" : "terms", m->num_terms, (long long)k->dims[0]);
    for (uint32_t i = 1; i < k->rank; i++)
        text = qgc_arena_printf(&m->p->plan->arena, "%sx%lld", text, (long long)k->dims[i]);
    return text;
}

/* The product that |node| alone requantizes, if there is one. */
static const qgc_node *find_product(qgc_planner *p, const qgc_node *node)
{
    uint32_t begin;
    if (qgc_node_operand_range(node, 0, &begin) != 1)
        return NULL;
    const qgc_node *def = node->operands[0].value->def;
    bool is_product = def && def->op == QGC_OP_INT_MUL && qgc_map_get(&p->put_off, def);
    bool is_plain =
        qgc_node_int_at(node, "term_zero_points", 0) == 0 && qgc_node_word(node, "mode") == 0;
    bool is_whole = node->results[0].type->dtype != QGC_DTYPE_I32;
    bool same = is_product && has_same_shape(def->results[0].type, node->results[0].type);
    return is_product && is_plain && is_whole && same ? def : NULL;
}

static void count_terms(map *m)
{
    uint32_t begin;
    m->num_sums = m->product ? 1 : qgc_node_operand_range(m->node, 0, &begin);
    m->num_terms = m->product ? 2 : m->num_sums;
    m->rank = m->result->type->rank;
}

static qgc_epilogue choose_epilogue(const map *m)
{
    return is_raw(m) ? (qgc_epilogue){.is_raw = true} : make_bounds(m);
}

const char *qgc_plan_map(qgc_planner *p, const qgc_node *node)
{
    if (node->op != QGC_OP_REQUANTIZE && node->op != QGC_OP_INT_MUL)
        return "";
    map m = {.p = p, .node = node, .result = &node->results[0]};
    m.product = node->op == QGC_OP_INT_MUL ? node : find_product(p, node);
    count_terms(&m);
    const char *why = check(&m);
    if (why)
        return why;
    m.k = QGC_NEW(&p->plan->arena, qgc_map_kernel);
    m.k->base.kind = QGC_KERNEL_MAP;
    m.k->num_terms = m.num_terms;
    m.k->is_product = m.product != NULL;
    for (uint32_t i = 0; i < m.num_terms; i++)
        qgc_planner_settle(p, term_of(&m, i));
    choose_loops(&m);
    for (uint32_t i = 0; i < m.num_terms; i++)
        add_term(&m, i);
    if (!is_raw(&m))
        add_constants(&m);
    if (!is_raw(&m) && qgc_node_word(node, "mode") != 0)
        begin_with_zero_points(&m);
    m.k->epilogue = choose_epilogue(&m);
    qgc_buffer *out = make_output(&m);
    qgc_step *step = qgc_planner_add_kernel(p, node, &m.k->base, m.num_inputs, 1);
    memcpy(step->inputs, m.inputs, m.num_inputs * sizeof *m.inputs);
    step->outputs[0] = out;
    collapse(&m);
    if (!is_contiguous(&m)) /* one column of one channel within a border: one by one */
        m.k->dims[m.k->rank++] = 1;
    m.k->base.units = count_units(m.k);
    step->note = describe(&m);
    if (m.product)
        qgc_planner_take(p, m.product);
    return NULL;
}
