/* The whole C API. docs/api.md has an example. */
#ifndef QGC_QGC_H
#define QGC_QGC_H

#include "qgc/bench.h"
#include "qgc/calibrate.h"
#include "qgc/check.h"
#include "qgc/compare.h"
#include "qgc/compile.h"
#include "qgc/context.h"
#include "qgc/data.h"
#include "qgc/diff.h"
#include "qgc/docs.h"
#include "qgc/engine.h"
#include "qgc/eval.h"
#include "qgc/explain.h"
#include "qgc/mismatch.h"
#include "qgc/module.h"
#include "qgc/onnx.h"
#include "qgc/pass.h"
#include "qgc/plugin.h"
#include "qgc/reduce.h"
#include "qgc/run.h"
#include "qgc/sens.h"
#include "qgc/stats.h"
#include "qgc/summary.h"
#include "qgc/verify.h"

#endif
