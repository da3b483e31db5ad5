#include "whole.h"

#include <errno.h>
#include <stdlib.h>

const char *parse_digits(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && !errno ? end : NULL;
}

bool parse_whole(const char *text, uint64_t *out)
{
    const char *end = parse_digits(text, out);
    return end && !*end;
}
