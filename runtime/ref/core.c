/* Structure: what the interpreter does itself, and copies. */
#include "runtime/ref/ref.h"

#include <string.h>

/* call, loop, return and constants are the interpreter's own steps. */
qgc_result ref_structural(qgc_ref_call *call)
{
    return qgc_ref_fail(call, "is no kernel");
}

qgc_result ref_constant(qgc_ref_call *call)
{
    return qgc_ref_fail(call, "has no data");
}

qgc_result ref_copy(qgc_ref_call *call)
{
    if (call->results[0].bytes)
        memcpy(call->results[0].data, call->operands[0]->data, call->results[0].bytes);
    return QGC_OK;
}
