#!/usr/bin/env python3
"""Planted bugs: copies of planner and emitter sources in which an expression is replaced where a switch says
so. The sources know nothing of it.

usage: mutations.py SOURCE_ROOT OUTPUT_FOLDER     writes the copies and mutations.c
       mutations.py --files                       the files that have mutations, for CMake

A row is a name, what is wrong, a file, a piece of it that occurs once with the expression between « and »,
and what stands there instead. A piece that is no longer there is an error: bring the row up to date."""
import pathlib
import re
import sys

MUTATIONS = [
    ("tail_store", "the odd last channel is not stored", "codegen/llvm/emit_vector.c",
     "if («!(num & part)»)\n            continue;\n        qgc_emit_store", "!(num & part) || part == 1"),
    ("half_away", "ties are rounded away from zero", "codegen/llvm/emit_vector.c",
     "f = emit_clamp(e, c->epilogue, c->lanes, f);\n    return qgc_emit_convert(e, c->lanes, «f»);",
     'qgc_emit_intrinsic(e, "llvm.round", (LLVMTypeRef[]){LLVMTypeOf(f)}, 1, &f, 1)'),
    ("saturating_dot", "the dot product of bytes saturates pairs to 16 bits, as pmaddubsw does", "codegen/llvm/emit_vector.c",
     "return «qgc_emit_intrinsic(e, dot, NULL, 0, args, 3)»;",
     'LLVMBuildAdd(e->builder, acc, qgc_emit_intrinsic(e, lanes == 8 ? "llvm.x86.avx2.pmadd.wd" : "llvm.x86.avx512.pmaddw.d.512", NULL, 0, (LLVMValueRef[]){'
     'qgc_emit_intrinsic(e, lanes == 8 ? "llvm.x86.avx2.pmadd.ub.sw" : "llvm.x86.avx512.pmaddubs.w.512", NULL, 0, (LLVMValueRef[]){'
     'LLVMBuildBitCast(e->builder, a, LLVMVectorType(e->i8, 4 * lanes), ""), LLVMBuildBitCast(e->builder, w, LLVMVectorType(e->i8, 4 * lanes), "")}, 2), '
     'qgc_emit_splat(e, LLVMConstInt(e->i16, 1, false), 2 * lanes)}, 2), "")'),
    ("sign_extended_activation", "where products are widened, u8 is taken for s8", "codegen/llvm/emit_vector.c",
     "odd_args[] = {«LLVMBuildLShr(b, a16, eight, \"\")»,", "LLVMBuildAShr(b, a16, eight, \"\")"),
    ("pair_bound", "pairs of weights may pass 32767 by one activation", "codegen/plan_conv_pairs.c",
     "return most * above <= «INT16_MAX» &&", "INT16_MAX + 255"),
    ("pair_below", "pairs of negative weights may pass -32768 by one activation", "codegen/plan_conv_pairs.c",
     "most * below >= «INT16_MIN»;", "INT16_MIN - 255"),
    ("pair_sign", "of pairs of weights only the sum is looked at", "codegen/plan_conv_pairs.c",
     "int32_t below = «(w0 < 0 ? w0 : 0) + (w1 < 0 ? w1 : 0)»;", "0 * w0"),
    ("pair_border", "the zero point in the border may be larger than the activation's bound", "codegen/plan_conv_pairs.c",
     "return (int32_t)(«hi > zero_point ? hi : zero_point»);", "hi"),
    ("pair_split", "a pair of weights that is split keeps both", "codegen/plan_conv_pairs.c",
     "to[lane] = packed[lane] & «~moved»;", "~0U"),
    ("word_offset", "steps of i16 read where their bytes are", "codegen/plan_conv_pairs.c",
     "words->offsets[words->num++] = «is_wide ? 2 * offset : offset»;", "offset"),
    ("widened_rest", "the last bytes are not widened", "codegen/llvm/emit_widen.c",
     "if («k->bytes > whole»)", "false"),
    ("lost_clip", "the lower bound of a fused clip is forgotten", "codegen/llvm/emit_vector.c",
     "if («p->lo > 0»)\n        bytes", "false"),
    ("unclamped_overflow", "sums beyond the range of i32 are not clamped before they are converted", "codegen/product.c",
     ".is_small = «max_sum < 0x1p29»,", "max_sum < 0x1p100"),
    ("shift_unproved", "the accumulator is read as 2^23 + acc although it may pass 2^23", "codegen/conv.c",
     "lists->is_positive && «lists->max_acc < 0x1p23»;", "lists->max_acc < 0x1p31"),
    ("zero_point_of_lane", "the zero point is folded with the weights of the block's first channel", "codegen/conv.c",
     "(uint32_t)sums[«i»].sum;", "i - i % 4"),
    ("border_class_fold", "what kernel rows in the border would add is missing", "codegen/plan_conv.c",
     "uint32_t more = «(uint32_t)lists->dot_zero_point * (uint32_t)sums->left_out[part][i]»;", "0u * i"),
    ("border_column_fold", "what kernel columns in the border would add is missing", "codegen/plan_conv.c",
     "f->run >= part->end_run || «f->step < part->first_step» ||", "false"),
    ("unpadded_k", "the last K mod 4 products are left out", "codegen/plan_conv.c",
     "return «(run_bytes + 3) / 4»;", "run_bytes < 4 ? 1 : run_bytes / 4"),
    ("lost_tap_row", "an image's last row counts as border", "codegen/plan_conv.c",
     "int64_t inside = first < size ? («size» - first", "size - (size > 1)"),
    ("group_offset", "a group's input begins where its output would", "codegen/llvm/emit_conv.c",
     "in_bytes = qgc_emit_mul_const(e, loop.index, «k->group_bytes»);", "k->out_c < k->group_bytes ? k->out_c : k->group_bytes - 1"),
    ("tile_off_by_one", "the last tile of a part is left out", "codegen/llvm/emit_conv.c",
     "emit_tile_range(c, b, l.small, unit + l.num_large, «l.num_small»,", "l.num_small - (l.num_small > 1)"),
    ("row_tiles", "in rows, the smaller tiles begin where they would without the larger ones", "codegen/llvm/emit_conv.c",
     "emit_row_tiles(&at, &inner, l.num_large * («l.small + 1»),", "l.small"),
    ("aliased_buffers", "a result may lie where the step's own inputs end", "codegen/plan_memory.c",
     "return a->first_step <= b->last_step && «b->first_step <= a->last_step»;", "b->first_step < a->last_step"),
    ("border_row", "the row below the images is not filled", "codegen/form.c",
     "y == b->h - 1 ? right + row * «b->border.bottom»", "(b->border.bottom ? b->border.bottom - 1 : 0)"),
    ("unsigned_weights", "u8 weights of depthwise are taken for s8", "codegen/plan_depthwise.c",
     "[index] - «d->m->weight_shift»);", "0"),
    ("dilated_weights", "a dilated depthwise window takes a pixel between its taps", "codegen/plan_depthwise.c",
     "tap >= d->k->width || «tap % d->k->dilation»)", "(tap % d->k->dilation) > 1"),
    ("addend_sign", "a signed addend is read as if it were unsigned", "codegen/product.c",
     "m->addend_zero_point = (int32_t)zero_point + «qgc_unsigned_shift(dtype)»;", "0"),
    ("multiplier_order", "multipliers of wide blocks stand in another order than the sums", "codegen/product.c",
     "int64_t channel = first + «qgc_block_channel(vectors, lanes, v, l)»;\n            out[v", "(int64_t)v * lanes + l"),
    ("pool_count", "the zero point counts for a whole window where the border cuts it off", "codegen/llvm/emit_pool.c",
     "LLVMValueRef columns = LLVMBuildSub(b, w->end[1], «w->first[1]», \"\");", "qgc_emit_i64(e, 0)"),
    ("matmul_row_sums", "the zero point of a computed w is taken times the first row's sum", "codegen/llvm/emit_matmul.c",
     "qgc_emit_at_const(e, row_sums, (int64_t)«r» * 4)", "0 * r"),
    ("matmul_last_tile", "the last tile of rows does not reach back", "codegen/llvm/emit_matmul.c",
     "k->rows - «k->tile_rows»);\n    emit_start", "k->tile_rows + (k->rows % k->tile_rows > 0)"),
    ("map_tail", "an elementwise row's last element is left out", "codegen/llvm/emit_map.c",
     "emit_rest(m, &r, whole, «size - whole»);\n    qgc_loop_end(e, &rows);", "(size - whole) & ~INT64_C(1)"),
    ("taps_zero_point", "sums of 16 bits forget the zero point of x", "codegen/llvm/emit_taps.c",
     "widen(t, x, t->k->x, e->i32), «t->x_zero_point», \"\");", "t->k->is_wide ? LLVMConstNull(e->i32) : t->x_zero_point"),
    ("unfused", "products of a float chain are rounded before they are added", "codegen/llvm/emit_chain.c",
     "return «qgc_emit_intrinsic(c->e, \"llvm.fma\", &c->e->vf32, 1, args, 3)»;",
     'LLVMBuildFAdd(c->e->builder, LLVMBuildFMul(c->e->builder, args[0], args[1], ""), args[2], "")'),
    ("plane_step", "a kernel's plane is taken for its row", "codegen/llvm/emit_chain.c",
     "emit_taps(c, t, &all, c->plane_taps, «k->tap_plane»,", "k->tap_row"),
    ("absent_tap", "a tap that is not there is a product with 0", "codegen/llvm/emit_resize.c",
     "if («g->masks[t]»)", "NULL"),
    ("copy_start", "what a resize copies is added to +0", "codegen/plan_resize.c",
     "= «all->num == 1» ? -0.0F", "false"),
    ("thread_seam", "a thread's part ends one unit early", "codegen/region.c",
     "end = «step->bounds[part + 1]»;", "step->bounds[part + 1] - (part + 1 < step->parts)"),
]


def flexible(piece):
    """A pattern for |piece| that does not mind how clang-format has broken its lines."""
    words = re.split(r"\s+", piece)
    return r"\s+".join(re.escape(word) for word in words)


def mutate(text, row, number):
    name, _, path, piece, wrong = row
    before, rest = piece.split("«")
    right, after = rest.split("»")
    found = list(re.finditer(f"({flexible(before)}\\s*)({flexible(right)})(\\s*{flexible(after)})", text))
    if len(found) != 1:
        sys.exit(f"mutations.py: {name}: its piece of {path} occurs {len(found)} times, not once")
    match = found[0]
    return text[: match.start()] + f"{match[1]}(qgc_mutation == {number} ? ({wrong}) : ({match[2]})){match[3]}" + text[match.end() :]


def files():
    return sorted({row[2] for row in MUTATIONS})


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main():
    if sys.argv[1] == "--files":
        print(";".join(files()))
        return
    root, output = map(pathlib.Path, sys.argv[1:])
    texts = {path: (root / path).read_text() for path in files()}
    for number, row in enumerate(MUTATIONS, 1):
        texts[row[2]] = mutate(texts[row[2]], row, number)
    for path, text in texts.items():
        write(output / path, f'extern int qgc_mutation;\n#line 1 "{root / path}"\n{text}')
    strings = lambda column: "".join(f'    "{row[column]}",\n' for row in MUTATIONS)
    write(output / "mutations.c", '#include "test/differential/differential.h"\n\n#include <stddef.h>\n\nint qgc_mutation;\n'
          f"const char *const qgc_mutation_names[] = {{\n{strings(0)}    NULL}};\nconst char *const qgc_mutation_texts[] = {{\n{strings(1)}    NULL}};\n")


if __name__ == "__main__":
    main()
