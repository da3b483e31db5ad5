"""make_samples.py OUT.npy SAMPLES WIDTH: pseudo-random f32 in -4 to 4, always the same."""
import sys

import npy

path, samples, width = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
state, values = 1, []
for _ in range(samples * width):
    state = (state * 1103515245 + 12345) % 2**31
    values.append(state / 2**31 * 8 - 4)
npy.write(path, (samples, width), values)
