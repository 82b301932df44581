"""Golden values of lagged, standardised values, computed as PyG-Temporal's loaders do.

Run beside the file it writes: python lag.py > lag.json
The loader class is given a small data set instead of a download; its own methods do the rest.
"""

import json
import sys
from unittest.mock import MagicMock

import numpy as np

# The package imports its layers on the way to the loaders; loaders need none of this.
sys.modules.setdefault("torch_sparse", MagicMock())

from torch_geometric_temporal.dataset.encovid import EnglandCovidDatasetLoader  # noqa: E402


def case(name, values, lags):
    loader = EnglandCovidDatasetLoader.__new__(EnglandCovidDatasetLoader)
    steps = len(values)
    loader._dataset = {"time_periods": steps, "y": values}
    loader.lags = lags
    loader._get_targets_and_features()
    return {
        "name": name,
        "lags": lags,
        "values": values,
        "features": [np.asarray(matrix).tolist() for matrix in loader.features],
        "targets": [np.asarray(row).tolist() for row in loader.targets],
    }


def main():
    draw = np.random.default_rng(7)
    cases = [
        case("small counts", draw.integers(0, 50, (9, 3)).tolist(), 4),
        case("a constant vertex", [[5, t * t] for t in range(6)], 2),
        case("one lag", draw.normal(100, 3, (5, 2)).round(3).tolist(), 1),
        case("lags of all but one step", draw.normal(0, 1, (4, 2)).round(3).tolist(), 3),
    ]
    json.dump({"made_by": "lag.py", "cases": cases}, sys.stdout, indent=1)
    sys.stdout.write("\n")


main()
