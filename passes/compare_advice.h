/* Where error starts, of which kind it is, and what helps. */
#ifndef QGC_PASSES_COMPARE_ADVICE_H
#define QGC_PASSES_COMPARE_ADVICE_H

#include "passes/compare_side.h"

/* Fills loss, cause and remedy of all rows, first_difference and start. |from|: parallel to the
 * report's rows.
 *
 * The quality of a value is the lesser of its SQNR and the median of its channels'. It should be
 * that of the worst value it is made of, or what its type allows: 30 dB for 8 bits, 60 dB for 16
 * and f16, 100 dB for other floats. What is missing is its loss. */
void qgc_compare_advise(qgc_compare_report *report, const qgc_row **from, double start_db,
                        qgc_arena *arena);

#endif
