/* Two contexts on two threads: parse, optimize, print and run the same module at the same time. Run
 * under the thread sanitizer by tools/check. */
#include "qgc/qgc.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char text[] = "func @main() -> (f32[2,2], i8[]) {\n"
                           "  %a = const [[1.0, -2.0], [3.0, 4.0]] : f32[2,2]\n"
                           "  %w = const [[0.5, 0.25], [1.0, 2.0]] : f32[2,2]\n"
                           "  %c = linear %a, %w\n"
                           "  %r = relu %c\n"
                           "  %s = add %r, %c\n"
                           "  %q = const -128 : i8[]\n"
                           "  return %s, %q\n"
                           "}\n"
                           "func @bad(%x: f32[N,2]) -> (f32[N,2]) {\n"
                           "  %y = relux %x\n"
                           "  return %y\n"
                           "}\n";

enum { ROUNDS = 30 };

/* Everything that the library printed, NUL-terminated; to be freed. */
static void run_once(FILE *out, bool with_error)
{
    qgc_context *context = qgc_context_create();
    size_t size = with_error ? sizeof text - 1 : (size_t)(strstr(text, "func @bad") - text);
    qgc_module *module = qgc_module_parse(context, "text", (qgc_str){text, size}, 1, NULL);
    if (module) {
        qgc_pipeline_options options = {.verify_each = true};
        qgc_tensors none = {0}, outputs = {0};
        qgc_module_run(module, "main", &none, &outputs);
        qgc_tensors_print(context, "main", &outputs, out);
        qgc_tensors_free(&outputs);
        qgc_pipeline_run(module, "canonicalize,cse,const-fold,infer-shapes,dce", &options);
        qgc_module_write(module, out);
    }
    qgc_module_destroy(module);
    qgc_context_flush(context, out, QGC_DIAG_JSON, false);
    qgc_context_destroy(context);
}

static void *work(void *unused)
{
    (void)unused;
    char *printed = NULL;
    size_t size;
    FILE *out = open_memstream(&printed, &size);
    for (int i = 0; i < ROUNDS; i++)
        run_once(out, i % 2);
    fclose(out);
    return printed;
}

static void test_two_contexts(void **state)
{
    (void)state;
    pthread_t threads[2];
    char *printed[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], (void **)&printed[i]);
    assert_non_null(strstr(printed[0], "@main.%s = [[0.0, -3.0], [5.0, 22.0]] : f32[2,2]"));
    assert_non_null(strstr(printed[0], "unknown op 'relux'"));
    assert_string_equal(printed[0], printed[1]);
    free(printed[0]);
    free(printed[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_contexts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
