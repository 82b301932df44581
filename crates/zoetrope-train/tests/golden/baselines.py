"""Golden values of baselines on real data sets, from PyG-Temporal's loaders and scikit-learn.

Run beside the file it writes: python baselines.py FOLDER_OF_DATA_SETS > baselines.json
The loaders are given files instead of downloads; their own methods make features and targets.
"""

import gzip
import json
import sys
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import average_precision_score, roc_auc_score

# The package imports its layers on the way to the loaders; loaders need none of this.
sys.modules.setdefault("torch_sparse", MagicMock())

from torch_geometric_temporal.dataset.chickenpox import ChickenpoxDatasetLoader  # noqa: E402
from torch_geometric_temporal.dataset.encovid import EnglandCovidDatasetLoader  # noqa: E402
from torch_geometric_temporal.dataset.twitter_tennis import (  # noqa: E402
    TwitterTennisDatasetLoader,
)


def read(path):
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened as file:
        return json.load(file)


def loaded(kind, path, **settings):
    loader = kind.__new__(kind)
    loader._dataset = read(path)
    for name, value in settings.items():
        setattr(loader, name, value)
    for method in ("_get_targets_and_features", "_get_features", "_get_targets"):
        if hasattr(loader, method):
            getattr(loader, method)()
    return np.array(loader.features), np.array(loader.targets)


def values(path, features, targets, last_lag):
    """Errors on the last fifth of the steps, as temporal_signal_split(0.8) has it."""
    first = int(0.8 * len(targets))
    truth = targets[first:]
    mean = targets[:first].mean(axis=0)
    persistence = features[first:, :, -1] if last_lag else targets[first - 1 : -1]
    errors = lambda predicted: {  # noqa: E731
        "mse": float(((truth - predicted) ** 2).mean()),
        "mae": float(np.abs(truth - predicted).mean()),
    }
    return {
        "path": path,
        "last_lag": last_lag,
        "persistence": errors(persistence),
        "historical_mean": errors(mean[None, :]),
    }


def mean(measure, labels, steps, different):
    pairs = zip(labels, steps)
    return float(np.mean([measure(y[different], s[different].astype(float)) for y, s in pairs]))


def row_mrr(label, scores, different):
    """As EvolveGCN's get_MRR, with equal scores sharing their mean rank."""
    rows = []
    for src in np.nonzero(label.any(axis=1))[0]:
        ranks = rankdata(-scores[src][different[src]].astype(float))
        rows.append((1 / ranks[label[src][different[src]]]).mean())
    return np.mean(rows)


def links(path, width, tested):
    """EdgeBank and popularity against all pairs of different vertices, on the last snapshots."""
    with gzip.open(path, "rt") as file:
        rows = np.array([[int(part) for part in line.split()] for line in file])
    _, numbers = np.unique(rows[:, :2], return_inverse=True)
    numbers = numbers.reshape(-1, 2)
    size = numbers.max() + 1
    step = (rows[:, 2] - rows[:, 2].min()) // width
    snapshots = [np.zeros((size, size), bool) for _ in range(step.max() + 1)]
    for (src, dst), at in zip(numbers, step):
        snapshots[at][src, dst] = True
    different = ~np.eye(size, dtype=bool)
    queries = range(len(snapshots) - 1 - tested, len(snapshots) - 1)
    known = {name: [] for name in ("edgebank", "edgebank_window", "popularity")}
    labels = []
    for query in queries:
        seen = np.sum(snapshots[: query + 1], axis=0)
        recent = np.any(snapshots[query + 1 - tested : query + 1], axis=0)
        known["edgebank"].append(seen > 0)
        known["edgebank_window"].append(recent)
        known["popularity"].append(np.broadcast_to(seen.sum(axis=0), (size, size)))
        labels.append(snapshots[query + 1] & different)
    flat = lambda steps: np.concatenate([step[different] for step in steps])  # noqa: E731
    measured, measured_by_step = {}, {}
    for name, steps in known.items():
        ranks = []
        for scores, label in zip(steps, labels):
            for src in range(size):
                others = scores[src][different[src] & ~label[src]].astype(float)
                for dst in np.nonzero(label[src])[0]:
                    # The rank of the link among itself and the negatives, ties averaged.
                    ranks.append(rankdata(-np.append(others, scores[src, dst]))[-1])
        ranks = np.array(ranks)
        measured_by_step[name] = {
            "map": mean(average_precision_score, labels, steps, different),
            "auc": mean(roc_auc_score, labels, steps, different),
            "row_mrr": float(np.mean([row_mrr(*pair, different) for pair in zip(labels, steps)])),
        }
        measured[name] = {
            "ap": average_precision_score(flat(labels), flat(steps).astype(float)),
            "auc": roc_auc_score(flat(labels), flat(steps).astype(float)),
            "mrr": float((1 / ranks).mean()),
            "hits@10": float((ranks <= 10).mean()),
        }
    return {
        "snapshots": len(snapshots),
        "width": width,
        "tested": tested,
        "pairs": len(flat(labels)),
        "links": int(flat(labels).sum()),
        "measured": measured,
        "measured_by_step": measured_by_step,
    }


def main():
    folder = Path(sys.argv[1])
    covid = "england-covid/england_covid.json.gz"
    pox = "chickenpox/chickenpox.json"
    tennis = "twitter-tennis-rg17/twitter_tennis_rg17.json.gz"
    messages = "uci-messages/CollegeMsg.txt.gz"
    encoded = {"N": None, "target_offset": 1, "feature_mode": "encoded"}
    golden = {
        "made_by": "baselines.py",
        "values": [
            values(covid, *loaded(EnglandCovidDatasetLoader, folder / covid, lags=8), True),
            values(pox, *loaded(ChickenpoxDatasetLoader, folder / pox, lags=4), True),
            values(tennis, *loaded(TwitterTennisDatasetLoader, folder / tennis, **encoded), False),
        ],
        "links": {"path": messages, **links(folder / messages, 604_800, 3)},
    }
    json.dump(golden, sys.stdout, indent=1)
    sys.stdout.write("\n")


main()
