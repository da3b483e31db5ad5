#include "ir/nms.h"

#include <math.h>
#include <stdlib.h>

typedef struct candidate {
    float score;
    int64_t box;
} candidate;

typedef struct corners {
    float top, left, bottom, right;
} corners;

static int better_first(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->box < b->box ? -1 : 1;
}

static float number(const qgc_tensor *t, float absent)
{
    return t ? *(const float *)t->data : absent;
}

static corners box_at(const float *box, bool center)
{
    if (center) {
        float half_width = box[2] / 2, half_height = box[3] / 2;
        return (corners){box[1] - half_height, box[0] - half_width, box[1] + half_height,
                         box[0] + half_width};
    }
    return (corners){fminf(box[0], box[2]), fminf(box[1], box[3]), fmaxf(box[0], box[2]),
                     fmaxf(box[1], box[3])};
}

static float area(corners c)
{
    return (c.bottom - c.top) * (c.right - c.left);
}

static bool overlaps(corners a, corners b, float threshold)
{
    float height = fminf(a.bottom, b.bottom) - fmaxf(a.top, b.top);
    float width = fminf(a.right, b.right) - fmaxf(a.left, b.left);
    if (!(height > 0) || !(width > 0) || !(area(a) > 0) || !(area(b) > 0))
        return false;
    float shared = height * width;
    float both = area(a) + area(b);
    return shared / (both - shared) > threshold;
}

static size_t gather(const float *scores, int64_t num, const qgc_tensor *threshold, candidate *out)
{
    size_t found = 0;
    float least = number(threshold, 0);
    for (int64_t i = 0; i < num; i++)
        if (scores[i] == scores[i] && (!threshold || scores[i] > least))
            out[found++] = (candidate){scores[i], i};
    return found;
}

void qgc_nms_select(const qgc_tensor *const operands[5], bool center, qgc_arena *arena,
                    qgc_nms_list *out)
{
    const qgc_tensor *boxes = operands[0], *scores = operands[1];
    int64_t images = scores->shape[0], labels = scores->shape[1], num = scores->shape[2];
    int64_t most = operands[2] ? *(const int64_t *)operands[2]->data : 0;
    float iou = number(operands[3], 0);
    if (!num) /* however many classes a shape without boxes claims */
        return;
    candidate *found = QGC_NEW_ARRAY(arena, candidate, (size_t)num);
    for (int64_t pair = 0; pair < images * labels && most > 0; pair++) {
        const float *box = (const float *)boxes->data + pair / labels * num * 4;
        size_t count = gather((const float *)scores->data + pair * num, num, operands[4], found);
        size_t first = out->kept.size;
        qsort(found, count, sizeof *found, better_first);
        for (size_t i = 0; i < count && (int64_t)(out->kept.size - first) < most; i++) {
            bool drop = false;
            corners c = box_at(box + found[i].box * 4, center);
            for (size_t k = first; k < out->kept.size && !drop; k++)
                drop = overlaps(c, box_at(box + out->kept.data[k].box * 4, center), iou);
            if (!drop)
                qgc_vec_push(arena, &out->kept,
                             ((qgc_nms_box){pair / labels, pair % labels, found[i].box}));
        }
    }
}
