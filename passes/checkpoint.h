/* Where a calibration stands, in a file: statistics so far, and what they are statistics of. A text
 * of records without a graph:
 *   provenance {graph = "...", data = "...", samples = 120, batch = 1, shard = 0, shards = 1,
 *               func = "main", version = "qgc ...", seal = "..."}
 *   stats @main.%x {...}
 * `data` is the hash of the samples seen. The file appears whole or not at all. */
#ifndef QGC_PASSES_CHECKPOINT_H
#define QGC_PASSES_CHECKPOINT_H

#include "passes/data_pass.h"

/* Fills |recorders| and pass->skip from the file; does nothing where it does not exist. Reports
 * BAD_STATE where it was made with another graph, batch, part of the data, or version. */
qgc_result qgc_checkpoint_read(const char *path, uint64_t graph_hash, qgc_data_pass *pass);

qgc_result qgc_checkpoint_write(const char *path, uint64_t graph_hash, const qgc_data_pass *pass);

#endif
