/* Regions: which claimed islands go into one function, and the function made of them. */
#ifndef QGC_PASSES_REGION_H
#define QGC_PASSES_REGION_H

#include "passes/view.h"

typedef struct qgc_island {
    qgc_view view;
    uint32_t region; /* index of its region; set by qgc_regions_form */
} qgc_island;

typedef QGC_VEC(qgc_island *) qgc_islands;

/* Gives every island a region. Regions are connected, as large as it goes, and convex: no path
 * leaves one and comes back, so each can run as a whole. |owners|: node -> qgc_island *, for all
 * nodes of islands. Regions are numbered in the order of their first nodes; returns how many there
 * are. */
uint32_t qgc_regions_form(qgc_func *func, qgc_islands *islands, qgc_map *owners,
                          qgc_arena *scratch);

/* Moves region |region| of |func| into a new function |name| for |target| and calls it. Constants
 * and dequantizes that it reads are copied; values keep their names. */
void qgc_region_extract(qgc_func *func, const qgc_map *owners, uint32_t region, qgc_name name,
                        qgc_name target, qgc_arena *scratch);

#endif
