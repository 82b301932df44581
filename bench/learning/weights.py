"""Weights of PyG-Temporal in Zoetrope: largest difference of predictions on england-covid.

For each recurrent layer of PyG-Temporal a network as in that library's examples is drawn at
random, its state_dict saved as safetensors, and given to `zoetrope predict` as it is.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import numpy
import torch
from safetensors.torch import save_file

sparse = types.ModuleType("torch_sparse")
sparse.SparseTensor = type("SparseTensor", (), {})
sys.modules.setdefault("torch_sparse", sparse)

from torch_geometric_temporal.nn.recurrent import GCLSTM, MPNNLSTM, TGCN, EvolveGCNH, EvolveGCNO

FRAME, HIDDEN, LAGS = 16, 32, 8


class Net(torch.nn.Module):
    def __init__(self, recurrent, width):
        super().__init__()
        self.recurrent, self.linear = recurrent, torch.nn.Linear(width, 1)


def snapshots(path):
    raw = json.load(gzip.open(path))
    series = numpy.array(raw["y"])
    scaled = (series - series.mean(0)) / (series.std(0) + 1e-10)
    mapping = raw["edge_mapping"]
    return [
        (
            torch.tensor(scaled[t : t + LAGS].T, dtype=torch.float32),
            torch.tensor(mapping["edge_index"][str(t)]).T.long(),
            torch.tensor(mapping["edge_weight"][str(t)]).float(),
        )
        for t in range(raw["time_periods"] - LAGS)
    ]


def run(net, model, frame):
    """The prediction for the last snapshot of a frame."""
    if model == "mpnn-lstm":
        vertices = frame[0][0].shape[0]
        edges = torch.cat([edges + at * vertices for at, (_, edges, _) in enumerate(frame)], 1)
        hidden = net.recurrent(torch.cat([x for x, _, _ in frame]), edges, torch.cat([w for _, _, w in frame]))
    elif model == "gc-lstm":
        hidden = cell = None
        for x, edges, weight in frame:
            hidden, cell = net.recurrent(x, edges, weight, hidden, cell)
    elif model == "tgcn":
        hidden = None
        for x, edges, weight in frame:
            hidden = net.recurrent(x, edges, weight, hidden)
    else:
        net.recurrent.reinitialize_weight()
        for x, edges, weight in frame:
            hidden = net.recurrent(x, edges, weight)
    return net.linear(torch.relu(hidden)).squeeze(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zoetrope", default="target/release/zoetrope")
    parser.add_argument("--data", type=Path, default=Path("../shared/data/england-covid/england_covid.json.gz"))
    options = parser.parse_args()
    steps = snapshots(options.data)
    vertices = steps[0][0].shape[0]
    networks = {
        "tgcn": lambda: Net(TGCN(LAGS, HIDDEN), HIDDEN),
        "gc-lstm": lambda: Net(GCLSTM(LAGS, HIDDEN, 2), HIDDEN),
        "evolvegcn-o": lambda: Net(EvolveGCNO(LAGS), LAGS),
        "evolvegcn-h": lambda: Net(EvolveGCNH(vertices, LAGS), LAGS),
        "mpnn-lstm": lambda: Net(MPNNLSTM(LAGS, HIDDEN, vertices, FRAME, 0.0), 2 * HIDDEN + LAGS + FRAME - 1),
    }
    print("| model | predictions | largest difference |\n| --- | --- | --- |")
    worst = 0.0
    for model, make in networks.items():
        torch.manual_seed(3)
        net = make().eval()
        with tempfile.TemporaryDirectory() as folder:
            weights, out = f"{folder}/weights.safetensors", f"{folder}/predictions.npy"
            save_file({name: value.contiguous() for name, value in net.state_dict().items()}, weights)
            command = [options.zoetrope, "predict", "--weights", weights, "--data", str(options.data), "--model", model,
                       "--set", "data.scaling=pygt", "--frame", str(FRAME), "--hidden", str(HIDDEN), "--out", out, "--quiet"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            ours = numpy.load(out)
        with torch.no_grad():
            frames = range(len(steps) - FRAME + 1)
            theirs = numpy.stack([run(net, model, steps[at : at + FRAME]).numpy() for at in frames])
        difference = float(numpy.abs(ours - theirs).max())
        worst = max(worst, difference)
        print(f"| {model} | {' × '.join(map(str, ours.shape))} | {difference:.1e} |", flush=True)
    if worst > 1e-5:
        raise SystemExit("a difference is above 1e-5")


if __name__ == "__main__":
    main()
