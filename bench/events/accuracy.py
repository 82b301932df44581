"""What each model of events learns, beside rules that need no training.

Run it through `bench/events/accuracy.sh`. Trains tgn, jodie, apan and tgat on five streams of
events, 70 % of the time quantiles training and 15 % each for validation and test, and prints AP and
AUC against one other destination and MRR among 100, beside EdgeBank. Then node classification:
whether a flight arrives late, told from the aircraft's past, with the departure delay left out.
Everything goes to bench/results (events-accuracy.json and .md). Needs only the standard library.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from zoetrope import RESULTS, SHARED, WORK, about, machine, train

MODELS = ("tgn", "jodie", "apan", "tgat")
# The file and the passes over it: fewer where the stream is long.
SETS = {
    "wikipedia": ("wikipedia/wikipedia.csv.gz", 3),
    "nycflights13": ("nycflights13/nycflights13.csv.gz", 1),
    "uci-messages": ("uci-messages/CollegeMsg.txt.gz", 5),
    "enron": ("enron/ml_enron.csv.gz", 3),
    "sx-mathoverflow": ("sx-mathoverflow/sx-mathoverflow.txt.gz", 1),
}
MEASURES = ("ap", "auc", "mrr")
RULES = {"edgebank": "EdgeBank", "edgebank_window": "EdgeBank, windowed"}
# Three columns of origin and sixteen of carrier come before the departure delay, in hours.
DELAY = 19


def cells(metrics, measures):
    found = [metrics.get(measure) for measure in measures]
    return ["" if value is None else f"{value:.3f}" for value in found]


def links(asked, results, start):
    """One row a stream and model, and one for each rule."""
    lines = ["| data | epochs | who | " + " | ".join(measure.upper() for measure in MEASURES) + " | s/epoch | evaluation, s |", "| --- " * 8 + "|"]
    for name in asked.sets:
        path, epochs = SETS[name]
        if not (SHARED / path).exists():
            print(f"{name} left out: {path} is not there", file=sys.stderr)
            continue
        epochs, rules = 1 if asked.quick else asked.epochs or epochs, {}
        for model in asked.models:
            say(start, f"{name}, {model}")
            summary = train("accuracy", data=SHARED / path, task="link-prediction", model=model, epochs=epochs, lr=asked.rate,
                            threads=asked.threads, **{"train.batch_size": asked.batch, "task.candidates": 10 if asked.quick else 100,
                                                      "data.split": "70/15/15"})
            seconds = min(epoch["seconds"] for epoch in summary["epochs"])
            results.append({"task": "link-prediction", "data": name, "model": model, "epochs": epochs, **kept(summary)})
            rules = summary["baselines"]
            timing = [f"{seconds:.2f}", f"{summary['seconds']['evaluate']:.1f}"]
            lines.append("| " + " | ".join([name, str(epochs), model, *cells(summary["test"], MEASURES), *timing]) + " |")
        for rule, title in RULES.items():
            if rule in rules:
                lines.append("| " + " | ".join([name, "", title, *cells(rules[rule], MEASURES), "", ""]) + " |")
    return "\n".join(lines)


def classes(asked, results, start):
    """Late flights: one row a model, and one for each rule."""
    path = SHARED / SETS["nycflights13"][0]
    if not path.exists():
        return ""
    measures = ("auc", "ap", "accuracy")
    lines = ["| late flights | epochs | " + " | ".join(measure.upper() if len(measure) < 4 else measure for measure in measures) + " |", "| --- " * 5 + "|"]
    epochs, rules = 1 if asked.quick else asked.epochs or 2, {}
    # The stream is long: a quick run looks at the model that takes least.
    for model in ["jodie"] if asked.quick and "jodie" in asked.models else asked.models:
        say(start, f"late flights, {model}")
        summary = train("accuracy", data=path, task="node-classification", model=model, epochs=epochs, lr=asked.rate, threads=asked.threads,
                        **{"train.batch_size": asked.batch, "data.drop_features": DELAY, "data.split": "70/15/15"})
        results.append({"task": "node-classification", "data": "nycflights13", "model": model, "epochs": epochs, **kept(summary)})
        rules = summary["baselines"]
        lines.append("| " + " | ".join([model, str(epochs), *cells(summary["test"], measures)]) + " |")
    for rule, metrics in rules.items():
        lines.append("| " + " | ".join([rule.replace("_", " "), "", *cells(metrics, measures)]) + " |")
    return "\n".join(lines)


def kept(summary):
    return {"test": summary["test"], "baselines": summary["baselines"], "seconds": [epoch["seconds"] for epoch in summary["epochs"]],
            "evaluate_seconds": summary["seconds"]["evaluate"], "protocol": summary["protocol"]}


def say(start, text):
    print(f"[{time.monotonic() - start:5.0f} s] {text}", file=sys.stderr, flush=True)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("--quick", action="store_true", help="one epoch on the shortest stream, ten candidates; results go to target/")
    parser.add_argument("--sets", type=words, default=list(SETS), help="of " + ", ".join(SETS))
    parser.add_argument("--models", type=words, default=list(MODELS), help="of " + ", ".join(MODELS))
    parser.add_argument("--parts", type=words, default=["links", "classes"], help="of links, classes")
    parser.add_argument("--epochs", type=int, help="of all; fewer on long streams where not given")
    parser.add_argument("--batch", type=int, default=200, help="events; 200 where not given")
    # Ten times the references' rate: a few epochs shall show what a model learns.
    parser.add_argument("--rate", type=float, default=1e-3, help="0.001 where not given")
    parser.add_argument("--threads", type=int, default=2, help="2 where not given")
    parser.add_argument("--out", type=Path, help="folder for events-accuracy.json and .md")
    asked = parser.parse_args()
    if asked.quick and asked.sets == list(SETS):
        asked.sets = ["uci-messages"]
    return asked


def main():
    asked, start, results, tables = options(), time.monotonic(), [], []
    folder = asked.out or (WORK / "results" if asked.quick else RESULTS)
    folder.mkdir(parents=True, exist_ok=True)
    found = machine()
    if "links" in asked.parts:
        tables.append(links(asked, results, start))
    if "classes" in asked.parts:
        tables.append(classes(asked, results, start))
    head = (f"{about(found, asked.threads)} Batches of {asked.batch} events, Adam {asked.rate:g}, the defaults of the models otherwise; "
            "test part, the best validation epoch. Took {:.0f} s.".format(time.monotonic() - start))
    text = "\n\n".join([head, *tables]) + "\n"
    (folder / "events-accuracy.json").write_text(json.dumps({"about": found, "threads": asked.threads, "rate": asked.rate, "batch": asked.batch, "results": results}) + "\n")
    (folder / "events-accuracy.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
