"""Golden values of the baselines on events, from plain numpy and scikit-learn.

Run beside the file it writes: python stream_baselines.py FOLDER_OF_DATA_SETS > stream_baselines.json
Negatives are destinations of earlier events, chosen by a formula that both sides know, so that no
numbering of vertices and no random numbers are shared.
"""

import gzip
import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    f1_score,
    mean_absolute_error,
    mean_squared_error,
    roc_auc_score,
)

JUDGED, BATCH, MANY, PLACES = 2000, 200, 20, (1, 3, 10)


def negative(event, place, first):
    """The event whose destination is the negative."""
    return (event * 7919 + place * 104729 + 13) % first


def links(src, dst, time, first):
    window = time[-1] - time[first]
    trained = int(0.7 * len(src))
    seen = set(src[:trained]) | set(dst[:trained])

    def scores(event, u, v, now):
        before = np.nonzero(time < time[event])[0]
        pairs = before[(src[before] == u) & (dst[before] == v)]
        into = before[dst[before] == v]
        of_source = before[src[before] == u]
        return (
            float(len(pairs) > 0),
            float((time[pairs] >= now - window).any()),
            float(len(into)),
            float((time[into] >= now - window).sum()),
            float(len(of_source) > 0 and dst[of_source[-1]] == v),
        )

    names = ("edgebank", "edgebank_window", "popularity", "popularity_window", "last_destination")
    positives, few, many, inductive = [], [], [], []
    for event in range(first, len(src)):
        u, v, now = src[event], dst[event], time[event]
        positives.append(scores(event, u, v, now))
        few.append(scores(event, u, dst[negative(event, 0, first)], now))
        rows = [dst[negative(event, 1 + place, first)] for place in range(MANY)]
        many.append([scores(event, u, w, now) for w in rows])
        inductive.append(u not in seen or v not in seen)
    positives, few, many = np.array(positives), np.array(few), np.array(many)
    inductive = np.array(inductive)
    measured = {}
    for place, name in enumerate(names):
        p, n, m = positives[:, place], few[:, place], many[:, :, place]

        def binary(measure, rows):
            labels = np.r_[np.ones(rows.sum()), np.zeros(rows.sum())]
            return measure(labels, np.r_[p[rows], n[rows]])

        all_rows = np.ones(len(p), bool)
        batches = [(np.arange(len(p)) // BATCH) == batch for batch in range(len(p) // BATCH)]
        higher, equal = (m > p[:, None]).sum(1), (m == p[:, None]).sum(1)
        ranks = ((higher + 1) + (higher + equal + 1)) / 2
        of = {"ap": average_precision_score, "auc": roc_auc_score}
        found = {}
        for measure, function in of.items():
            found[measure] = binary(function, all_rows)
            found[f"inductive_{measure}"] = binary(function, inductive)
            found[f"transductive_{measure}"] = binary(function, ~inductive)
            found[f"{measure}_batch_mean"] = np.mean([binary(function, rows) for rows in batches])
        for kind, rows in (("", all_rows), ("inductive_", inductive), ("transductive_", ~inductive)):
            found[f"{kind}mrr"] = (1 / ranks[rows]).mean()
            for k in PLACES:
                found[f"{kind}hits@{k}"] = (ranks[rows] <= k).mean()
        measured[name] = {key: float(value) for key, value in found.items()}
    return {"inductive_events": int(inductive.sum()), "measured": measured}


def labels_and_values(src, dst):
    """Every third event of a source is of class 1; a value grows with the events of its pair."""
    of_source, of_pair = defaultdict(int), defaultdict(int)
    classes, values = [], []
    for event, (u, v) in enumerate(zip(src, dst)):
        classes.append(float(of_source[u] % 3 == 0))
        values.append(event * 37 % 101 / 8 + of_pair[u, v])
        of_source[u] += 1
        of_pair[u, v] += 1
    return np.array(classes), np.array(values, np.float32)


def last_known(keys, truth, time, first, otherwise):
    found = []
    for event in range(first, len(truth)):
        before = [e for e in np.nonzero(time < time[event])[0] if keys[e] == keys[event]]
        found.append(truth[before[-1]] if before else otherwise)
    return np.array(found)


def labelled(src, dst, time, first):
    classes, values = labels_and_values(src, dst)
    trained = int(0.7 * len(src))
    truth = classes[first:]
    majority = float(np.bincount(classes[:trained].astype(int)).argmax())
    mean = np.float32(values[:trained].astype(float).mean())
    last = last_known(src, classes, time, first, majority)
    pairs = src.astype(np.int64) << 32 | dst
    last_value = last_known(pairs, values, time, first, mean)
    of_classes = lambda predicted: {  # noqa: E731
        "accuracy": accuracy_score(truth, predicted),
        "auc": roc_auc_score(truth, predicted),
        "ap": average_precision_score(truth, predicted),
    }
    of_values = lambda predicted: {  # noqa: E731
        "mse": mean_squared_error(values[first:].astype(float), predicted.astype(float)),
        "mae": mean_absolute_error(values[first:].astype(float), predicted.astype(float)),
        "rmse": mean_squared_error(values[first:].astype(float), predicted.astype(float)) ** 0.5,
    }
    return {
        "classes": {
            "majority_class": of_classes(np.full(len(truth), majority)),
            "last_label": {**of_classes(last), "f1": f1_score(truth, last)},
        },
        "values": {
            "historical_mean": of_values(np.full(len(truth), mean)),
            "last_value": of_values(last_value),
        },
    }


def main():
    path = "uci-messages/CollegeMsg.txt.gz"
    with gzip.open(Path(sys.argv[1]) / path, "rt") as file:
        rows = np.array([[int(part) for part in line.split()] for line in file])
    rows = rows[np.argsort(rows[:, 2], kind="stable")]
    src, dst, time = rows[:, 0], rows[:, 1], rows[:, 2]
    first = len(src) - JUDGED
    golden = {
        "made_by": "stream_baselines.py",
        "path": path,
        "events": len(src),
        "judged": JUDGED,
        "batch": BATCH,
        "many": MANY,
        "links": links(src, dst, time, first),
        **labelled(src, dst, time, first),
    }
    json.dump(golden, sys.stdout, indent=1)
    sys.stdout.write("\n")


main()
