"""Golden values for chronological splits: numpy.quantile as PyG, TGN and DyGLib call it.

Run: python split.py [wikipedia.csv.gz] > split.json
"""
import json
import sys

import numpy as np


def split(times, fractions):
    boundaries = np.quantile(times, fractions)
    left, right = boundaries
    return {
        "boundaries": [float(value) for value in boundaries],
        "train": int((times <= left).sum()),
        "validation": int(((times > left) & (times <= right)).sum()),
        "test": int((times > right).sum()),
    }


rng = np.random.default_rng(2020)
cases = []
for count in [1, 2, 3, 7, 10, 20, 21, 41, 100, 101, 1000, 1001]:
    for high in [3, 50, 10**6, 1_700_000_000]:
        for fractions in [(0.70, 0.85), (0.5, 0.75), (0.0, 1.0), (0.8, 0.8), (0.1, 0.9)]:
            times = np.sort(rng.integers(-high // 3, high, count))
            # Committed as gaps: short numbers, and any reader must sum them to get the times.
            cases.append({
                "first": int(times[0]),
                "gaps": np.diff(times).tolist() if count <= 41 else None,
                "every": int(high // count) if count > 41 else None,
                "count": count,
                "fractions": list(fractions),
            })
            if count > 41:
                # Large cases are a formula: t[i] = first + every * i + (i * i) % 7.
                index = np.arange(count)
                times = np.sort(cases[-1]["first"] + cases[-1]["every"] * index + index * index % 7)
            cases[-1].update(split(times, fractions))

result = {"cases": cases}
if len(sys.argv) > 1:
    import pandas

    times = pandas.read_csv(sys.argv[1]).ts.to_numpy().astype(np.int64)
    result["wikipedia"] = {"events": len(times), **split(times, (0.70, 0.85))}
json.dump(result, sys.stdout, separators=(",", ":"))
print()
