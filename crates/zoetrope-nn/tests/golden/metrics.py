"""Golden values of the measures, computed by scikit-learn; TGB's and EvolveGCN's ranks by NumPy.

Run beside the file it writes: python metrics.py > metrics.json
Scores are multiples of 1/64 or 1/8, so that f32 holds them exactly and ties occur.
"""

import json
import sys

import numpy as np
from sklearn import metrics as sk


def regression(name, draw, size, zeros):
    truth = (draw.integers(-640, 640, size) / 64).tolist()
    truth[:zeros] = [0.0] * zeros
    predicted = [y + e / 64 for y, e in zip(truth, draw.integers(-64, 64, size))]
    kept = [(y, p) for y, p in zip(truth, predicted) if abs(y) > 1e-5]
    return {
        "name": name,
        "truth": truth,
        "predicted": predicted,
        "mse": sk.mean_squared_error(truth, predicted),
        "rmse": sk.root_mean_squared_error(truth, predicted),
        "mae": sk.mean_absolute_error(truth, predicted),
        "mape": sk.mean_absolute_percentage_error(*zip(*kept)),
    }


def classification(name, truth, predicted, classes):
    values = {
        average: sk.f1_score(truth, predicted, average=average, zero_division=0.0)
        for average in ("macro", "micro", "weighted")
    }
    if classes == 2:
        values["binary"] = sk.f1_score(truth, predicted)
    return {
        "name": name,
        "classes": classes,
        "truth": truth,
        "predicted": predicted,
        "accuracy": sk.accuracy_score(truth, predicted),
        "f1": values,
    }


def scores(name, draw, size, grid, share):
    labels = (draw.random(size) < share).astype(int)
    labels[:2] = [0, 1]
    values = draw.integers(-grid, grid + 1, size) / grid + labels * (draw.integers(0, 2, size) / 2)
    return {
        "name": name,
        "labels": labels.tolist(),
        "scores": values.tolist(),
        "ap": sk.average_precision_score(labels, values),
        "auc": sk.roc_auc_score(labels, values),
    }


def ranking(name, draw, rows, columns, grid):
    positives = draw.integers(-grid, grid + 1, rows) / grid
    negatives = draw.integers(-grid, grid + 1, (rows, columns)) / grid
    higher = (negatives > positives[:, None]).sum(axis=1)
    at_least = (negatives >= positives[:, None]).sum(axis=1)
    ranks = {
        "optimistic": higher + 1,
        "pessimistic": at_least + 1,
        "average": 0.5 * (higher + at_least) + 1,
    }
    return {
        "name": name,
        "positives": positives.tolist(),
        "negatives": negatives.ravel().tolist(),
        "rules": {
            rule: {"mrr": float((1 / rank).mean()), "hits@3": float((rank <= 3).mean())}
            for rule, rank in ranks.items()
        },
    }


def rows(name, draw, sources, candidates):
    """Without ties, where the order that EvolveGCN's argsort makes is the only one."""
    labels = (draw.random((sources, candidates)) < 0.2).astype(int)
    labels[0] = 0
    values = draw.permutation(sources * candidates).reshape(sources, candidates) / 64
    means = []
    for row, known in zip(values, labels):
        order = np.argsort(row)[::-1]
        ranks = np.arange(1, candidates + 1)[known[order] == 1]
        if len(ranks) > 0:
            means.append((1 / ranks).mean())
    return {
        "name": name,
        "candidates": candidates,
        "labels": labels.ravel().tolist(),
        "scores": values.ravel().tolist(),
        "mrr": float(np.mean(means)),
    }


def main():
    draw = np.random.default_rng(20)
    some = lambda classes, size: draw.integers(0, classes, size).tolist()  # noqa: E731
    golden = {
        "made_by": "metrics.py",
        "regression": [
            regression("a few", draw, 7, 0),
            regression("with zeros", draw, 40, 5),
            regression("one", draw, 1, 0),
        ],
        "classification": [
            classification("two classes", some(2, 30), some(2, 30), 2),
            classification("never predicted", [0, 0, 1, 2, 2, 1], [0, 1, 1, 0, 0, 1], 3),
            classification("predicted but never true", [0, 0, 1, 1], [0, 2, 1, 1], 3),
            classification("absent class", [0, 3, 1, 3], [0, 3, 3, 1], 5),
            classification("many classes", some(9, 60), some(9, 60), 9),
            classification("all wrong", [1, 0], [0, 1], 2),
        ],
        "scores": [
            scores("few ties", draw, 60, 64, 0.5),
            scores("many ties", draw, 60, 4, 0.3),
            scores("rare positives", draw, 80, 16, 0.04),
            scores("two pairs", draw, 2, 8, 0.5),
            scores("two scores only", draw, 30, 1, 0.5),
        ],
        "ranking": [
            ranking("few ties", draw, 8, 12, 64),
            ranking("many ties", draw, 8, 12, 2),
            ranking("one negative", draw, 6, 1, 2),
        ],
        "rows": [rows("sources", draw, 6, 15)],
    }
    json.dump(golden, sys.stdout, separators=(",", ":"))
    sys.stdout.write("\n")


main()
