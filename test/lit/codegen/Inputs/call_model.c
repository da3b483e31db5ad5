/* Calls a compiled classifier, as C and as C++, with a caller's floating-point state that would
 * change results: pictures from stdin, results to stdout, as raw bytes. */
#include MODEL_HEADER
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

static const int shape[] = MODEL_MAIN_IN_PICTURES_SHAPE;

static int fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    return 1;
}

int main(void)
{
    uint8_t *pictures = (uint8_t *)malloc(MODEL_MAIN_IN_PICTURES_BYTES);
    float *results = (float *)malloc(MODEL_MAIN_OUT_LOGITS_DQ_BYTES);
    char *arena = (char *)aligned_alloc(MODEL_ARENA_ALIGN, model_main_arena_bytes());
    if (!pictures || !results || !arena || model_main_arena_bytes() != MODEL_MAIN_ARENA_BYTES)
        return fail("memory");
    if (model_main_num_inputs() != 1 || model_main_num_outputs() != 1)
        return fail("numbers of inputs and outputs");
    if (model_main_input_bytes(0) != MODEL_MAIN_IN_PICTURES_BYTES || model_main_input_bytes(1) != 0)
        return fail("bytes of inputs");
    if (model_main_output_bytes(0) != MODEL_MAIN_OUT_LOGITS_DQ_BYTES ||
        model_main_output_bytes(1) != 0)
        return fail("bytes of outputs");
    if (sizeof shape / sizeof *shape != MODEL_MAIN_IN_PICTURES_RANK || shape[1] != 28 ||
        MODEL_MAIN_OUT_LOGITS_DQ_SCALE <= 0)
        return fail("constants");
    if (fread(pictures, 1, MODEL_MAIN_IN_PICTURES_BYTES, stdin) != MODEL_MAIN_IN_PICTURES_BYTES)
        return fail("input");
    if (model_main(pictures, results, arena + 1) != 1 || model_main(pictures, results, NULL) != 1)
        return fail("an arena that is none is accepted");
    fesetround(FE_UPWARD);
    if (model_main(pictures, results, arena) != 0 || fegetround() != FE_UPWARD)
        return fail("the call");
    fwrite(results, 1, MODEL_MAIN_OUT_LOGITS_DQ_BYTES, stdout);
    free(pictures);
    free(results);
    free(arena);
    return fflush(stdout) != 0;
}
