#include "ir/quant_spec.h"

#include "base/number.h"

#include <string.h>

qgc_str qgc_spec_next_word(qgc_str *rest)
{
    const char *dot = rest->size ? memchr(rest->data, '.', rest->size) : NULL;
    qgc_str word = {rest->data, dot ? (size_t)(dot - rest->data) : rest->size};
    size_t skip = word.size + (dot != NULL);
    *rest = (qgc_str){rest->data + skip, rest->size - skip};
    return word;
}

bool qgc_spec_apply_word(qgc_spec *spec, qgc_str word)
{
    static const char *const schemes[] = {"sym", "affine"};
    static const char *const observers[] = {"minmax", "avg", "hist"};
    for (int i = 0; i < 2; i++)
        if (spec->scheme == QGC_SCHEME_NONE && qgc_str_equal(word, qgc_str_from(schemes[i])))
            return spec->scheme = (qgc_scheme)(QGC_SCHEME_SYM + i), true;
    for (int i = 0; i < 3; i++)
        if (spec->observer == QGC_OBSERVE_NONE && qgc_str_equal(word, qgc_str_from(observers[i])))
            return spec->observer = (qgc_spec_observer)(QGC_OBSERVE_MINMAX + i), true;
    if (!spec->per_channel && qgc_str_equal(word, qgc_str_from("ch")))
        return spec->per_channel = true;
    if (!spec->dynamic && qgc_str_equal(word, qgc_str_from("dynamic")))
        return spec->dynamic = true;
    return false;
}

/* "-127,127]" */
static bool read_range(qgc_str text, qgc_spec *out)
{
    const char *comma = text.size ? memchr(text.data, ',', text.size) : NULL;
    if (!comma || text.data[text.size - 1] != ']')
        return false;
    size_t first = (size_t)(comma - text.data);
    qgc_str qmin = {text.data, first}, qmax = {comma + 1, text.size - first - 2};
    out->has_range = true;
    return qgc_parse_i64(qmin, &out->qmin) && qgc_parse_i64(qmax, &out->qmax);
}

bool qgc_spec_read(qgc_str text, qgc_spec *out)
{
    const char *bracket = text.size ? memchr(text.data, '[', text.size) : NULL;
    qgc_str words = {text.data, bracket ? (size_t)(bracket - text.data) : text.size};
    *out = (qgc_spec){.kind = QGC_SPEC_OWN, .has_dtype = true};
    if (bracket && !read_range((qgc_str){bracket + 1, text.size - words.size - 1}, out))
        return false;
    if (!qgc_dtype_from_name(qgc_spec_next_word(&words), &out->dtype))
        return false;
    while (words.size)
        if (!qgc_spec_apply_word(out, qgc_spec_next_word(&words)))
            return false;
    return true;
}

const char *qgc_spec_fault(const qgc_spec *spec)
{
    qgc_int_range full;
    bool has_scheme = spec->scheme != QGC_SCHEME_NONE;
    bool has_observer = spec->observer != QGC_OBSERVE_NONE;
    if (spec->dtype == QGC_DTYPE_F16)
        return has_scheme || has_observer || spec->has_range || spec->per_channel
                   ? "f16 stands alone"
                   : NULL;
    if (!qgc_quant_dtype_range(spec->dtype, &full))
        return "the type is none of f16, i8, u8, i16, u16 and i32";
    if (spec->dynamic && (has_observer || spec->per_channel))
        return "dynamic specs have no observer and no channels";
    if (!has_scheme || (!has_observer && !spec->dynamic))
        return "a scheme (sym, affine) and an observer (minmax, avg, hist) are needed";
    if (spec->has_range &&
        (spec->qmin >= spec->qmax || spec->qmin < full.lo || spec->qmax > full.hi))
        return "the range is not [qmin,qmax] inside the type's";
    return NULL;
}

qgc_quant_spec qgc_spec_quant(const qgc_spec *spec)
{
    bool symmetric = spec->scheme == QGC_SCHEME_SYM;
    qgc_quant_spec quant =
        qgc_quant_spec_default(spec->dtype, symmetric ? QGC_QUANT_SYMMETRIC : QGC_QUANT_AFFINE);
    if (spec->has_range)
        quant.range = (qgc_int_range){(int32_t)spec->qmin, (int32_t)spec->qmax};
    return quant;
}
