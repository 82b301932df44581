"""Part `frames`: milliseconds a frame, Zoetrope and PyG-Temporal on the same GPU in the same call.

The peer draws the first weights and goes first; Zoetrope starts from the same weights: once with the data
on the GPU, once more with the first layer's aggregation kept, once with every frame streamed.
"""

import json
import statistics

from agreement import EPOCH, FIRST, relative
from cases import CASES, ROOT, WORK, frames_of, settings, workloads
from program import PYTHON, Failed, lines, say, train

VARIANTS = {
    "resident": {"plan.residency": "resident"},
    "reuse": {"plan.residency": "resident", "plan.reuse": True},
    "streamed": {"plan.residency": "stream", "plan.difference": "off"},
}
# Timed frames of the peer, if an epoch has fewer.
LEAST = 10


def prepare(case):
    """Writes the file that both sides read."""
    (WORK / case.name).mkdir(parents=True, exist_ok=True)
    if not case.file.exists():
        say(f"{case.name}: writing {case.file.name}")
    if reason := workloads.make(case):
        raise Failed(f"{case.name}: {reason}")


def measure(asked, part):
    rows = part.setdefault("rows", {})
    failures = []
    for case in (CASES[name] for name in asked.cases):
        try:
            prepare(case)
            for found in theirs(case, asked):
                rows.setdefault(f"{case.name} {found['model']}", {})["peer"] = found
        except Failed as reason:
            failures.append(str(reason))
            say(reason)
            if not case.file.exists():
                continue
        for model in asked.models:
            row = rows.setdefault(f"{case.name} {model}", {})
            row["commit"] = part["about"]["commit"]
            try:
                ours(case, model, asked, row)
            except Failed as reason:
                failures.append(str(reason))
                say(reason)
    if failures:
        raise Failed("; ".join(failures))


def theirs(case, asked):
    """The peer's figures, model by model; one that fails is told and left out."""
    job = {
        "data": str(case.file), "frame": case.frame, "stride": case.stride, "hidden": case.hidden, "models": asked.models,
        "device": asked.device, "least": 1 if asked.quick else LEAST, "weights": str(WORK / case.name),
    }
    for line in lines([PYTHON, "-W", "ignore", ROOT / "bench" / "gpu" / "peer.py", json.dumps(job)]):
        found = json.loads(line)
        if "failure" in found:
            say(f"{case.name} {found['model']}, PyG-Temporal FAILED: {found['failure']}")
            continue
        found |= figures(found["seconds"], 1)
        say(f"{case.name} {found['model']}, PyG-Temporal: {found['ms']:.4g} ms a frame")
        yield found


def figures(seconds, frames):
    """Milliseconds a frame of epochs of so many frames."""
    return {"ms": 1e3 * statistics.median(seconds) / frames, "ms_min": 1e3 * min(seconds) / frames}


def ours(case, model, asked, row):
    epochs = 2 if asked.quick else case.epochs
    weights = WORK / case.name / f"{model}.safetensors"
    common = {**settings(case, model), "device": asked.device, **({"weights": weights} if weights.exists() else {})}
    for name, more in VARIANTS.items():
        if asked.device == "cpu":
            # Where the data lies and how it is sent are questions of GPUs.
            more = {key: value for key, value in more.items() if key == "plan.reuse"}
        summary = train(f"{case.name}-{model}-{name}", **{**common, **more, "epochs": epochs})
        seconds = [epoch["seconds"] for epoch in summary["epochs"]]
        frames = frames_of(case, summary["data"]["snapshots"])
        found = {**figures(seconds[len(seconds) // 2:], frames), "seconds": seconds, "frames": frames,
                 "epoch_loss": summary["epochs"][0]["loss"], "peak_bytes": summary["peak_device_bytes"], "bytes": summary["bytes"]}
        row[name] = found
        peer = row.get("peer")
        ratio = f", {peer['ms'] / found['ms']:.1f} × PyG-Temporal" if peer else ""
        say(f"{case.name} {model}, {name}: {found['ms']:.4g} ms a frame{ratio}, {found['peak_bytes'] / (1 << 20):.0f} MiB")
    if row.get("peer") and weights.exists():
        row["agreement"] = agreement(case, model, common, row)
        if not row["agreement"]["same"]:
            raise Failed(f"{case.name} {model}: not the same work: {row['agreement']}")


def agreement(case, model, common, row):
    """How far losses from the same weights lie apart: of the first frame, before any update, and of the first epoch.

    The first frame decides: later ones carry what updates make of rounding, and cuDNN rounds the peer's LSTM to TF32. That of
    D6 is not asked for, because reading its file once more would take longer than all its frames: there the epoch decides.
    """
    found = {"first_epoch": relative(row["resident"]["epoch_loss"], row["peer"]["epoch_loss"])}
    if case.name == "D6":
        return {**found, "same": found["first_epoch"] <= EPOCH}
    summary = train(f"{case.name}-{model}-first", **{**common, "stride": 1 << 30, "epochs": 1})
    first = relative(summary["epochs"][0]["loss"], row["peer"]["first_loss"])
    return {**found, "first_frame": first, "same": first <= FIRST}
