/* Nothing is global: two contexts on two threads parse, transform, run and report at once, each
 * with the result that one thread alone gets. The thread sanitizer runs this test too. */
#include "qgc/qgc.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NUM_THREADS = 2, NUM_ROUNDS = 20 };

static const char good[] = "func @main() -> (f32[2,2]) {\n"
                           "  %a = const [[1.0, -2.0], [0.5, 4.0]] : f32[2,2]\n"
                           "  %b = relu %a : f32[2,2]\n"
                           "  %c = add %b, %b : f32[2,2]\n"
                           "  %d = add %b, %b : f32[2,2]\n"
                           "  %e = add %c, %d : f32[2,2]\n"
                           "  return %e\n"
                           "}\n";
static const char bad[] = "func @main(%x: f32[2]) -> (f32[2]) {\n"
                          "  %y = rellu %x : f32[2]\n"
                          "  return %z\n"
                          "}\n";

static qgc_str text_of(const char *text)
{
    return (qgc_str){text, strlen(text)};
}

static void run_good(qgc_context *context, FILE *out)
{
    qgc_module *module = qgc_module_parse(context, "good.qir", text_of(good), 1, NULL);
    qgc_pipeline_options options = {.verify_each = true, .print_after = "all", .out = out};
    qgc_tensors inputs = {0}, outputs = {0};
    if (!module)
        return;
    if (qgc_module_run(module, "main", NULL, &inputs, &outputs) == QGC_OK)
        qgc_tensors_print(context, "main", &outputs, out);
    qgc_tensors_free(&outputs);
    if (qgc_pipeline_run(module, "canonicalize,cse,const-fold,dce", &options) == QGC_OK)
        qgc_module_write(module, out);
    qgc_module_destroy(module);
}

/* Everything that a session prints: graphs, values, diagnostics. */
static char *run_session(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    qgc_context *context = qgc_context_create();
    run_good(context, out);
    qgc_module *module = qgc_module_parse(context, "bad.qir", text_of(bad), 1, NULL);
    fprintf(out, "bad.qir is %s\n", module ? "accepted" : "refused");
    qgc_module_destroy(module);
    qgc_context_flush(context, out, QGC_DIAG_TEXT, false);
    qgc_context_destroy(context);
    fclose(out);
    return text;
}

/* The number of rounds that differ from |expected|; threads must not use cmocka's asserts. */
static void *repeat_session(void *expected)
{
    uintptr_t num_different = 0;
    for (int i = 0; i < NUM_ROUNDS; i++) {
        char *text = run_session();
        num_different += strcmp(text, expected) != 0;
        free(text);
    }
    return (void *)num_different;
}

static void test_one_session(void **state)
{
    (void)state;
    char *text = run_session();
    assert_non_null(strstr(text, "@main.%e = [[4.0, 0.0], [2.0, 16.0]] : f32[2,2]"));
    assert_non_null(strstr(text, "bad.qir is refused"));
    assert_non_null(strstr(text, "bad.qir:2:8: error: "));
    free(text);
}

static void test_two_contexts_on_two_threads(void **state)
{
    (void)state;
    char *expected = run_session();
    pthread_t threads[NUM_THREADS];
    for (int i = 0; i < NUM_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, repeat_session, expected), 0);
    for (int i = 0; i < NUM_THREADS; i++) {
        void *num_different;
        assert_int_equal(pthread_join(threads[i], &num_different), 0);
        assert_null(num_different);
    }
    free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_session),
        cmocka_unit_test(test_two_contexts_on_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
