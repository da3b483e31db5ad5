#include "samples.h"

#include "whole.h"

#include <string.h>

qgc_result require_data(invocation *call)
{
    if (has_option(call, "--data") || has_option(call, "--input"))
        return QGC_OK;
    return qgc_context_usage_error(call->context, "qgc %s needs --data, or --input for each input",
                                   call->command->name);
}

qgc_result read_data_files(invocation *call, const char *data, const char *input, data_source *out)
{
    const char *path = data ? get_option(call, data) : NULL;
    const option_values *named = get_options(call, input);
    *out = (data_source){.samples = {.files = out->files}};
    if (path)
        out->files[out->samples.num_files++] = (qgc_data_file){.path = path};
    for (int i = 0; i < named->num; i++) {
        const char *text = named->values[i], *equal = strchr(text, '=');
        if (!equal || equal == text || !equal[1])
            return qgc_context_usage_error(call->context, "%s %s: expected NAME=FILE", input, text);
        out->files[out->samples.num_files++] =
            (qgc_data_file){{text, (size_t)(equal - text)}, equal + 1};
    }
    return QGC_OK;
}

static qgc_result read_whole(invocation *call, const char *option, uint64_t least,
                             const char *expected, size_t *out)
{
    const char *text = get_option(call, option);
    uint64_t value;
    if (!text)
        return QGC_OK;
    if (!parse_whole(text, &value) || value < least)
        return qgc_context_usage_error(call->context, "%s %s: expected %s", option, text, expected);
    *out = (size_t)value;
    return QGC_OK;
}

qgc_result read_size(invocation *call, const char *option, size_t *out)
{
    return read_whole(call, option, 1, "a number of at least 1", out);
}

/* "0/4" is the first of four parts. */
static qgc_result read_shard(invocation *call, qgc_samples *out)
{
    const char *text = get_option(call, "--shard");
    uint64_t shard, num;
    if (!text)
        return QGC_OK;
    const char *slash = parse_digits(text, &shard);
    if (!slash || *slash != '/' || !parse_whole(slash + 1, &num) || shard >= num)
        return qgc_context_usage_error(call->context, "--shard %s: expected I/N with I below N",
                                       text);
    out->shard = (size_t)shard;
    out->num_shards = (size_t)num;
    return QGC_OK;
}

static qgc_result read_sample_options(invocation *call, qgc_samples *out)
{
    QGC_CHECK(read_size(call, "--batch", &out->batch));
    QGC_CHECK(read_size(call, "--limit", &out->limit));
    QGC_CHECK(read_whole(call, "--first", 0, "the number of a sample", &out->first));
    return read_shard(call, out);
}

qgc_result read_data(invocation *call, data_source *out)
{
    QGC_CHECK(require_data(call));
    QGC_CHECK(read_data_files(call, "--data", "--input", out));
    return read_sample_options(call, &out->samples);
}

qgc_result read_calibration_data(invocation *call, const data_source *data, data_source *out)
{
    QGC_CHECK(read_data_files(call, "--calibration", "--calibration-input", out));
    if (!out->samples.num_files)
        out->samples = (qgc_samples){.files = data->files, .num_files = data->samples.num_files};
    return QGC_OK;
}
