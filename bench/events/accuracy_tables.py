"""The tables of accuracy.py. Needs only the standard library."""

MODELS = ("tgn", "jodie", "apan", "tgat")
MEASURES = {"link-prediction": ("ap", "auc", "mrr"), "node-classification": ("auc", "ap", "accuracy")}
RULES = {"edgebank": "EdgeBank", "edgebank_window": "EdgeBank, windowed", "last_label": "last label", "majority_class": "majority class"}


def row(values):
    return "| " + " | ".join(values) + " |"


def cells(metrics, measures):
    found = [metrics.get(measure) for measure in measures]
    return ["" if value is None else f"{value:.3f}" for value in found]


def table(task, results, sets):
    """One row a stream and model, and one for each rule."""
    measures = MEASURES[task]
    titles = [measure.upper() if len(measure) < 4 else measure for measure in measures]
    lines = [row(["data", "who", "best epoch", *titles, "s/epoch", "evaluation, s"]), "| --- " * (5 + len(measures)) + "|"]
    for name in sets:
        found = {one["model"]: one for one in results if one["task"] == task and one["data"] == name}
        for one in filter(None, map(found.get, MODELS)):
            best = one["validation"].index(max(one["validation"])) + 1
            timing = [f"{min(one['seconds']):.2f}", f"{one['evaluate_seconds']:.1f}"]
            lines.append(row([name, one["model"], f"{best} of {len(one['seconds'])}", *cells(one["test"], measures), *timing]))
        rules = next((one["baselines"] for one in found.values()), {})
        lines += [row([name, title, "", *cells(rules[rule], measures), "", ""]) for rule, title in RULES.items() if rule in rules]
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
    return (f"Commit {span(one['commit'][:9] + one['commit'][40:] for one in about)}; {dates[0]} to {dates[-1]}; {where}; "
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
    return (f"Convention: neighbours {span(one['rule'] for one in seen)} (equal times count as {span(one['equal_times'] for one in seen)}), memory "
            f"batch-stale; split {span(one['split']['rule'] for one in links)}. Negatives: "
            f"{span(one['negatives']['pool']['holds'] for one in pairs)}, {span(one['negatives']['per_event'] for one in pairs)} for AP and AUC, "
            f"{span(one['negatives']['per_event'] for one in ranks)} for MRR, no pair that happens at the same time; AP and AUC: "
            f"{span(one['ap, auc'] for one in pairs)}; equal scores rank at the {span(one['ties'] for one in ranks)}. The rules are told "
            f"{span(one['baselines']['told'] for one in links)}.")


def document(results, sets):
    if not results:
        return "Nothing was measured.\n"
    late = table("node-classification", results, sets)
    parts = [head(results), protocol(results), table("link-prediction", results, sets), late and "Late flights, without the departure delay:", late]
    return "\n\n".join(filter(None, parts)) + "\n"
