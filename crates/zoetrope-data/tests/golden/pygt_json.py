#!/usr/bin/env python3
"""Makes pygt_json.json: what PyG-Temporal's own loaders make of its data sets.

Usage: pygt_json.py DATA_FOLDER > pygt_json.json

Needs torch, torch_geometric and torch_geometric_temporal. The loaders download by address; here
each gets a local document instead, so that its own code does the rest. DATA_FOLDER holds the
folders chickenpox, pedalme, england-covid, twitter-tennis-rg17 and montevideo-bus. The layouts of
which no file is at hand (Wikipedia maths, windmill output, MTM-1) get small made-up documents,
which are stored with the values as text (the order of their keys matters to MTM-1). The data
itself is not stored: only sizes, sums and a few entries.
"""

import gzip
import importlib
import importlib.util
import json
import pathlib
import sys
import types

import numpy as np


def stub_packages():
    """Makes the loaders importable without the package's other imports."""
    root = pathlib.Path(importlib.util.find_spec("torch_geometric_temporal").origin).parent
    for package, folder in [
        ("torch_geometric_temporal", root),
        ("torch_geometric_temporal.dataset", root / "dataset"),
    ]:
        module = types.ModuleType(package)
        module.__path__ = [str(folder)]
        sys.modules[package] = module


def loader_module(name):
    return importlib.import_module(f"torch_geometric_temporal.dataset.{name}")


def loader(module, name, document, **attributes):
    kind = getattr(loader_module(module), name)
    instance = kind.__new__(kind)
    instance._dataset = document
    for key, value in attributes.items():
        setattr(instance, key, value)
    return instance


def rounded(value):
    return float(np.float32(value))


def summary(signal):
    """Sizes, sums in double precision, and a few entries of a temporal signal."""
    snapshots = [signal[i] for i in range(signal.snapshot_count)]
    features = np.stack([s.x.numpy() for s in snapshots]).astype(np.float64)
    targets = np.stack([s.y.numpy() for s in snapshots]).astype(np.float64)
    edges = [s.edge_index.numpy() for s in snapshots]
    weights = [s.edge_attr.numpy().astype(np.float64) for s in snapshots]
    probes = [(features.size * k // 7, targets.size * k // 7) for k in range(7)]
    positions = np.arange(1, features.size + 1) % 97
    return {
        "features_shape": list(features.shape),
        "targets_shape": list(targets.shape),
        "features_sum": features.sum(),
        "features_weighted_sum": (features.ravel() * positions).sum(),
        "features_squares": (features**2).sum(),
        "targets_sum": targets.sum(),
        "targets_squares": (targets**2).sum(),
        "probes": [
            [f, rounded(features.ravel()[f]), t, rounded(targets.ravel()[t])] for f, t in probes
        ],
        "edges": [int(e.shape[1]) for e in (edges[0], edges[-1])],
        "edge_key_sum": int(sum((e[0] * 31 + e[1] * 17).sum() for e in (edges[0], edges[-1]))),
        "weight_sum": [float(w.sum()) for w in (weights[0], weights[-1])],
    }


def wiki_document():
    rng = np.random.default_rng(1)
    document = {
        "edges": [[0, 1], [1, 2], [2, 0], [3, 1]],
        "weights": [1, 2, 3, 4],
        "node_ids": {"Algebra": 0, "Group": 1, "Ring": 2, "Field": 3},
        "time_periods": 12,
    }
    for step in range(12):
        visits = rng.integers(0, 500, 4).tolist()
        document[str(step)] = {"index": step, "year": 2019, "month": 3, "day": step, "y": visits}
    return document


def windmill_document():
    rng = np.random.default_rng(2)
    block = np.round(rng.normal(3, 2, (14, 3)), 6)
    block[:, 2] = 5.0
    return {
        "edges": [[0, 1], [1, 0], [2, 2]],
        "weights": [0.5, 0.25, 1.0],
        "block": block.tolist(),
    }


def hand_document():
    rng = np.random.default_rng(3)
    frames = 20
    document = {"edges": [[0, 1], [1, 2], [0, 20]]}
    for joint in range(21):
        points = np.round(rng.random((frames, 3)), 4).tolist()
        document[str(joint)] = {str(t): f"({p[0]}, {p[1]}, {p[2]})" for t, p in enumerate(points)}
    document["LABEL"] = {str(t): int(rng.integers(0, 6)) for t in range(frames)}
    document["LABEL"]["0"] = 5
    return document


def hand_summary(document):
    made = loader("mtm", "MTMDatasetLoader", document).get_dataset(frames=16)
    # (coordinates, joints, frames) of each sample; frame 0 of sample i is frame i of the film.
    x = np.stack([np.asarray(sample) for sample in made.features])
    y = np.stack([np.asarray(sample) for sample in made.targets])
    return {
        "samples": len(made.features),
        "first_frames": np.float32(x[:, :, :, 0].transpose(0, 2, 1)).ravel().astype(float).tolist(),
        "first_classes": y[:, 0, :].argmax(1).tolist(),
        "classes": int(y.shape[2]),
    }


def main():
    folder = pathlib.Path(sys.argv[1])
    stub_packages()

    def local(name):
        path = folder / name
        return json.load(gzip.open(path) if path.suffix == ".gz" else open(path))

    chickenpox = local("chickenpox/chickenpox.json")
    pedalme = local("pedalme/pedalme_london.json")
    covid = local("england-covid/england_covid.json.gz")
    tennis = local("twitter-tennis-rg17/twitter_tennis_rg17.json.gz")
    bus = local("montevideo-bus/montevideo_bus.json.gz")
    wiki, windmill, hand = wiki_document(), windmill_document(), hand_document()
    mode = {"N": None, "feature_mode": "encoded", "target_offset": 1}
    named = [
        ("chickenpox/chickenpox.json", "chickenpox", "ChickenpoxDatasetLoader", chickenpox, {}),
        ("pedalme/pedalme_london.json", "pedalme", "PedalMeDatasetLoader", pedalme, {}),
        ("england-covid/england_covid.json.gz", "encovid", "EnglandCovidDatasetLoader", covid, {}),
        ("twitter-tennis-rg17/twitter_tennis_rg17.json.gz", "twitter_tennis",
         "TwitterTennisDatasetLoader", tennis, mode),
        ("montevideo-bus/montevideo_bus.json.gz", "montevideo_bus",
         "MontevideoBusDatasetLoader", bus, {}),
    ]
    cases = []
    for path, module, name, document, attributes in named:
        made = loader(module, name, document, **attributes)
        cases.append({"path": path, "lags": None, **summary(made.get_dataset())})
        if module != "twitter_tennis":
            cases.append({"path": path, "lags": 3, **summary(made.get_dataset(lags=3))})
    made_up = [
        ("wiki", "wikimath", "WikiMathsDatasetLoader", wiki),
        ("windmill", "windmillsmall", "WindmillOutputSmallDatasetLoader", windmill),
    ]
    for label, module, name, document in made_up:
        values = summary(loader(module, name, document).get_dataset())
        cases.append({"made_up": label, "document": json.dumps(document), "lags": None, **values})
    lines = ",\n".join(json.dumps(case) for case in cases)
    hand_line = json.dumps({"document": json.dumps(hand), **hand_summary(hand)})
    print(f'{{"cases": [\n{lines}\n],\n"hand": {hand_line}}}')


main()
