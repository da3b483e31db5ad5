#include "passes/pass.h"

#define QGC_PASS(function, ...) qgc_pass_fn pass_##function;
#include "passes/passes.def"

#define FORM(id)        (1u << QGC_FORM_##id)
#define ANY_FORM        ((1u << QGC_NUM_FORMS) - 1)
#define FORM_OF(id)     QGC_FORM_##id
#define KEEPS           (-1)
#define OPTION(n, d, s) {.name = n, .default_text = d, .summary = s}

static const qgc_pass_info table[] = {
#define QGC_PASS(function, name_, forms, gives, ...)                                               \
    {.name = name_, .run = pass_##function, .requires = forms, .provides = gives, __VA_ARGS__},
#include "passes/passes.def"
};

size_t qgc_num_passes(void)
{
    return sizeof table / sizeof *table;
}

const qgc_pass_info *qgc_pass_at(size_t index)
{
    return &table[index];
}

const qgc_pass_info *qgc_pass_find(qgc_str name)
{
    for (size_t i = 0; i < qgc_num_passes(); i++)
        if (qgc_str_equal(name, qgc_str_from(table[i].name)))
            return &table[i];
    return NULL;
}
