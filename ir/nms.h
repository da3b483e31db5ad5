/* Which boxes non_max_suppression keeps: for its infer hook (their number) and its kernel. */
#ifndef QGC_IR_NMS_H
#define QGC_IR_NMS_H

#include "base/vec.h"
#include "qgc/tensor.h"

typedef struct qgc_nms_box {
    int64_t image, label, box;
} qgc_nms_box;

typedef struct qgc_nms_list {
    QGC_VEC(qgc_nms_box) kept;
} qgc_nms_list;

/* Operands of the op: boxes, scores, max_boxes, iou_threshold, score_threshold; NULL where absent.
 * Their types fit the op's rules. */
void qgc_nms_select(const qgc_tensor *const operands[5], bool center, qgc_arena *arena,
                    qgc_nms_list *out);

#endif
