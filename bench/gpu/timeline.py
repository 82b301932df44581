"""Part `trace`: from trace.json, whether copies and computing overlap (D4, streamed), and how busy the GPU is
inside an epoch (D5 and D6, data on the GPU). Epochs that only launch what was recorded are looked at, and the one
in the middle is told: an epoch of D5 takes two milliseconds, and any of them may be disturbed."""

import json

from cases import CASES, MODELS, WORK, settings
from frames import VARIANTS, prepare
from program import Failed, say, train

RUNS = [("D4", "tgcn", "streamed")] + [(case, model, "resident") for case in ("D5", "D6") for model in MODELS]
# The first computes, the second records.
EPOCHS, PREPARES = 13, 2


def measure(asked, part):
    if asked.device == "cpu":
        return say("traces of the GPU need the GPU")
    rows = part.setdefault("rows", {})
    for name, model, variant in RUNS:
        if name not in asked.cases or model not in asked.models:
            continue
        case, folder = CASES[name], f"trace-{name}-{model}"
        prepare(case)
        train(folder, **{**settings(case, model), **VARIANTS[variant], "device": asked.device, "epochs": EPOCHS, "trace": True})
        found = read(json.loads((WORK / folder / "trace.json").read_text()))
        rows[f"{name} {model}"] = {"variant": variant, "commit": part["about"]["commit"], **found}
        say(f"{name} {model}, {variant}: GPU busy {100 * found['busy']:.1f} %, computing {100 * found['computing']:.1f} %, "
            f"copying {100 * found['copying']:.1f} %; {100 * found['overlapped']:.0f} % of the copying beside computing ({found['source']})")


def read(trace):
    """Shares of an epoch: computing, copying, either; and of the copying, what happens while the GPU computes."""
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    labels = [e["args"]["labels"] for e in events if e.get("ph") == "M" and e.get("name") == "process_labels"]
    names = {(e.get("pid"), e.get("tid")): e["args"]["name"].lower() for e in events if e.get("ph") == "M" and e.get("name") == "thread_name"}
    pieces = {"compute": [], "copy": []}
    epochs = []
    for event in events:
        if event.get("ph") != "X":
            continue
        span, track = (event["ts"], event["ts"] + event["dur"]), names.get((event.get("pid"), event.get("tid")), "")
        if "gpu" in track:
            pieces["copy" if "copy" in track else "compute"].append(span)
        elif event["name"] == "epoch":
            epochs.append(span)
    if not pieces["compute"]:
        raise Failed(f"the trace has no track of the GPU; it has {sorted(set(names.values()))}")
    if len(epochs) <= PREPARES:
        raise Failed(f"the trace has {len(epochs)} epochs")
    pieces = {kind: union(spans) for kind, spans in pieces.items()}
    found = sorted((shares(epoch, **pieces) for epoch in sorted(epochs)[PREPARES:]), key=lambda shares: shares["busy"])
    return {**found[len(found) // 2], "source": labels[-1].removeprefix("GPU spans: ") if labels else "unknown"}


def shares(epoch, compute, copy):
    compute, copy = both(compute, [epoch]), both(copy, [epoch])
    whole, copying, busy = length([epoch]), length(copy), length(union(compute + copy))
    return {
        "busy": busy / whole, "computing": length(compute) / whole, "copying": copying / whole,
        "overlapped": length(both(compute, copy)) / copying if copying else 0.0, "busy_ms": busy / 1e3, "epoch_ms": whole / 1e3,
    }


def union(spans):
    """The same times as spans that do not meet, in order."""
    found = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def both(left, right):
    """What two such lists have in common."""
    found, a, b = [], 0, 0
    while a < len(left) and b < len(right):
        start, end = max(left[a][0], right[b][0]), min(left[a][1], right[b][1])
        if start < end:
            found.append((start, end))
        if left[a][1] < right[b][1]:
            a += 1
        else:
            b += 1
    return found


def length(spans):
    return sum(end - start for start, end in spans)
