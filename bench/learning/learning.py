"""What each model learns, against simple rules and against PyG-Temporal's own training.

Trains every model with `zoetrope train` on five node-regression data sets and prints test MSE on
the last 20 % of the snapshots beside the historical mean and persistence. On england-covid and
chickenpox it also trains PyG-Temporal's TGCN on the first 80 %, in two ways: as that library's
examples do (200 epochs of one update each, no hidden state between snapshots), and over frames of
8 snapshots for 15 epochs; Zoetrope trains both ways too, from the same initial weights. Then link prediction and node classification, on the drifting block model and on real
streams. Everything goes to bench/results/learning.json and, as tables, to standard output.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import types
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from machine import machine  # noqa: E402

MODELS = ["tgcn", "a3tgcn", "gc-lstm", "evolvegcn-o", "evolvegcn-h", "mpnn-lstm", "cd-gcn", "wd-gcn", "tm-gcn", "dysat"]
REGRESSION = {
    "england-covid": ("england-covid/england_covid.json.gz", ["--frame", "8"]),
    "chickenpox": ("chickenpox/chickenpox.json", ["--frame", "8"]),
    "twitter-tennis": ("twitter-tennis-rg17/twitter_tennis_rg17.json.gz", ["--frame", "8"]),
    "montevideo-bus": ("montevideo-bus/montevideo_bus.json.gz", ["--frame", "8", "--stride", "2"]),
    "metr-la-week": ("metr-la-week", ["--frame", "8", "--stride", "8"]),
}


def zoetrope(program, arguments):
    """Runs `zoetrope train` in a fresh folder and returns its summary."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "--json", "--out", f"{folder}/run", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        document = json.loads(done.stdout) if done.stdout else {"error": {"message": done.stderr}}
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\n{document['error']['message']}")
        return document


def pygt_network(features, seed):
    """PyG-Temporal's T-GCN as in its examples, drawn from a seed."""
    sparse = types.ModuleType("torch_sparse")
    sparse.SparseTensor = type("SparseTensor", (), {})
    sys.modules.setdefault("torch_sparse", sparse)
    import torch
    from torch_geometric_temporal.nn.recurrent import TGCN

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.recurrent = TGCN(features, 32)
            self.linear = torch.nn.Linear(32, 1)

        def forward(self, x, edges, weight, hidden):
            hidden = self.recurrent(x, edges, weight, hidden)
            return self.linear(torch.relu(hidden)).squeeze(1), hidden

    torch.manual_seed(seed)
    return Net()


def pygt_tgcn(name, epochs, frame, seed, weights):
    """Test MSE of PyG-Temporal's T-GCN trained as its examples do (frame None) or over frames.

    The weights it starts from are saved for the other side.
    """
    import torch
    from safetensors.torch import save_file

    # Graphs this small gain nothing from a second thread, and lose much if cores are shared.
    torch.set_num_threads(1)
    snapshots = read_pygt(name)
    train = int(0.8 * len(snapshots))
    net = pygt_network(snapshots[0][0].shape[1], seed)
    save_file({key: value.contiguous() for key, value in net.state_dict().items()}, weights)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01 if frame is None else 0.001)

    def run(steps, last_only):
        hidden, losses = None, []
        for at, step in enumerate(steps):
            x, edges, weight, y = snapshots[step]
            predicted, hidden = net(x, edges, weight, hidden)
            if not last_only or at + 1 == len(steps):
                losses.append(torch.mean((predicted - y) ** 2))
            if frame is None:
                hidden = None
        return torch.stack(losses).mean()

    for _ in range(epochs):
        starts = [range(train)] if frame is None else [range(s, s + frame) for s in range(train - frame + 1)]
        for steps in starts:
            optimiser.zero_grad()
            run(steps, last_only=False).backward()
            optimiser.step()
    net.eval()
    with torch.no_grad():
        if frame is None:
            return float(torch.stack([run([step], True) for step in range(train, len(snapshots))]).mean())
        tests = range(train, len(snapshots))
        return float(torch.stack([run(range(t - frame + 1, t + 1), True) for t in tests]).mean())


def read_pygt(name):
    """Snapshots as PyG-Temporal's loaders make them, from the local copies of its files."""
    import gzip
    import numpy
    import torch

    path = DATA / REGRESSION[name][0]
    opened = gzip.open(path) if path.suffix == ".gz" else open(path, "rb")
    with opened as file:
        raw = json.load(file)
    if name == "chickenpox":
        series, lags = numpy.array(raw["FX"]), 4
        edges = [torch.tensor(raw["edges"]).T] * len(series)
        weights = [torch.ones(len(raw["edges"]))] * len(series)
        scaled = series
    else:
        lags = 8
        periods = raw["time_periods"]
        edges = [torch.tensor(raw["edge_mapping"]["edge_index"][str(t)]).T for t in range(periods)]
        weights = [torch.tensor(raw["edge_mapping"]["edge_weight"][str(t)]) for t in range(periods)]
        series = numpy.array(raw["y"])
        scaled = (series - series.mean(axis=0)) / (series.std(axis=0) + 1e-10)
    made = []
    for at in range(len(scaled) - lags):
        x = torch.tensor(scaled[at : at + lags].T, dtype=torch.float32)
        y = torch.tensor(scaled[at + lags], dtype=torch.float32)
        made.append((x, edges[at].long(), weights[at].float(), y))
    return made


def regression(program, epochs, sets, models, results, keep):
    print(f"\nTest MSE on the last 20 % (70 % train, 10 % choose the epoch; at most {epochs} epochs, hidden 32, Adam 0.001)\n")
    print("| data | historical mean | persistence | " + " | ".join(models) + " |")
    print("| --- " * (len(models) + 3) + "|")
    for name, (path, more) in REGRESSION.items():
        if name not in sets or not (DATA / path).exists():
            continue
        row = {}
        for model in models:
            arguments = ["--data", str(DATA / path), "--model", model, "--epochs", str(epochs), "--lr", "0.001", "--set", "data.split=70/10/20", "--set", "train.patience=15", *more]
            summary = zoetrope(program, arguments)
            row[model] = summary["test"]["mse"]
            row["seconds " + model] = sum(epoch["seconds"] for epoch in summary["epochs"])
            row["historical mean"] = summary["baselines"]["historical_mean"]["mse"]
            row["persistence"] = summary["baselines"]["persistence"]["mse"]
        results[name] = row
        keep(name)
        cells = [row["historical mean"], row["persistence"], *(row[model] for model in models)]
        print(f"| {name} | " + " | ".join(f"{cell:.4f}" for cell in cells) + " |", flush=True)


def against_pygt(program, seeds, results, commit):
    print("\nT-GCN against PyG-Temporal's own training, the same initial weights, test MSE, mean over seeds\n")
    print("| data | frames of 8: zoetrope | PyG-Temporal | as its examples train: zoetrope | PyG-Temporal |")
    print("| --- | --- | --- | --- | --- |")
    for name in ["england-covid", "chickenpox"]:
        path, more = REGRESSION[name]
        if not (DATA / path).exists():
            continue
        rows = {"frames, zoetrope": [], "frames, pygt": [], "examples, zoetrope": [], "examples, pygt": []}
        for seed in range(seeds):
            with tempfile.TemporaryDirectory() as folder:
                weights = f"{folder}/weights.safetensors"
                common = ["--data", str(DATA / path), "--set", "data.split=80/20", "--set", "data.scaling=pygt", "--weights", weights]
                rows["frames, pygt"].append(pygt_tgcn(name, 15, 8, seed, weights))
                frames = [*common, "--epochs", "15", "--lr", "0.001", *more]
                rows["frames, zoetrope"].append(zoetrope(program, frames)["test"]["mse"])
                # One update an epoch over all snapshots, none of which sees another: its examples.
                rows["examples, pygt"].append(pygt_tgcn(name, 200, None, seed, weights))
                whole = [*common, "--epochs", "200", "--frame", "1", "--batch-size", "100000"]
                rows["examples, zoetrope"].append(zoetrope(program, whole)["test"]["mse"])
        results["pygt " + name] = {**rows, "commit": commit}
        means = [sum(values) / len(values) for values in rows.values()]
        print(f"| {name} | " + " | ".join(f"{mean:.4f}" for mean in means) + " |", flush=True)


def others(program, results, keep):
    jobs = {
        "drifting blocks, links": ["--data", "synthetic:sbm", "--task", "link-prediction", "--model", "gc-lstm", "--epochs", "20"],
        "drifting blocks, classes": ["--data", "synthetic:sbm", "--epochs", "20"],
    }
    for name, path, more in [
        ("uci-messages", "uci-messages/CollegeMsg.txt.gz", ["--set", "data.window=190080s"]),
        ("bitcoin-otc", "bitcoin-otc/soc-sign-bitcoinotc.csv.gz", ["--set", "data.window=1200000s"]),
    ]:
        for model in ["evolvegcn-o", "gc-lstm"]:
            jobs[f"{name}, links, {model}"] = ["--data", str(DATA / path), "--task", "link-prediction", "--model", model, "--epochs", "20", *more]
    # 733 days of 7,716 vertices: three epochs are enough to see.
    jobs["as-733, links, evolvegcn-o"] = ["--data", str(DATA / "as-733/as-733.tar.xz"), "--task", "link-prediction", "--model", "evolvegcn-o",
                                          "--stride", "8", "--epochs", "3"]
    print("\n| job | model | EdgeBank | EdgeBank, windowed |\n| --- | --- | --- | --- |")
    for name, arguments in jobs.items():
        path = arguments[1]
        if not path.startswith("synthetic:") and not Path(path).exists():
            continue
        summary = zoetrope(program, arguments)
        results[name] = {"test": summary["test"], "baselines": summary["baselines"], "seconds": sum(e["seconds"] for e in summary["epochs"])}
        keep(name)
        keys = [key for key in ["ap", "mrr", "accuracy"] if key in summary["test"]]
        cell = lambda metrics: ", ".join(f"{key} {metrics[key]:.3f}" for key in keys if metrics.get(key) is not None)
        rules = summary["baselines"]
        print(f"| {name} | {cell(summary['test'])} | {cell(rules.get('edgebank', {}))} | {cell(rules.get('edgebank_window', {}))} |", flush=True)


def as_evolvegcn(program, results, keep):
    """Link prediction among all pairs on symmetrised graphs, as EvolveGCN's code evaluates."""
    print("\nEvolveGCN's protocol: all pairs, symmetrised graphs, first 80 % train\n")
    print("| data | model | MAP | MRR by row | EdgeBank MAP | EdgeBank MRR by row |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        sources = [
            ("uci-messages", DATA / "uci-messages/CollegeMsg.txt.gz", ["--set", "data.window=190080s", "--set", "data.undirected=true"]),
            ("bitcoin-otc", DATA / "bitcoin-otc/soc-sign-bitcoinotc.csv.gz", ["--set", "data.window=1200000s", "--set", "data.undirected=true"]),
            ("as-733, first 100 days", first_days(DATA / "as-733/as-733.tar.xz", Path(folder), 100), []),
        ]
        for name, path, more in sources:
            if path is None or not path.exists():
                continue
            for model in ["evolvegcn-o", "evolvegcn-h"]:
                arguments = ["--data", str(path), "--task", "link-prediction", "--model", model, "--set", "model.variant=paper", "--hidden", "64",
                             "--frame", "10", "--epochs", "15", "--set", "task.all_pairs=true", "--set", "data.split=80/20", *more]
                summary = zoetrope(program, arguments)
                rule = summary["baselines"]["edgebank_window"]
                row = f"{name}, all pairs, {model}"
                results[row] = {"test": summary["test"], "baselines": summary["baselines"]}
                keep(row)
                cells = [summary["test"]["map"], summary["test"]["row_mrr"], rule["map"], rule["row_mrr"]]
                print(f"| {name} | {model} | " + " | ".join(f"{cell:.4f}" for cell in cells) + " |", flush=True)


def first_days(archive, folder, days):
    """The first snapshots of an archive, unpacked into a folder."""
    import tarfile

    if not archive.exists():
        return None
    target = folder / "days"
    target.mkdir()
    with tarfile.open(archive) as files:
        members = sorted((member for member in files.getmembers() if member.isfile()), key=lambda member: member.name)
        for member in members[:days]:
            (target / Path(member.name).name).write_bytes(files.extractfile(member).read())
    return target


def main():
    global DATA
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zoetrope", default="target/release/zoetrope")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", nargs="*", default=list(REGRESSION))
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--out", type=Path, default=Path("bench/results/learning.json"))
    parser.add_argument("--parts", nargs="*", default=["regression", "pygt", "others", "evolvegcn"])
    options = parser.parse_args()
    DATA = options.data
    results = json.loads(options.out.read_text())["results"] if options.out.exists() else {}
    about = {**machine(), "epochs": options.epochs, "seeds": options.seeds}
    commit = about["commit"]

    def keep(row=None):
        # Rows of one file are measured at different times.
        if row is not None:
            results[row]["commit"] = commit
        options.out.write_text(json.dumps({"about": about, "results": results}, indent=1) + "\n")

    if "regression" in options.parts:
        regression(options.zoetrope, options.epochs, options.sets, options.models, results, keep)
    if "pygt" in options.parts:
        against_pygt(options.zoetrope, options.seeds, results, commit)
        keep()
    if "others" in options.parts:
        others(options.zoetrope, results, keep)
    if "evolvegcn" in options.parts:
        as_evolvegcn(options.zoetrope, results, keep)


if __name__ == "__main__":
    main()
