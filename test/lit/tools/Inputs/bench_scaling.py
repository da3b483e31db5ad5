"""Asks tools/bench/scaling.py to measure engines whose times are known, and prints what it asked them."""
import sys

sys.path.insert(0, sys.argv[1])
import scaling

asked = []


class Engine:
    def __init__(self, name, seconds):
        self.name, self.seconds = name, seconds

    def wall(self, repeat):
        asked.append(f"{self.name} x{repeat}")
        return self.seconds


class Peak:
    def rate(self, threads):
        asked.append(f"peak {threads}")
        return float(threads)


samples = scaling.measure({"slow": Engine("slow", 4e-3), "fast": Engine("fast", 1e-3)}, Peak(), 3, 2, sleep=lambda _: asked.append("pause"))
assert asked[:4] == ["slow x1", "slow x1", "fast x1", "fast x1"], asked
print(", ".join(asked[4:]))
print(samples)
