"""What each event model learns, beside rules that need no training.

Run it through `bench/events/accuracy.sh`. Trains tgn, jodie, apan and tgat on five streams of
events, 70 % of the time quantiles training and 15 % each for validation and test, and prints AP and
AUC against one other destination and MRR among 100, beside EdgeBank. Then node classification:
whether a flight arrives late, told from the aircraft's past, with the departure delay left out.
`--equal-times batch` measures the convention of PyG, TGB and TGL beside it, under which memory knows
events of a question's own time that lay in an earlier batch; a last table shows what that is worth.

What was measured goes to bench/results/events-accuracy.json after each model, and the tables to
events-accuracy.md: a call replaces what it measures anew and leaves the rest, `--resume` goes on
where a call was stopped. Needs only the standard library.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from accuracy_tables import MEASURES, MODELS, document
from zoetrope import RESULTS, SHARED, WORK, machine, train

# The file, and the most epochs: fewer if the stream is long. The shortest comes first.
SETS = {
    "uci-messages": ("uci-messages/CollegeMsg.txt.gz", 5),
    "enron": ("enron/ml_enron.csv.gz", 5),
    "wikipedia": ("wikipedia/wikipedia.csv.gz", 3),
    "nycflights13": ("nycflights13/nycflights13.csv.gz", 1),
    "sx-mathoverflow": ("sx-mathoverflow/sx-mathoverflow.txt.gz", 1),
}
LATE_EPOCHS = 2
# Epochs without a better validation AP (or AUC of classes) after which a run ends.
PATIENCE = 3
# That of the references: README.md tells what others give.
RATE = 1e-4
# Three columns of origin and sixteen of carrier come before the departure delay, in hours.
DELAY = 19


def jobs(asked):
    """Task, data, model and the most epochs of each run that is asked for, classes last."""
    for name in asked.sets if "links" in asked.parts else []:
        for model in asked.models:
            yield "link-prediction", name, model, 1 if asked.quick else asked.epochs or SETS[name][1]
    # The stream is long: a quick run looks at the model that takes least.
    models = ["jodie"] if asked.quick and "jodie" in asked.models else asked.models
    for model in models if "classes" in asked.parts else []:
        yield "node-classification", "nycflights13", model, 1 if asked.quick else asked.epochs or LATE_EPOCHS


def settings(asked, task, epochs):
    """What a result depends on besides data and model."""
    links = {"candidates": 10 if asked.quick else 100} if task == "link-prediction" else {"dropped": DELAY}
    return {"epochs": epochs, "patience": PATIENCE, "rate": asked.rate, "batch": asked.batch, "equal_times": asked.equal_times, **links}


def measure(task, name, model, chosen, threads):
    more = {"task.candidates": chosen["candidates"]} if task == "link-prediction" else {"data.drop_features": chosen["dropped"]}
    summary = train("accuracy", data=SHARED / SETS[name][0], task=task, model=model, epochs=chosen["epochs"], lr=chosen["rate"], threads=threads,
                    **{"train.batch_size": chosen["batch"], "train.patience": chosen["patience"], "data.split": "70/15/15",
                       "task.equal_times": chosen["equal_times"]}, **more)
    watched = MEASURES[task][0]
    validation = [epoch["val"][watched] for epoch in summary["epochs"]]
    return {"test": summary["test"], "baselines": summary["baselines"], "validation": validation,
            "losses": [epoch["loss"] for epoch in summary["epochs"]], "seconds": [epoch["seconds"] for epoch in summary["epochs"]],
            "evaluate_seconds": summary["seconds"]["evaluate"], "protocol": summary["protocol"]}


def key(result):
    return result["task"], result["data"], result["model"], result["settings"]["equal_times"]


class Kept:
    """The results in a folder: one for each task, stream, model and rule of equal times."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "events-accuracy.json"
        self.results = json.loads(self.file.read_text())["results"] if self.file.exists() else []

    def has(self, result):
        return any(key(known) == key(result) and known.get("settings") == result["settings"] for known in self.results)

    def put(self, result):
        self.results = [known for known in self.results if key(known) != key(result)] + [result]
        # Beside the file first: a call that is stopped here leaves the old one whole.
        beside = self.file.with_suffix(".json.new")
        beside.write_text(json.dumps({"results": self.results}) + "\n")
        beside.replace(self.file)

    def write(self):
        text = document(self.results, list(SETS))
        (self.folder / "events-accuracy.md").write_text(text)
        return text


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("--quick", action="store_true", help="one epoch on the shortest stream, ten candidates; results go to target/")
    parser.add_argument("--resume", action="store_true", help="leave out what was measured already with the same settings")
    parser.add_argument("--sets", type=words, default=list(SETS), help="of " + ", ".join(SETS))
    parser.add_argument("--models", type=words, default=list(MODELS), help="of " + ", ".join(MODELS))
    parser.add_argument("--parts", type=words, default=["links", "classes"], help="of links, classes")
    parser.add_argument("--epochs", type=int, help="most of all; fewer on long streams if not given")
    parser.add_argument("--batch", type=int, default=200, help="events; 200 if not given")
    parser.add_argument("--rate", type=float, default=RATE, help=f"{RATE:g} if not given")
    parser.add_argument("--equal-times", choices=["future", "batch"], default="future", help="task.equal_times; future if not given")
    parser.add_argument("--threads", type=int, default=2, help="2 if not given")
    parser.add_argument("--out", type=Path, help="folder for events-accuracy.json and .md")
    asked = parser.parse_args()
    if asked.quick and asked.sets == list(SETS):
        asked.sets = ["uci-messages"]
    return asked


def main():
    asked, start = options(), time.monotonic()
    kept = Kept(asked.out or (WORK / "results" if asked.quick else RESULTS))
    for task, name, model, epochs in jobs(asked):
        result = {"task": task, "data": name, "model": model, "settings": settings(asked, task, epochs)}
        if asked.resume and kept.has(result):
            continue
        if not (SHARED / SETS[name][0]).exists():
            print(f"{name} left out: {SETS[name][0]} is not there", file=sys.stderr)
            continue
        print(f"[{time.monotonic() - start:5.0f} s] {task}, {name}, {model}", file=sys.stderr, flush=True)
        began, found = time.monotonic(), machine()
        result |= measure(task, name, model, result["settings"], asked.threads)
        kept.put(result | {"about": found, "threads": asked.threads, "wall_seconds": time.monotonic() - began})
        kept.write()
    print(kept.write())


if __name__ == "__main__":
    main()
