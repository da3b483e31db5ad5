#!/usr/bin/env python3
"""Prints a .qir graph of N ops (default 100,000): chains of linear, relu, add and const, as a size
benchmark for parsing, verifying and printing. Usage: large_graph.py [N] > big.qir"""
import sys

num = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
print("func @main(%x: f32[N,16]) -> (f32[N,16]) {")
print("  %w = weight \"w\" : f32[16,16]")
value, count = "x", 1
while count + 4 <= num:
    i = count
    print(f"  %b{i} = const [{', '.join(str((i * k % 17) / 8 - 1) for k in range(16))}] : f32[16]")
    print(f'  %l{i} = linear %{value}, %w, %b{i} : f32[N,16] @"block.{i}.fc"')
    print(f"  %r{i} = relu %l{i} : f32[N,16]")
    print(f"  %a{i} = add %r{i}, %{value} : f32[N,16]")
    value, count = f"a{i}", count + 4
print(f"  return %{value}\n}}")
