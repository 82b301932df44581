"""From single runs to figures, and the goals of the bench."""

import statistics

from contestants import AS_PYG, AS_TGL, BATCHES, MODELS, NAMES, rival_of
from quoted import QUOTED
from zoetrope import commit_of

MIB = 1 << 20
WANTED_AP = 0.93
FACTORS = {("tgn", "pyg"): 5, **{(model, peer): least for model, least in [("tgn", 8), ("apan", 5), ("jodie", 3)] for peer in ("tgl", "tglite")}}


class Figures:
    """The figures of a report, by (model, batch, peer, whose conventions)."""

    def __init__(self, report):
        self.report, self.runs = report, {}
        for run in report["runs"]:
            self.runs.setdefault((run["model"], run["batch"], run["peer"], run["follows"]), []).append(run)

    def of(self, model, batch, peer, follows=""):
        """Seconds per epoch, AP by epoch and the rest; a quoted figure if a peer did not run; or None."""
        runs = self.runs.get((model, batch, peer, follows))
        if not runs:
            quoted = None if self.report["quick"] else QUOTED.get((model, batch, peer))
            return quoted and {"quoted": True, "median": quoted[0], "min": quoted[0], "ap": list(quoted[1]), "evaluate": None, "peak": None, "net": None, "commit": commit_of({})}
        # The first epoch warms up, if there is another.
        seconds = [value for run in runs for value in (run["seconds"][1:] or run["seconds"])]
        found = {"quoted": False, "commit": commit_of(runs[0], self.report["about"]), "median": statistics.median(seconds), "min": min(seconds),
                 "peak": max(run["peak_bytes"] for run in runs) / MIB,
                 "net": max(run["peak_bytes"] - run["import_bytes"] for run in runs) / MIB}
        if peer == "zoetrope":
            found["ap"] = [None] * (len(runs[0]["seconds"]) - 1) + [runs[0]["test"]["ap"]]
            found["evaluate"] = statistics.median(run["evaluation"]["evaluate_seconds"] for run in runs)
        else:
            found["ap"] = [epoch["test"]["ap"] for epoch in runs[0]["evaluations"]]
            found["evaluate"] = statistics.median(epoch["val"]["seconds"] + epoch["test"]["seconds"] for run in runs for epoch in run["evaluations"])
        return found

    def rows(self):
        """(model, batch, peer, follows, figure) of everyone with a figure."""
        for model in MODELS:
            for batch in BATCHES:
                for peer, follows in [("zoetrope", "pyg"), ("zoetrope", "tgl"), *((peer, "") for peer in list(NAMES)[1:])]:
                    if figure := self.of(model, batch, peer, follows):
                        yield model, batch, peer, follows, figure

    def factor(self, model, batch, peer, key="median"):
        """Their time over that of our run which does the same work; None if one is not there."""
        theirs, mine = self.of(model, batch, peer), self.of(model, batch, "zoetrope", rival_of(peer).follows)
        if not theirs or not mine or theirs[key] is None:
            return None
        return theirs[key] / mine[key]


def reached(seconds, evaluations, scores):
    """Epochs and seconds of training, and with the evaluation of each epoch, until WANTED_AP."""
    for epoch, score in enumerate(scores):
        if score is not None and score >= WANTED_AP:
            return epoch + 1, sum(seconds[: epoch + 1]), sum(seconds[: epoch + 1]) + sum(evaluations[: epoch + 1])
    return None


def peers_reach(figures, peer):
    """Of a peer's first run at batch 200: (epochs, seconds of training, with evaluation)."""
    runs = figures.runs.get(("tgn", 200, peer, ""))
    if runs:
        evaluations = runs[0]["evaluations"]
        spent = [epoch["val"]["seconds"] + epoch["test"]["seconds"] for epoch in evaluations]
        return reached(runs[0]["seconds"], spent, [epoch["test"]["ap"] for epoch in evaluations])
    figure = figures.of("tgn", 200, peer)
    return figure and reached([figure["median"]] * len(figure["ap"]), [0.0] * len(figure["ap"]), figure["ap"])


def goals(figures):
    """(what is asked, what was found, whether it is met) for each goal that was measured."""
    found = []
    for (model, peer), least in FACTORS.items():
        for batch in BATCHES:
            factor = figures.factor(model, batch, peer)
            if factor is not None:
                theirs = figures.of(model, batch, peer)
                against = "quoted" if theirs["quoted"] else "measured"
                least_of = figures.factor(model, batch, peer, "min")
                text = f"{factor:.1f} × of medians, {least_of:.1f} × of minima ({NAMES[peer]} {theirs['median']:.3g} s, {against})"
                found.append((f"{model}, batch {batch}: at least {least} × {NAMES[peer]} per epoch", text, factor >= least))
    for model, batch, peer, _, figure in figures.rows():
        if peer != "zoetrope" and not figure["quoted"] and (model, peer) in FACTORS:
            factor = figures.factor(model, batch, peer, "evaluate")
            if factor is not None:
                found.append((f"{model}, batch {batch}: evaluation at least 5 × {NAMES[peer]}", f"{factor:.1f} × ({figure['evaluate']:.3g} s, validation and test)", factor >= 5))
    found += reach_goal(figures) + accuracy_goals(figures)
    if ranking := figures.report.get("ranking"):
        text = f"{ranking['evaluate_seconds']:.2f} s with the validation part one-vs-one, MRR {ranking['test']['mrr']:.3f}"
        found.append(("one-vs-100 ranking of the whole test part in under 20 s", text, ranking["evaluate_seconds"] < 20))
    return found


def reach_goal(figures):
    reach = figures.report.get("reach")
    if not reach:
        return []
    tries = reach["tries"]
    last = next((run for run in tries if run["test"]["ap"] >= WANTED_AP), None)
    asked = f"test AP {WANTED_AP} at batch 200 within 5 s of training"
    if last is None:
        return [(asked, f"not reached in {len(tries)} epochs: {tries[-1]['test']['ap']:.3f}", False)]
    seconds = sum(last["seconds"])
    text = f"{seconds:.2f} s at learning rate {reach['rate']:g}, {len(last['seconds'])} epochs, AP {last['test']['ap']:.3f}; with evaluation {seconds + last['evaluate_seconds']:.2f} s"
    return [(asked, text, seconds <= 5)]


def accuracy_goals(figures):
    found = []
    ours, theirs = figures.runs.get(("tgn", 200, "zoetrope", AS_PYG.follows)), figures.of("tgn", 200, "pyg")
    if ours and theirs and len(ours[0]["seconds"]) == 3 and len(theirs["ap"]) >= 3:
        mine, other = ours[0]["test"]["ap"], theirs["ap"][2]
        against = ", quoted" if theirs["quoted"] else ""
        found.append(("batch-stale tgn, three epochs at batch 200: test AP within 0.01 of PyG's", f"{mine:.3f} against {other:.3f}{against}", abs(mine - other) <= 0.01))
    for batch, least in [(200, 0.92), (1200, 0.90)]:
        runs = figures.runs.get(("tgn", batch, "zoetrope", AS_TGL.follows))
        if runs and len(runs[0]["seconds"]) == 4:
            score = runs[0]["test"]["ap"]
            found.append((f"per-event tgn, four epochs at batch {batch}: test AP at least {least:.2f}", f"{score:.3f}", score >= least))
    return found
