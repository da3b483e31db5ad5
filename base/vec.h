/* Typed growable arrays in an arena: QGC_VEC(int) v = {0}; qgc_vec_push(arena, &v, 3); */
#ifndef QGC_BASE_VEC_H
#define QGC_BASE_VEC_H

#include "base/arena.h"

#define QGC_VEC(T)                                                                                 \
    struct {                                                                                       \
        T *data;                                                                                   \
        size_t size, capacity;                                                                     \
    }

#define qgc_vec_push(arena, vec, item)                                                             \
    do {                                                                                           \
        if ((vec)->size == (vec)->capacity)                                                        \
            (vec)->data =                                                                          \
                qgc_vec_grow((arena), (vec)->data, &(vec)->capacity, sizeof *(vec)->data);         \
        (vec)->data[(vec)->size++] = (item);                                                       \
    } while (0)

/* Doubles |capacity| and copies; the old array stays in the arena. */
void *qgc_vec_grow(qgc_arena *arena, const void *data, size_t *capacity, size_t item_bytes);

#endif
