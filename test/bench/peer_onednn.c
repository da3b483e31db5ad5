/* One layer of oneDNN at a time: reads "layer C H W O KERNEL STRIDE GROUPS" (H 0: linear of W rows)
 * and "run MACS REPEAT" from stdin and answers one line each. Started by tools/bench/peers.
 *
 * u8 * s8 -> u8, NHWC in and out, weights in whatever layout oneDNN likes, scales per channel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dnnl.h>

enum { MAX_CHANNELS = 4096 };

typedef struct layer {
    long c, h, w, o, kernel, stride, groups;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[4];
    void *data[4];
} layer;

static void must(dnnl_status_t status, const char *what)
{
    if (status == dnnl_success)
        return;
    fprintf(stderr, "oneDNN: %s: status %d\n", what, (int)status);
    exit(1);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static dnnl_memory_desc_t describe(int rank, const dnnl_dim_t *dims, dnnl_data_type_t type,
                                   dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t d;
    must(dnnl_memory_desc_init_by_tag(&d, rank, dims, type, tag), "memory descriptor");
    return d;
}

/* The primitive's own layout: what lies in it does not change the time. */
static void add_memory(layer *l, int index, int arg, const_dnnl_primitive_desc_t pd,
                       dnnl_engine_t engine)
{
    const dnnl_memory_desc_t *d = dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, arg);
    size_t bytes = dnnl_memory_desc_get_size(d);
    l->data[index] = aligned_alloc(4096, (bytes + 8191) / 4096 * 4096);
    if (!l->data[index])
        exit(1);
    memset(l->data[index], 1, bytes);
    l->args[index].arg = arg;
    must(dnnl_memory_create(&l->args[index].memory, d, engine, l->data[index]), "memory");
}

static dnnl_primitive_attr_t create_scales(long channels)
{
    static float scales[MAX_CHANNELS];
    dnnl_primitive_attr_t attr;
    for (long i = 0; i < channels; i++)
        scales[i] = 0.001f;
    must(dnnl_primitive_attr_create(&attr), "attributes");
    must(dnnl_primitive_attr_set_output_scales(attr, channels, 1 << 1, scales), "scales");
    return attr;
}

static void describe_linear(const layer *l, dnnl_inner_product_desc_t *out)
{
    dnnl_dims_t x = {l->w, l->c}, w = {l->o, l->c}, b = {l->o}, y = {l->w, l->o};
    dnnl_memory_desc_t dx = describe(2, x, dnnl_u8, dnnl_ab), dy = describe(2, y, dnnl_u8, dnnl_ab);
    dnnl_memory_desc_t dw = describe(2, w, dnnl_s8, dnnl_format_tag_any);
    dnnl_memory_desc_t db = describe(1, b, dnnl_s32, dnnl_a);
    must(dnnl_inner_product_forward_desc_init(out, dnnl_forward_inference, &dx, &dw, &db, &dy),
         "inner product");
}

static void describe_conv(const layer *l, dnnl_convolution_desc_t *out)
{
    long oh = l->h / l->stride, ow = l->w / l->stride;
    dnnl_dims_t x = {1, l->c, l->h, l->w}, b = {l->o}, y = {1, l->o, oh, ow};
    dnnl_dims_t whole = {l->o, l->c, l->kernel, l->kernel};
    dnnl_dims_t parts = {l->groups, l->o / l->groups, l->c / l->groups, l->kernel, l->kernel};
    dnnl_dims_t stride = {l->stride, l->stride}, begin = {(l->kernel - 1) / 2, (l->kernel - 1) / 2};
    dnnl_dims_t end;
    for (int i = 0; i < 2; i++)
        end[i] = (y[2 + i] - 1) * l->stride + l->kernel - x[2 + i] - begin[i];
    dnnl_memory_desc_t dx = describe(4, x, dnnl_u8, dnnl_nhwc),
                       dy = describe(4, y, dnnl_u8, dnnl_nhwc);
    dnnl_memory_desc_t dw = l->groups > 1 ? describe(5, parts, dnnl_s8, dnnl_format_tag_any)
                                          : describe(4, whole, dnnl_s8, dnnl_format_tag_any);
    dnnl_memory_desc_t db = describe(1, b, dnnl_s32, dnnl_a);
    must(dnnl_convolution_forward_desc_init(out, dnnl_forward_inference, dnnl_convolution_direct,
                                            &dx, &dw, &db, &dy, stride, begin, end),
         "convolution");
}

static void open_layer(layer *l, dnnl_engine_t engine)
{
    dnnl_primitive_attr_t attr = create_scales(l->o);
    dnnl_inner_product_desc_t linear;
    dnnl_convolution_desc_t conv;
    const void *desc = l->h ? (const void *)&conv : &linear;
    if (l->h)
        describe_conv(l, &conv);
    else
        describe_linear(l, &linear);
    dnnl_primitive_desc_t pd;
    must(dnnl_primitive_desc_create(&pd, desc, attr, engine, NULL), "primitive descriptor");
    must(dnnl_primitive_create(&l->primitive, pd), "primitive");
    static const int args[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST};
    for (int i = 0; i < 4; i++)
        add_memory(l, i, args[i], pd, engine);
    const char *name = NULL;
    must(dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name), "name");
    printf("%s\n", name);
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_attr_destroy(attr);
}

static void close_layer(layer *l)
{
    if (!l->primitive)
        return;
    for (int i = 0; i < 4; i++) {
        dnnl_memory_destroy(l->args[i].memory);
        free(l->data[i]);
    }
    dnnl_primitive_destroy(l->primitive);
    l->primitive = NULL;
}

static double run(layer *l, dnnl_stream_t stream, long repeat)
{
    double start = seconds();
    for (long i = 0; i < repeat; i++)
        must(dnnl_primitive_execute(l->primitive, stream, 4, l->args), "execute");
    must(dnnl_stream_wait(stream), "wait");
    return (seconds() - start) / (double)repeat;
}

int main(void)
{
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    layer l = {0};
    char line[256];
    long repeat;
    must(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine");
    must(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "stream");
    while (fgets(line, sizeof line, stdin)) {
        layer next = {0};
        if (sscanf(line, "layer %ld %ld %ld %ld %ld %ld %ld", &next.c, &next.h, &next.w, &next.o,
                   &next.kernel, &next.stride, &next.groups) == 7) {
            close_layer(&l);
            l = next;
            open_layer(&l, engine);
        } else if (sscanf(line, "run %ld", &repeat) == 1 && l.primitive) {
            printf("%.9g\n", run(&l, stream, repeat));
        } else {
            fprintf(stderr, "what is '%s'?\n", line);
            return 2;
        }
        fflush(stdout);
    }
    close_layer(&l);
    dnnl_stream_destroy(stream);
    dnnl_engine_destroy(engine);
    return 0;
}
