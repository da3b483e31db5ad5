/* Whole numbers in options and variables. */
#ifndef QGC_TOOLS_WHOLE_H
#define QGC_TOOLS_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

/* The decimal digits that |text| begins with, without a sign or blank; returns what follows them,
 * NULL where there are none or 64 bits do not hold them. */
const char *parse_digits(const char *text, uint64_t *out);
/* All of |text|. */
bool parse_whole(const char *text, uint64_t *out);

#endif
