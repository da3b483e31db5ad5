/* Symbolic dimensions. Arithmetic loads operands into polynomials on the stack, works there, and
 * interns the result. Products of atoms are ordered by degree, then lexicographically: a monomial
 * order, so that long division by leading terms finds every exact quotient. */
#include "ir/dim.h"

#include <string.h>

/* MAX_SIZE bounds what sharing hides: the atoms of an expression written out. */
enum { MAX_TERMS = 64, MAX_DEGREE = 8, MAX_DEPTH = 16, MAX_SIZE = 4096 };

/* A symbol, or floor(dividend / divisor) where |symbol| is NULL. Interned. */
typedef struct atom {
    qgc_name symbol;
    qgc_dim dividend, divisor;
    uint32_t depth, size;
} atom;

/* coefficient * the product of |atoms|, which are in order, repeated for powers, then NULL. */
typedef struct term {
    int64_t coefficient;
    uint64_t degree;
    const atom *atoms[MAX_DEGREE];
} term;

/* No terms: unknown. The numbers have no expression. */
struct qgc_dim_expr {
    uint32_t num_terms, depth, size, unused;
    const term *terms; /* interned too */
};

/* Terms in order, no coefficient 0. |failed|: beyond a limit, to become unknown. */
typedef struct polynomial {
    bool failed;
    size_t num_terms;
    term terms[MAX_TERMS];
} polynomial;

static const term one = {.coefficient = 1}, minus_one = {.coefficient = -1};

/* Records are interned as bytes; different kinds never have the same size. None has padding. */
_Static_assert(sizeof(atom) == 48 && sizeof(term) == 80 && sizeof(struct qgc_dim_expr) == 24,
               "records that padding or equal sizes would confuse");
static const void *intern(qgc_dims *dims, const void *record, size_t bytes)
{
    if (!dims->table) {
        qgc_interner *table = QGC_NEW(dims->arena, qgc_interner);
        table->arena = dims->arena;
        dims->table = table;
    }
    return qgc_intern(dims->table, (qgc_str){record, bytes})->data;
}

static uint32_t depth_of(qgc_dim d)
{
    return d.expr ? d.expr->depth : 0;
}

static uint32_t size_of(qgc_dim d)
{
    return d.expr ? d.expr->size : 1;
}

/* Order of atoms and terms: by what they say, never by address. Interning makes unequal parts of
 * equal rank decide at once, so that this goes down one path only. */
static int compare_terms(const term *a, const term *b);

static int compare_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_names(qgc_name a, qgc_name b)
{
    int order = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);
    return order ? order : compare_i64(a->size, b->size);
}

static int compare_dims(qgc_dim a, qgc_dim b)
{
    if (qgc_dim_equal(a, b))
        return 0;
    if (!a.expr || !b.expr)
        return !a.expr && !b.expr ? compare_i64(a.value, b.value) : a.expr ? 1 : -1;
    for (size_t i = 0; i < a.expr->num_terms && i < b.expr->num_terms; i++) {
        const term *x = &a.expr->terms[i], *y = &b.expr->terms[i];
        int order = compare_terms(x, y);
        order = order ? order : compare_i64(x->coefficient, y->coefficient);
        if (order)
            return order;
    }
    return compare_i64(a.expr->num_terms, b.expr->num_terms);
}

static int compare_atoms(const atom *a, const atom *b)
{
    if (a == b)
        return 0;
    if (a->symbol && b->symbol)
        return compare_names(a->symbol, b->symbol);
    if (a->symbol || b->symbol)
        return a->symbol ? -1 : 1;
    int order = compare_dims(a->dividend, b->dividend);
    return order ? order : compare_dims(a->divisor, b->divisor);
}

static int compare_terms(const term *a, const term *b)
{
    if (a->degree != b->degree)
        return a->degree > b->degree ? -1 : 1;
    for (size_t i = 0; i < a->degree; i++) {
        int order = compare_atoms(a->atoms[i], b->atoms[i]);
        if (order)
            return order;
    }
    return 0;
}

static bool multiply_terms(const term *a, const term *b, term *out)
{
    *out = (term){.degree = a->degree + b->degree};
    if (out->degree > MAX_DEGREE ||
        __builtin_mul_overflow(a->coefficient, b->coefficient, &out->coefficient))
        return false;
    for (size_t i = 0, j = 0; i + j < out->degree;) {
        bool from_a =
            j == b->degree || (i < a->degree && compare_atoms(a->atoms[i], b->atoms[j]) <= 0);
        const atom *next = from_a ? a->atoms[i] : b->atoms[j];
        out->atoms[i + j] = next;
        *(from_a ? &i : &j) += 1;
    }
    return true;
}

/* The atoms of |a| without those of |b|; false where |b| has others. The coefficient stays. */
static bool remove_atoms(const term *a, const term *b, term *out)
{
    *out = (term){.coefficient = a->coefficient};
    size_t j = 0;
    for (size_t i = 0; i < a->degree; i++) {
        if (j < b->degree && a->atoms[i] == b->atoms[j])
            j++;
        else
            out->atoms[out->degree++] = a->atoms[i];
    }
    return j == b->degree;
}

static bool divide_terms_exactly(const term *a, const term *b, term *out)
{
    if (!remove_atoms(a, b, out))
        return false;
    if (b->coefficient == -1) /* INT64_MIN / -1 */
        return !__builtin_sub_overflow(0, a->coefficient, &out->coefficient);
    out->coefficient = a->coefficient / b->coefficient;
    return a->coefficient % b->coefficient == 0;
}

/* Not for INT64_MIN / -1. */
static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t floor_mod(int64_t a, int64_t positive)
{
    int64_t rest = a % positive;
    return rest < 0 ? rest + positive : rest;
}

static void add_term(polynomial *p, const term *t)
{
    if (t->coefficient == 0 || p->failed)
        return;
    size_t at = 0;
    int order = -1;
    while (at < p->num_terms && (order = compare_terms(t, &p->terms[at])) > 0)
        at++;
    term *place = &p->terms[at];
    size_t tail = (p->num_terms - at) * sizeof *place;
    if (at == p->num_terms || order < 0) {
        p->failed = p->num_terms == MAX_TERMS;
        if (p->failed)
            return;
        memmove(place + 1, place, tail);
        *place = *t;
        p->num_terms++;
        return;
    }
    p->failed = __builtin_add_overflow(place->coefficient, t->coefficient, &place->coefficient);
    if (place->coefficient == 0) {
        memmove(place, place + 1, tail - sizeof *place);
        p->num_terms--;
    }
}

/* p += factor * q: addition, subtraction, and a step of multiplication and of long division. */
static void add_product(polynomial *p, const polynomial *q, const term *factor)
{
    p->failed |= q->failed;
    for (size_t i = 0; i < q->num_terms && !p->failed; i++) {
        term product;
        p->failed = !multiply_terms(&q->terms[i], factor, &product);
        add_term(p, &product);
    }
}

static void clear(polynomial *p)
{
    p->failed = false;
    p->num_terms = 0;
}

static void load(polynomial *out, qgc_dim d)
{
    clear(out);
    if (!d.expr) {
        add_term(out, &(term){.coefficient = d.value});
        return;
    }
    out->failed = qgc_dim_is_unknown(d);
    out->num_terms = d.expr->num_terms;
    if (out->num_terms)
        memcpy(out->terms, d.expr->terms, out->num_terms * sizeof *out->terms);
}

static bool is_number(const polynomial *p)
{
    return p->num_terms == 0 || p->terms[0].degree == 0;
}

static qgc_dim store(qgc_dims *dims, const polynomial *p)
{
    if (p->failed)
        return qgc_dim_unknown(dims);
    if (is_number(p))
        return qgc_dim_number(p->num_terms ? p->terms[0].coefficient : 0);
    qgc_dim_expr expr = {.num_terms = (uint32_t)p->num_terms};
    for (size_t i = 0; i < p->num_terms; i++) {
        expr.size++;
        for (size_t j = 0; j < p->terms[i].degree; j++) {
            const atom *a = p->terms[i].atoms[j];
            expr.size += a->size;
            expr.depth = a->depth > expr.depth ? a->depth : expr.depth;
        }
    }
    if (expr.size > MAX_SIZE)
        return qgc_dim_unknown(dims);
    expr.terms = intern(dims, p->terms, p->num_terms * sizeof *p->terms);
    return (qgc_dim){0, intern(dims, &expr, sizeof expr)};
}

qgc_dim qgc_dim_unknown(qgc_dims *dims)
{
    const qgc_dim_expr none = {0};
    return (qgc_dim){0, intern(dims, &none, sizeof none)};
}

bool qgc_dim_is_unknown(qgc_dim d)
{
    return d.expr && d.expr->num_terms == 0;
}

static term term_of_atom(qgc_dims *dims, const atom *a)
{
    return (term){1, 1, {intern(dims, a, sizeof *a)}};
}

qgc_dim qgc_dim_symbol(qgc_dims *dims, qgc_name name)
{
    const atom symbol = {.symbol = name, .size = 1};
    polynomial p = {.num_terms = 1, .terms = {term_of_atom(dims, &symbol)}};
    return store(dims, &p);
}

/* The one atom that |d| is, or NULL. */
static const atom *as_atom(qgc_dim d)
{
    if (!d.expr || d.expr->num_terms != 1)
        return NULL;
    const term *t = d.expr->terms;
    return t->degree == 1 && t->coefficient == 1 ? t->atoms[0] : NULL;
}

qgc_name qgc_dim_as_symbol(qgc_dim d)
{
    const atom *a = as_atom(d);
    return a ? a->symbol : NULL;
}

static qgc_dim add_scaled(qgc_dims *dims, qgc_dim a, qgc_dim b, const term *factor)
{
    polynomial x, y;
    load(&x, a);
    load(&y, b);
    add_product(&x, &y, factor);
    return store(dims, &x);
}

qgc_dim qgc_dim_add(qgc_dims *dims, qgc_dim a, qgc_dim b)
{
    return add_scaled(dims, a, b, &one);
}

qgc_dim qgc_dim_sub(qgc_dims *dims, qgc_dim a, qgc_dim b)
{
    return add_scaled(dims, a, b, &minus_one);
}

qgc_dim qgc_dim_mul(qgc_dims *dims, qgc_dim a, qgc_dim b)
{
    polynomial x, y, product;
    load(&x, a);
    load(&y, b);
    clear(&product);
    product.failed = x.failed || y.failed;
    for (size_t i = 0; i < x.num_terms; i++)
        add_product(&product, &y, &x.terms[i]);
    return store(dims, &product);
}

/* Long division by leading terms; false where a rest remains. */
static bool divide_exactly(const polynomial *a, const polynomial *b, polynomial *out)
{
    clear(out);
    if (a->failed || b->failed || !b->num_terms)
        return false;
    polynomial rest = *a;
    while (rest.num_terms) {
        term quotient, negated;
        if (!divide_terms_exactly(&rest.terms[0], &b->terms[0], &quotient) ||
            !multiply_terms(&quotient, &minus_one, &negated))
            return false;
        add_term(out, &quotient);
        add_product(&rest, b, &negated);
        if (rest.failed || out->failed)
            return false;
    }
    return true;
}

/* floor((b*q + r) / b) = q + floor(r / b): moves q to |out| and leaves r in |a|. Coefficients of r
 * are in [0, b); its constant is in (-b, 0], as in the (H-1)/2+1 of a convolution, or, as all of r,
 * divided away. */
static void split_quotient(polynomial *a, const term *b, polynomial *out)
{
    polynomial rest = {0};
    for (size_t i = 0; i < a->num_terms; i++) {
        term r = a->terms[i], q;
        if (remove_atoms(&r, b, &q)) {
            q.coefficient = floor_div(r.coefficient, b->coefficient);
            r.coefficient = floor_mod(r.coefficient, b->coefficient);
            add_term(out, &q);
        }
        add_term(&rest, &r);
    }
    *a = rest;
    term *constant = a->num_terms ? &a->terms[a->num_terms - 1] : NULL;
    if (b->degree || !constant || constant->degree)
        return;
    if (a->num_terms == 1) {
        a->num_terms = 0;
        return;
    }
    constant->coefficient -= b->coefficient;
    add_term(out, &one);
}

/* Narrows |factor| to what it has in common with |t|. */
static void keep_common(term *factor, const term *t)
{
    uint64_t x = (uint64_t)factor->coefficient;
    uint64_t y =
        (uint64_t)(t->coefficient < 0 ? -(uint64_t)t->coefficient : (uint64_t)t->coefficient);
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    term common = {.coefficient = (int64_t)x};
    for (size_t i = 0, j = 0; i < factor->degree && j < t->degree;) {
        int order = compare_atoms(factor->atoms[i], t->atoms[j]);
        if (order == 0)
            common.atoms[common.degree++] = factor->atoms[i];
        i += order <= 0;
        j += order >= 0;
    }
    *factor = common;
}

static void divide_all(polynomial *p, const term *factor)
{
    for (size_t i = 0; i < p->num_terms; i++) {
        term quotient;
        remove_atoms(&p->terms[i], factor, &quotient);
        quotient.coefficient = floor_div(quotient.coefficient, factor->coefficient);
        p->terms[i] = quotient; /* dividing by a monomial keeps the order */
    }
}

/* Cancels the common factor of |a| and |b|; false where that is 1. If |b| is a number, the constant
 * of |a| need not have it: floor((g*x + c) / (g*b)) = floor((x + floor(c/g)) / b). */
static bool cancel_common(polynomial *a, polynomial *b)
{
    term factor = b->terms[0];
    for (size_t i = 1; i < b->num_terms; i++)
        keep_common(&factor, &b->terms[i]);
    for (size_t i = 0; i < a->num_terms; i++)
        if (a->terms[i].degree || !is_number(b))
            keep_common(&factor, &a->terms[i]);
    if (factor.degree == 0 && factor.coefficient == 1)
        return false;
    divide_all(a, &factor);
    divide_all(b, &factor);
    return true;
}

/* floor((floor(x/c) + y) / b) = floor((x + c*y) / (c*b)) for numbers b, c > 0: where |a| has one
 * such quotient. */
static bool merge_nested(polynomial *a, polynomial *b)
{
    const term *nested = NULL;
    if (!is_number(b))
        return false;
    for (size_t i = 0; i < a->num_terms; i++) {
        const term *t = &a->terms[i];
        if (t->degree != 1 || t->coefficient != 1 || t->atoms[0]->symbol ||
            t->atoms[0]->divisor.expr)
            continue;
        if (nested)
            return false;
        nested = t;
    }
    if (!nested)
        return false;
    const atom *inner = nested->atoms[0];
    term scale = {.coefficient = inner->divisor.value}, removed, divisor;
    polynomial merged, rest = *a;
    multiply_terms(nested, &minus_one, &removed);
    add_term(&rest, &removed);
    load(&merged, inner->dividend);
    add_product(&merged, &rest, &scale);
    if (merged.failed || !multiply_terms(&b->terms[0], &scale, &divisor))
        return false;
    *a = merged;
    b->terms[0] = divisor;
    return true;
}

static void add_quotient_atom(qgc_dims *dims, polynomial *a, polynomial *b, polynomial *out)
{
    atom quotient = {.dividend = store(dims, a), .divisor = store(dims, b)};
    uint32_t depth = depth_of(quotient.dividend), divisor_depth = depth_of(quotient.divisor);
    quotient.depth = 1 + (depth > divisor_depth ? depth : divisor_depth);
    quotient.size = 1 + size_of(quotient.dividend) + size_of(quotient.divisor);
    out->failed |= quotient.depth > MAX_DEPTH || qgc_dim_is_unknown(quotient.dividend) ||
                   qgc_dim_is_unknown(quotient.divisor);
    if (!out->failed) {
        term t = term_of_atom(dims, &quotient);
        add_term(out, &t);
    }
}

static void negate(polynomial *p)
{
    polynomial old = *p;
    clear(p);
    add_product(p, &old, &minus_one);
}

/* out += floor(a / b), b not 0; uses up |a| and |b|. */
static void divide(qgc_dims *dims, polynomial *a, polynomial *b, polynomial *out)
{
    do {
        polynomial quotient;
        if (divide_exactly(a, b, &quotient)) {
            add_product(out, &quotient, &one);
            return;
        }
        if (b->terms[0].coefficient < 0) {
            negate(a);
            negate(b);
        }
        out->failed |= a->failed || b->failed;
        if (out->failed)
            return;
        if (b->num_terms == 1)
            split_quotient(a, &b->terms[0], out);
        if (!a->num_terms)
            return;
    } while (cancel_common(a, b) || merge_nested(a, b));
    add_quotient_atom(dims, a, b, out);
}

qgc_dim qgc_dim_div(qgc_dims *dims, qgc_dim a, qgc_dim b)
{
    if (!a.expr && !b.expr && b.value != 0 && (b.value != -1 || a.value != INT64_MIN))
        return qgc_dim_number(floor_div(a.value, b.value));
    polynomial x, y, quotient;
    load(&x, a);
    load(&y, b);
    clear(&quotient);
    quotient.failed = x.failed || y.failed || !y.num_terms;
    if (!quotient.failed)
        divide(dims, &x, &y, &quotient);
    return store(dims, &quotient);
}

bool qgc_dim_divides(qgc_dims *dims, qgc_dim b, qgc_dim a, qgc_dim *out_quotient)
{
    polynomial x, y, quotient;
    load(&x, a);
    load(&y, b);
    if (!divide_exactly(&x, &y, &quotient))
        return false;
    *out_quotient = store(dims, &quotient);
    return !qgc_dim_is_unknown(*out_quotient);
}

static qgc_dim bind_atom(qgc_dims *dims, const atom *a, qgc_dim_lookup *lookup, void *user)
{
    int64_t value;
    if (!a->symbol)
        return qgc_dim_div(dims, qgc_dim_bind(dims, a->dividend, lookup, user),
                           qgc_dim_bind(dims, a->divisor, lookup, user));
    return lookup(user, a->symbol, &value) ? qgc_dim_number(value)
                                           : qgc_dim_symbol(dims, a->symbol);
}

qgc_dim qgc_dim_bind(qgc_dims *dims, qgc_dim d, qgc_dim_lookup *lookup, void *user)
{
    if (!d.expr || qgc_dim_is_unknown(d))
        return d;
    qgc_dim sum = qgc_dim_number(0);
    for (size_t i = 0; i < d.expr->num_terms; i++) {
        const term *t = &d.expr->terms[i];
        qgc_dim product = qgc_dim_number(t->coefficient);
        for (size_t j = 0; j < t->degree; j++)
            product = qgc_dim_mul(dims, product, bind_atom(dims, t->atoms[j], lookup, user));
        sum = qgc_dim_add(dims, sum, product);
    }
    return sum;
}

/* The first symbol of |d| in name order after |previous|, if it comes before |best|. */
static void *build_atom(const atom *a, const qgc_dim_builder *b)
{
    if (a->symbol)
        return b->symbol(b->user, a->symbol);
    void *dividend = qgc_dim_build(a->dividend, b);
    return b->join(b->user, '/', dividend, qgc_dim_build(a->divisor, b));
}

static void *build_term(const term *t, const qgc_dim_builder *b)
{
    void *product = t->coefficient == 1 && t->degree ? NULL : b->number(b->user, t->coefficient);
    for (size_t i = 0; i < t->degree; i++) {
        void *factor = build_atom(t->atoms[i], b);
        product = product ? b->join(b->user, '*', product, factor) : factor;
    }
    return product;
}

void *qgc_dim_build(qgc_dim d, const qgc_dim_builder *builder)
{
    if (!d.expr)
        return builder->number(builder->user, d.value);
    void *sum = build_term(&d.expr->terms[0], builder);
    for (size_t i = 1; i < d.expr->num_terms; i++)
        sum = builder->join(builder->user, '+', sum, build_term(&d.expr->terms[i], builder));
    return sum;
}

static qgc_name next_symbol(qgc_dim d, qgc_name previous, qgc_name best)
{
    for (size_t i = 0; d.expr && i < d.expr->num_terms; i++) {
        for (size_t j = 0; j < d.expr->terms[i].degree; j++) {
            const atom *a = d.expr->terms[i].atoms[j];
            if (!a->symbol) {
                best = next_symbol(a->dividend, previous, best);
                best = next_symbol(a->divisor, previous, best);
            } else if ((!previous || compare_names(a->symbol, previous) > 0) &&
                       (!best || compare_names(a->symbol, best) < 0)) {
                best = a->symbol;
            }
        }
    }
    return best;
}

void qgc_dim_symbols(qgc_dim d, void (*visit)(void *user, qgc_name symbol), void *user)
{
    for (qgc_name name = NULL; (name = next_symbol(d, name, NULL)) != NULL;)
        visit(user, name);
}

/* In parentheses unless it binds more tightly than any operator. */
static void print_operand(qgc_text *out, qgc_dim d)
{
    bool tight = d.expr ? qgc_dim_as_symbol(d) != NULL : d.value >= 0;
    qgc_text_puts(out, tight ? "" : "(");
    qgc_dim_print(out, d);
    qgc_text_puts(out, tight ? "" : ")");
}

static void print_quotient(qgc_text *out, const atom *a)
{
    print_operand(out, a->dividend);
    qgc_text_putc(out, '/');
    print_operand(out, a->divisor);
}

/* A quotient stands bare only where it is the whole term: 2*H/3 would be (2*H)/3. A leading minus
 * belongs to a number (-1*H), so that no unary minus is needed to read it. */
static void print_term(qgc_text *out, const term *t, bool first)
{
    uint64_t magnitude = (uint64_t)t->coefficient;
    if (t->coefficient < 0)
        magnitude = -magnitude;
    const char *sign = first ? "" : "+";
    qgc_text_puts(out, t->coefficient < 0 ? "-" : sign);
    bool with_number = magnitude != 1 || t->degree == 0 || (first && t->coefficient < 0);
    if (with_number)
        qgc_text_printf(out, "%llu", (unsigned long long)magnitude);
    for (size_t i = 0; i < t->degree; i++) {
        const atom *a = t->atoms[i];
        if (i || with_number)
            qgc_text_putc(out, '*');
        bool bare = !with_number && t->degree == 1;
        if (a->symbol) {
            qgc_text_put(out, qgc_name_str(a->symbol));
            continue;
        }
        qgc_text_puts(out, bare ? "" : "(");
        print_quotient(out, a);
        qgc_text_puts(out, bare ? "" : ")");
    }
}

void qgc_dim_print(qgc_text *out, qgc_dim d)
{
    if (!d.expr) {
        qgc_text_printf(out, "%lld", (long long)d.value);
        return;
    }
    if (qgc_dim_is_unknown(d))
        qgc_text_putc(out, '?');
    for (size_t i = 0; i < d.expr->num_terms; i++)
        print_term(out, &d.expr->terms[i], i == 0);
}
