#include "base/pages.h"

#if defined(__linux__)
#include <stdint.h>
#include <sys/mman.h>

void qgc_prefer_large_pages(void *memory, size_t bytes)
{
    uintptr_t begin = (uintptr_t)memory, end = begin + bytes;
    begin = (begin + QGC_LARGE_PAGE - 1) / QGC_LARGE_PAGE * QGC_LARGE_PAGE;
    end = end / QGC_LARGE_PAGE * QGC_LARGE_PAGE;
    if (begin < end)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}
#else
void qgc_prefer_large_pages(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}
#endif
