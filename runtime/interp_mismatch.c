#include "runtime/interp_mismatch.h"

#include "base/number.h"
#include "ir/context.h"

#include <inttypes.h>

void qgc_mismatch_add(qgc_mismatch *found, double ours, double theirs, size_t sample,
                      size_t element)
{
    if (!found->num++)
        *found = (qgc_mismatch){1, sample, element, ours, theirs};
}

qgc_result qgc_mismatch_report(qgc_context *context, const char *name, const qgc_mismatch *found)
{
    char ours[QGC_NUMBER_CHARS], theirs[QGC_NUMBER_CHARS];
    if (!found->num)
        return QGC_OK;
    qgc_print_f32(ours, (float)found->ours);
    qgc_print_f32(theirs, (float)found->theirs);
    return qgc_report(&context->diag, QGC_NO_LOC, QGC_D_ONE_SIDED,
                      "%s: %" PRIu64 " value%s NaN or infinite in one graph only; the first is "
                      "element %zu of sample %zu: %s, in the other graph %s",
                      name, found->num, found->num == 1 ? " is" : "s are", found->element,
                      found->sample, ours, theirs);
}
