"""A timeline that is larger than the memory of each rank's GPU, by two ranks on one GPU; run it through `run.sh blocks`.

Trains TM-GCN and CD-GCN in blocks whose snapshots are sent as differences, twice, and once with whole snapshots. The
exit code is 0 if, for each model,

- the graph and the features of a rank are larger than the limit on its GPU,
- the plan fits into the limit and cuts the frame into blocks,
- snapshots are sent as differences, in fewer bytes than whole ones,
- no rank took more than its limit,
- the repeated run, and that of whole snapshots, came to the same bits,
- what was copied is what the plan said before the run,
- and a limit that nothing keeps to is refused when it is planned.

What is planned and seen is printed as it comes. Adds its record to cards.json and cards.md.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import cards
from machine import short

MODELS = ["tm-gcn", "cd-gcn"]
LIMIT_MIB = 640
DATA = "synthetic:power-law?vertices=25k&steps=96&edges=150k&features=128&change=0.05&targets=random"
# Libraries take 32 MiB of it.
TINY_LIMIT_MIB = 48
TINY = "synthetic:power-law?vertices=2k&steps=24&edges=30k&features=512&change=0.05&targets=random"
EPOCHS, TINY_EPOCHS = 3, 2
# What a limit that nothing keeps to is refused with, and which share of the usual one that is.
RESOURCE_MISSING = 4
TOO_LITTLE = 1 / 16
STREAMED = {"plan.residency": "stream", "plan.difference": "on"}
WAYS = {"differences": STREAMED, "again": STREAMED, "whole": {"plan.residency": "stream", "plan.difference": "off"}}


def arguments(options, model, more):
    keys = {
        "data.split": "none", "task.name": "node-regression", "model.hidden": 16, "train.frame": "all",
        "train.epochs": options.epochs, "train.device": "cuda", "plan.strategy": "snapshot", "plan.device_transport": "host",
        "plan.timeout": 120, "plan.reuse": "false", "plan.memory_limit": f"{options.limit_mib}MiB", **more,
    }  # fmt: skip
    settings = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
    return ["--data", options.data, "--model", model, *settings]


def planned(options, model, more):
    """What `zoetrope plan` says of two ranks, or the exit code and the words of its refusal."""
    command = [cards.ZOETROPE, "plan", "--quiet", "--json", "--ranks", "2", *arguments(options, model, more)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **cards.environment(1)})
    if done.returncode != 0:
        return {"code": done.returncode, "said": done.stderr[-1500:]}
    plan = json.loads(done.stdout)
    gpu = plan["gpu"]
    return {
        "code": 0,
        "blocks": plan["blocks"]["count"],
        "steps": plan["frames"][0]["steps"],
        "vertices": plan["vertices"],
        "residency": gpu["residency"],
        "block_states": gpu.get("block_states", "resident"),
        "sent_bytes": plan["sent_bytes"],
        "memory": gpu["memory"],
        "reasons": plan["reasons"],
    }


def train(options, model, way, work):
    """What a run of two ranks says of itself."""
    out = work / f"{model}-{way}"
    shutil.rmtree(out, ignore_errors=True)
    words = ["train", "--quiet", "--out", out, *arguments(options, model, WAYS[way])]
    ranks = 1 if options.threads else 2
    words += ["--ranks", "2"] if options.threads else []
    job = cards.Job(cards.command(ranks, words), work, cards.environment(2))
    code, seconds = job.wait(options.limit)
    if code != 0:
        return {"code": code if code is not None else "too slow", "seconds": round(seconds, 1), "said": job.text()[-3000:]}
    summary = json.loads((out / "summary.json").read_text())
    return {
        "code": 0,
        "seconds": round(seconds, 1),
        "state_hash": summary["state_hash"],
        "loss": summary["epochs"][-1]["loss"],
        "epoch_seconds": min(epoch["seconds"] for epoch in summary["epochs"][1:]),
        "phases": summary["seconds"],
        "devices": summary["devices"],
        "streaming": summary["streaming"],
    }


def whole_bytes(options, model):
    """The bytes of a rank's half of the graph and of the features, if they stayed on its GPU."""
    resident = planned(options, model, {"plan.residency": "resident", "plan.memory_limit": "4TiB", "plan.blocks": 2})
    if resident["code"] != 0:
        return resident
    width = int(options.data.split("features=")[1].split("&")[0])
    features = resident["steps"] * resident["vertices"] * width * 4 // 2
    return {"code": 0, "graph": resident["memory"]["graph"], "features": features}


def faults(options, record):
    """What is not as it has to be."""
    found = []
    limit = options.limit_mib * 2**20
    plan, whole, refused, runs = (record[key] for key in ("plan", "whole", "refused", "runs"))
    if whole["code"] != 0 or whole["graph"] + whole["features"] <= limit:
        found.append(f"graph and features of a rank are not larger than {limit} bytes: {whole}")
    if refused["code"] != RESOURCE_MISSING or "on the GPU of a rank" not in refused.get("said", ""):
        found.append(f"a limit that nothing keeps to was not refused when it was planned: {refused}")
    if plan["code"] != 0:
        return [*found, f"zoetrope plan: exit code {plan['code']}: {plan['said']}"]
    # Libraries take theirs only once there is a large product.
    if sum(bytes_ for name, bytes_ in plan["memory"].items() if name != "workspace") > limit:
        found.append(f"the plan does not fit: {plan['memory']} of {limit}")
    if plan["blocks"] < 2:
        found.append("the plan has no blocks")
    failed = [f"{way}: exit code {run['code']}: {run['said']}" for way, run in runs.items() if run["code"] != 0]
    if failed or len(runs) < len(WAYS):
        return [*found, *failed, *(f"{way} did not run" for way in WAYS if way not in runs)]
    hashes = {way: run["state_hash"] for way, run in runs.items()}
    if len(set(hashes.values())) != 1:
        found.append(f"states differ: {hashes}")
    for way, run in runs.items():
        if len(run["devices"]) != 2:
            found.append(f"{way}: {len(run['devices'])} ranks told of their GPUs")
        for rank, device in enumerate(run["devices"]):
            if device["limit_bytes"] > limit:
                found.append(f"{way}: rank {rank} might use {device['limit_bytes']} bytes, not {limit}")
            if device["peak_bytes"] > device["limit_bytes"]:
                found.append(f"{way}: rank {rank} took {device['peak_bytes']} of {device['limit_bytes']} bytes")
            if device["sent_bytes"] != device.get("predicted_bytes"):
                found.append(f"{way}: rank {rank} sent {device['sent_bytes']}, predicted {device.get('predicted_bytes')}")
    epochs = options.epochs
    for rank, (device, other) in enumerate(zip(runs["differences"]["devices"], runs["whole"]["devices"])):
        if device["sent_bytes"] != epochs * plan["sent_bytes"][rank]:
            found.append(f"rank {rank} sent {device['sent_bytes']}, the plan said {epochs} × {plan['sent_bytes'][rank]}")
        if device["sent_bytes"] >= other["sent_bytes"]:
            found.append(f"rank {rank} sent {device['sent_bytes']} as differences, {other['sent_bytes']} whole")
    return found


def mib(count):
    return f"{count / 2**20:.1f} MiB"


def of_model(options, model, work):
    """Everything that is seen of a model, printed as it comes."""
    record = {"runs": {}}
    record["whole"] = whole_bytes(options, model)
    cards.say(f"{model}: a rank's half of what would stay on its GPU: {record['whole']}")
    little = {"plan.memory_limit": f"{int(options.limit_mib * TOO_LITTLE)}MiB"}
    record["refused"] = planned(options, model, {**STREAMED, **little})
    cards.say(f"{model}, with {little}: {record['refused']}")
    record["plan"] = planned(options, model, STREAMED)
    cards.say(f"{model}, streamed: {json.dumps(record['plan'], indent=1)}")
    if record["plan"]["code"] == 0:
        for way in WAYS:
            record["runs"][way] = train(options, model, way, work)
            cards.say(f"{model}, {way}: {json.dumps(record['runs'][way], indent=1)}")
            if record["runs"][way]["code"] != 0:
                break
    record["faults"] = faults(options, record)
    for fault in record["faults"]:
        cards.say(f"{model}: FAULT: {fault}")
    return record


def table(record):
    """The record as Markdown."""
    lines = [
        "## A timeline larger than the memory of each rank's GPU",
        "",
        f"{record['machine']['date']}, {record['card']}, 2 ranks {record['by']} on one GPU, {record['limit_mib']} MiB for each, "
        f"16 hidden, {record['epochs']} epochs; `bench/cards/run.sh blocks`. Data: `{record['data']}`.",
        "",
        "| model, run | same bits | seconds an epoch | peak of each rank | sent to each rank's GPU | predicted | commit |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    commit = short(record["machine"]["commit"])
    for model, one in record["models"].items():
        for way, run in one["runs"].items():
            if run["code"] != 0:
                lines.append(f"| {model}, {way} | exit code {run['code']} | | | | | {commit} |")
                continue
            same = "yes" if run["state_hash"] == one["runs"]["differences"].get("state_hash") else "**no**"
            each = {
                key: ", ".join(mib(device[key]) if device.get(key) is not None else "–" for device in run["devices"])
                for key in ("peak_bytes", "sent_bytes", "predicted_bytes")
            }
            lines.append(
                f"| {model}, {way} | {same} | {run['epoch_seconds']:.3f} | {each['peak_bytes']} | {each['sent_bytes']} | "
                f"{each['predicted_bytes']} | {commit} |"
            )
    for model, one in record["models"].items():
        plan, whole = one["plan"], one["whole"]
        if plan["code"] == 0 and whole["code"] == 0:
            sent = ", ".join(mib(bytes_) for bytes_ in plan["sent_bytes"])
            taken = ", ".join(f"{name} {mib(bytes_)}" for name, bytes_ in plan["memory"].items() if bytes_)
            where = "on the host" if plan["block_states"] == "stream" else "on the GPU"
            lines += [
                "",
                f"{model}: a rank's half is {mib(whole['graph'])} of graph and {mib(whole['features'])} of features. The plan "
                f"said before: {plan['blocks']} blocks, states between them {where}, {sent} an epoch; on each GPU {taken}.",
            ]
        lines += ["", *(f"- **{model}: {fault}**" for fault in one["faults"])]
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true", help="does it run at all?")
    parser.add_argument("--threads", action="store_true", help="ranks are threads of one process: needs no mpirun")
    parser.add_argument("--out", type=Path, default=cards.ROOT / "bench" / "results")
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--data", help="a synthetic: name with features=")
    parser.add_argument("--limit-mib", type=int, help="memory of each rank's GPU")
    parser.add_argument("--limit", type=float, default=60, help="seconds that a run may take")
    options = parser.parse_args()
    usual = (TINY, TINY_LIMIT_MIB) if options.tiny else (DATA, LIMIT_MIB)
    name, options.limit_mib = options.data or usual[0], options.limit_mib or usual[1]
    options.epochs = TINY_EPOCHS if options.tiny else EPOCHS
    environment = {**os.environ, **cards.environment(1)}
    said = subprocess.run([cards.ZOETROPE, "doctor", "--json"], capture_output=True, text=True, check=True, env=environment)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        cuda = json.loads(said.stdout)["cuda"]
        record = {
            "machine": cards.machine(),
            "card": ", ".join(device["name"] for device in cuda["devices"]),
            "by": "as threads" if options.threads else "by Open MPI",
            "data": name,
            "limit_mib": options.limit_mib,
            "epochs": options.epochs,
            "models": {},
        }
        cards.say(f"{record['card']}, commit {record['machine']['commit']}, {options.limit_mib} MiB, {name}")
        options.data = name
        for model in options.models:
            record["models"][model] = of_model(options, model, work)
    cards.keep(options.out, {"blocks": record})
    print(table(record))
    return 1 if any(one["faults"] for one in record["models"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
