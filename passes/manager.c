/* Pipelines: parsed and checked as a whole, then run pass by pass. */
#include "base/number.h"
#include "passes/pass.h"
#include "passes/provenance.h"
#include "passes/value_key.h"
#include "qgc/pass.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

typedef struct step {
    const qgc_pass_info *pass;
    const char *options[QGC_MAX_PASS_OPTIONS];
    double seconds;
    bool ran;
} step;

typedef struct pipeline {
    qgc_context *context;
    qgc_arena *arena;
    QGC_VEC(step) steps;
} pipeline;

static qgc_result bad(pipeline *p, const char *format, ...) QGC_PRINTF(2, 3);
static qgc_result bad(pipeline *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = qgc_arena_vprintf(p->arena, format, args);
    va_end(args);
    return qgc_report(&p->context->diag, QGC_NO_LOC, QGC_D_BAD_PIPELINE, "%s", message);
}

/* ---- parsing: name{key=value,key=value},name ---- */

/* Brackets belong to a word: i8.sym[-127,127]. */
static qgc_str take_word(qgc_str *rest)
{
    size_t size = 0;
    int depth = 0;
    for (; size < rest->size; size++) {
        char c = rest->data[size];
        depth += (c == '[') - (c == ']');
        if (depth <= 0 && strchr(",{}= ", c))
            break;
    }
    qgc_str word = {rest->data, size};
    *rest = (qgc_str){rest->data + size, rest->size - size};
    return word;
}

static bool take_char(qgc_str *rest, char c)
{
    if (!rest->size || rest->data[0] != c)
        return false;
    *rest = (qgc_str){rest->data + 1, rest->size - 1};
    return true;
}

static qgc_str option_name(void *user, size_t index)
{
    const qgc_pass_info *pass = user;
    return qgc_str_from(pass->options[index].name);
}

static qgc_result set_option(pipeline *p, step *s, qgc_str key, qgc_str value)
{
    for (int i = 0; i < QGC_MAX_PASS_OPTIONS && s->pass->options[i].name; i++) {
        if (!qgc_str_equal(key, qgc_str_from(s->pass->options[i].name)))
            continue;
        if (s->options[i])
            return bad(p, "%s: option %.*s is given twice", s->pass->name, QGC_STR_ARG(key));
        s->options[i] = qgc_arena_strdup(p->arena, value);
        return QGC_OK;
    }
    size_t num = 0;
    while (num < QGC_MAX_PASS_OPTIONS && s->pass->options[num].name)
        num++;
    return bad(p, "%s has no option '%.*s'%s", s->pass->name, QGC_STR_ARG(key),
               qgc_str_did_you_mean(p->arena, key, option_name, (void *)(uintptr_t)s->pass, num));
}

static qgc_result parse_options(pipeline *p, step *s, qgc_str *rest)
{
    if (!take_char(rest, '{'))
        return QGC_OK;
    while (!take_char(rest, '}')) {
        qgc_str key = take_word(rest), value = {"true", 4};
        if (take_char(rest, '='))
            value = take_word(rest);
        if (!key.size || !value.size)
            return bad(p, "%s: expected {option=value,...}", s->pass->name);
        QGC_TRY(set_option(p, s, key, value));
        if (!take_char(rest, ',') && (!rest->size || rest->data[0] != '}'))
            return bad(p, "%s: expected ',' or '}' after option %.*s", s->pass->name,
                       QGC_STR_ARG(key));
    }
    return QGC_OK;
}

static qgc_str pass_name(void *user, size_t index)
{
    (void)user;
    return qgc_str_from(qgc_pass_at(index)->name);
}

static const char *similar_pass(pipeline *p, qgc_str name)
{
    return qgc_str_did_you_mean(p->arena, name, pass_name, NULL, qgc_num_passes());
}

static qgc_result parse(pipeline *p, qgc_str rest)
{
    while (rest.size) {
        qgc_str name = take_word(&rest);
        step s = {.pass = qgc_pass_find(name)};
        if (!s.pass)
            return bad(p, "no pass named '%.*s'%s", QGC_STR_ARG(name), similar_pass(p, name));
        QGC_TRY(parse_options(p, &s, &rest));
        for (int i = 0; i < QGC_MAX_PASS_OPTIONS; i++)
            if (!s.options[i])
                s.options[i] = s.pass->options[i].default_text;
        qgc_vec_push(p->arena, &p->steps, s);
        if (rest.size && !take_char(&rest, ','))
            return bad(p, "expected ',' between passes, found '%c'", rest.data[0]);
    }
    return QGC_OK;
}

/* ---- forms ---- */

static const char *forms_text(pipeline *p, uint32_t set)
{
    qgc_text text = {.arena = p->arena};
    for (int i = 0; i < QGC_NUM_FORMS; i++)
        if (set >> i & 1)
            qgc_text_printf(&text, "%s%s", text.size ? " or " : "", qgc_form_name((qgc_form)i));
    return text.data;
}

/* The pass that leads to one of |forms|, for the message. */
static const char *provider(uint32_t forms)
{
    for (size_t i = 0; i < qgc_num_passes(); i++)
        if (qgc_pass_at(i)->provides >= 0 && forms >> qgc_pass_at(i)->provides & 1)
            return qgc_pass_at(i)->name;
    return NULL;
}

static qgc_result check_forms(pipeline *p, qgc_form form)
{
    for (size_t i = 0; i < p->steps.size; i++) {
        const qgc_pass_info *pass = p->steps.data[i].pass;
        if (!(pass->requires >> form & 1)) {
            bool is_ahead = pass->
                                requires >>
                            form != 0; /* forms go one way */
            const char *missing = is_ahead ? provider(pass->requires) : NULL;
            return qgc_report(&p->context->diag, QGC_NO_LOC, QGC_D_BAD_FORM,
                              "%s needs a graph of form %s, here it is %s%s%s%s", pass->name,
                              forms_text(p, pass->requires), qgc_form_name(form),
                              missing ? " (run " : "", missing ? missing : "",
                              missing ? " first)" : "");
        }
        if (pass->provides >= 0)
            form = (qgc_form)pass->provides;
    }
    return QGC_OK;
}

/* ---- running ---- */

static bool names(const char *list, const char *name)
{
    if (!list)
        return false;
    size_t size = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, "all", 3) == 0 && (!at[3] || at[3] == ','))
            return true;
        if (strncmp(at, name, size) == 0 && (!at[size] || at[size] == ','))
            return true;
    }
    return false;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static qgc_result verify_after(qgc_module *module, const char *pass)
{
    if (qgc_module_verify(module) == QGC_OK)
        return QGC_OK;
    return qgc_report(&module->context->diag, QGC_NO_LOC, QGC_D_PASS_BROKE,
                      "the graph is broken after %s: a bug in this pass", pass);
}

/* A pass sees the graph as it would from a file, whatever ran before it. */
static void order_uses(qgc_module *module)
{
    QGC_EACH_FUNC (func, module)
        qgc_func_order_uses(func);
}

static qgc_result run_step(pipeline *p, step *s, qgc_module *module,
                           const qgc_pipeline_options *options)
{
    qgc_arena scratch = {0};
    qgc_pass_env env = {.context = p->context, .scratch = &scratch};
    memcpy(env.options, s->options, sizeof env.options);
    p->context->diag.origin = s->pass->name;
    double start = now();
    order_uses(module);
    qgc_pass_status status = s->pass->run(module, &env);
    s->seconds = now() - start;
    s->ran = true;
    qgc_arena_destroy(&scratch);
    if (status != QGC_PASS_FAILED && s->pass->provides >= 0)
        module->form = (qgc_form)s->pass->provides;
    if (status == QGC_PASS_CHANGED)
        qgc_provenance_seal_again(module);
    if (names(options->print_after, s->pass->name) ||
        (options->print_changed && status == QGC_PASS_CHANGED)) {
        fprintf(options->out, "// ---- after %s ----\n", s->pass->name);
        qgc_module_write(module, options->out);
    }
    qgc_result result = status == QGC_PASS_FAILED ? QGC_FAILED : QGC_OK;
    if (result == QGC_OK && options->verify_each && status == QGC_PASS_CHANGED)
        result = verify_after(module, s->pass->name);
    p->context->diag.origin = NULL;
    return result;
}

static void print_times(const pipeline *p, FILE *out)
{
    double total = 0;
    for (size_t i = 0; i < p->steps.size; i++)
        total += p->steps.data[i].seconds;
    fprintf(out, "    seconds  share  pass\n");
    for (size_t i = 0; i < p->steps.size; i++)
        if (p->steps.data[i].ran)
            fprintf(out, "%11.6f %5.1f%%  %s\n", p->steps.data[i].seconds,
                    total > 0 ? 100 * p->steps.data[i].seconds / total : 0,
                    p->steps.data[i].pass->name);
    fprintf(out, "%11.6f 100.0%%  total\n", total);
}

static qgc_result check_names(pipeline *p, const qgc_pipeline_options *options)
{
    if (!options->stop_after)
        return QGC_OK;
    for (size_t i = 0; i < p->steps.size; i++)
        if (strcmp(p->steps.data[i].pass->name, options->stop_after) == 0)
            return QGC_OK;
    return bad(p, "stop after '%s': the pipeline has no such pass", options->stop_after);
}

static qgc_result run(pipeline *p, qgc_module *module, const char *text,
                      const qgc_pipeline_options *options)
{
    QGC_TRY(parse(p, qgc_str_from(text)));
    QGC_TRY(check_names(p, options));
    QGC_TRY(check_forms(p, module->form));
    qgc_result result = QGC_OK;
    for (size_t i = 0; i < p->steps.size && result == QGC_OK; i++) {
        result = run_step(p, &p->steps.data[i], module, options);
        if (options->stop_after && strcmp(p->steps.data[i].pass->name, options->stop_after) == 0)
            break;
    }
    if (options->time_passes)
        print_times(p, options->out);
    return result;
}

qgc_result qgc_pipeline_run(qgc_module *module, const char *text,
                            const qgc_pipeline_options *options)
{
    qgc_arena arena = {0};
    pipeline p = {.context = module->context, .arena = &arena};
    qgc_result result = run(&p, module, text, options);
    qgc_arena_destroy(&arena);
    return result;
}

/* ---- services for passes ---- */

bool qgc_pass_option_int(const qgc_pass_env *env, size_t index, const char *name, int64_t min,
                         int64_t *out)
{
    if (qgc_parse_i64(qgc_str_from(env->options[index]), out) && *out >= min)
        return true;
    qgc_report(&env->context->diag, QGC_NO_LOC, QGC_D_BAD_PIPELINE,
               "%s=%s: expected an integer of at least %lld", name, env->options[index],
               (long long)min);
    return false;
}

/* Of the value that the result stands for, else of the result. */
static const char *identifier_of(qgc_diag *diag, const qgc_node *node)
{
    qgc_value_key key;
    qgc_map owners = {.arena = diag->arena};
    qgc_text name = {.arena = diag->arena};
    if (node->func->target)
        qgc_find_owners(node->func->module, &owners);
    if (qgc_value_key_read(&owners, node->func, &node->results[0], diag->arena, &key))
        return key.text->data;
    qgc_func_name_print(&name, node->func->name);
    qgc_text_putc(&name, '.');
    qgc_value_name_print(&name, node->results[0].name);
    return name.data;
}

void qgc_report_node(qgc_diag *diag, const qgc_node *node)
{
    qgc_diag_add(diag, "op", "%s", qgc_node_op(node)->mnemonic);
    if (node->num_results)
        qgc_diag_add(diag, "value", "%s", identifier_of(diag, node));
    if (node->scope)
        qgc_diag_add(diag, "scope", "%s", node->scope->data);
}

bool qgc_no_match(const qgc_pass_env *env, const qgc_node *node, const char *format, ...)
{
    qgc_diag *diag = &env->context->diag;
    if (!qgc_wants_remarks(diag))
        return false;
    va_list args;
    va_start(args, format);
    const char *why = qgc_arena_vprintf(env->scratch, format, args);
    va_end(args);
    qgc_report(diag, node->loc, QGC_D_NO_MATCH, "%s: %s", qgc_node_op(node)->mnemonic, why);
    qgc_report_node(diag, node);
    return true;
}
