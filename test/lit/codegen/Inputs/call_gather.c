/* Calls a compiled gather with good and bad indices, with a rounding mode that it has to give back.
 */
#include "model.h"

#include <fenv.h>
#include <stdio.h>

static _Alignas(MODEL_ARENA_ALIGN) char arena[MODEL_MAIN_ARENA_BYTES];

static int call(int64_t first, int64_t second)
{
    static const float x[] = {1, 2, 3, 4, 5, 6};
    float y[] = {-1, -1, -1, -1};
    int64_t indices[] = {first, second};
    int result = model_main(x, indices, y, arena);
    printf("%d: %g %g %g %g\n", result, y[0], y[1], y[2], y[3]);
    return fegetround() == FE_UPWARD;
}

int main(void)
{
    fesetround(FE_UPWARD);
    return !(call(2, -3) && call(0, 3) && call(-2, -1));
}
