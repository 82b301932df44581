"""The tables of accuracy.py. Needs only the standard library."""

import statistics
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from machine import commit_of  # noqa: E402

MODELS = ("tgn", "jodie", "apan", "tgat")
MEASURES = {"link-prediction": ("ap", "auc", "mrr"), "node-classification": ("auc", "ap", "accuracy")}
RULES = {"edgebank": "EdgeBank", "edgebank_window": "EdgeBank, windowed", "last_label": "last label", "majority_class": "majority class"}


def row(values):
    return "| " + " | ".join(values) + " |"


def cells(metrics, measures):
    found = [metrics.get(measure) for measure in measures]
    return ["" if value is None else f"{value:.3f}" for value in found]


def of(results, task, name, rule):
    """The results of a stream under a rule of equal times, by model."""
    return {one["model"]: one for one in results if one["task"] == task and one["data"] == name and one["settings"]["equal_times"] == rule}


def table(task, results, sets):
    """One row a stream and model, and one for each rule. Models that were measured under the peers' convention alone are marked."""
    measures = MEASURES[task]
    titles = [measure.upper() if len(measure) < 4 else measure for measure in measures]
    lines = [row(["data", "who", "equal times", "best epoch", *titles, "s/epoch, median (minimum)", "evaluation, s", "commit"]), "| --- " * (7 + len(measures)) + "|"]
    for name in sets:
        found = {**of(results, task, name, "batch"), **of(results, task, name, "future")}
        for one in filter(None, map(found.get, MODELS)):
            best = one["validation"].index(max(one["validation"])) + 1
            timing = [f"{statistics.median(one['seconds']):.2f} ({min(one['seconds']):.2f})", f"{one['evaluate_seconds']:.1f}", commit_of(one, one["about"])]
            rule = one["settings"]["equal_times"]
            lines.append(row([name, one["model"], rule, f"{best} of {len(one['seconds'])}", *cells(one["test"], measures), *timing]))
        ruled = next(iter(found.values()), {"baselines": {}, "about": {}})
        rules = ruled["baselines"]
        lines += [row([name, title, "", "", *cells(rules[rule], measures), "", "", commit_of(ruled, ruled["about"])])
                  for rule, title in RULES.items() if rule in rules]
    return "\n".join(lines) if len(lines) > 2 else ""


def falls(results, sets):
    """How far figures lie apart under the two rules, if both were measured with the same settings otherwise."""
    lines = [row(["data", "who", "AUC or AP, batch", "future", "change", "MRR, batch", "future", "change", "commits"]), "| --- " * 9 + "|"]
    for task, measures in MEASURES.items():
        for name in sets:
            before, after = (of(results, task, name, rule) for rule in ("batch", "future"))
            for model in MODELS:
                pair = [before.get(model), after.get(model)]
                if None in pair or len({str({**one["settings"], "equal_times": ""}) for one in pair}) > 1:
                    continue
                columns = []
                for measure in (measures[0], "mrr"):
                    values = [one["test"].get(measure) for one in pair]
                    known = None not in values
                    columns += [f"{value:.3f}" for value in values] + [f"{values[1] - values[0]:+.3f}"] if known else ["", "", ""]
                lines.append(row([name if task == "link-prediction" else f"{name}, late", model, *columns, ", ".join(commit_of(one, one["about"]) for one in pair)]))
    return "\n".join(lines) if len(lines) > 2 else ""


def span(values, show=str):
    """What all have in common, or all of it."""
    return ", ".join(dict.fromkeys(show(value) for value in values))


def head(results):
    """Where, when and how, in a few sentences."""
    about = [one["about"] for one in results]
    chosen = [one["settings"] for one in results]
    where = span(f"{one['cpu']}, {one['cores']} cores, {one['memory_gib']} GiB, {one['kernel']}" for one in about)
    dates = sorted(one["date"] for one in about)
    return (f"{dates[0]} to {dates[-1]}; {where}; "
            f"threads: {span(one['threads'] for one in results)}; {sum(one['wall_seconds'] for one in results):.0f} s in all. "
            f"Batches of {span(one['batch'] for one in chosen)} events, Adam {span((one['rate'] for one in chosen), '{:g}'.format)}, the "
            f"defaults of the models otherwise; a run ends after {span(one['patience'] for one in chosen)} epochs that were not better on "
            "validation, and the best epoch is tested.")


def protocol(results):
    """The conventions, as the summaries declare them."""
    links = [one["protocol"] for one in results if one["task"] == "link-prediction"]
    if not links:
        return ""
    seen = [one["neighbours"] for one in links if one["neighbours"]]
    ranks = [one["task"]["mrr_and_hits"] for one in links]
    pairs = [one["task"]["ap_and_auc"] for one in links]
    return (f"Convention: neighbours {span(one['rule'] for one in seen)}, strictly earlier; memory batch-stale, with strictly earlier events "
            f"alone (equal times: future) or with all events of earlier batches (batch, as PyG, TGB and TGL have it); split {span(one['split']['rule'] for one in links)}. Negatives: "
            f"{span(one['negatives']['pool']['holds'] for one in pairs)}, {span(one['negatives']['per_event'] for one in pairs)} for AP and AUC, "
            f"{span(one['negatives']['per_event'] for one in ranks)} for MRR, no pair that happens at the same time; AP and AUC: "
            f"{span(one['ap, auc'] for one in pairs)}; equal scores rank at the {span(one['ties'] for one in ranks)}. The rules are told "
            f"{span(one['baselines']['told'] for one in links)}.")


def document(results, sets):
    if not results:
        return "Nothing was measured.\n"
    late = table("node-classification", results, sets)
    apart = falls(results, sets)
    parts = [head(results), protocol(results), table("link-prediction", results, sets), late and "Late flights, without the departure delay:", late,
             apart and "What it is worth to know events of the question's own time (test part, the same settings otherwise):", apart]
    return "\n\n".join(filter(None, parts)) + "\n"
