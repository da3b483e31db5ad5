"""Writes the inputs of infinite.qir: PREFIX.npz, PREFIX.x.npy and so on."""
import sys

import numpy as np

inputs = {
    "x": np.array([[1, 2, 3, 4]], np.float32),
    "c": np.array([[True, False, True, True]]),
    "h": np.zeros((1, 3), np.float32),
}
np.savez(f"{sys.argv[1]}.npz", **inputs)
for name, values in inputs.items():
    np.save(f"{sys.argv[1]}.{name}.npy", values)
