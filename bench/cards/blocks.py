"""A timeline that is larger than the memory of each rank's GPU, by two ranks on one GPU; run it through `run.sh blocks`.

Trains in blocks whose snapshots are sent as differences, twice, and once with whole snapshots. The exit code is 0 if
every run came to the same bits, no rank took more than its limit, what was copied is what the plan predicted, and a run
that keeps everything on the GPU is refused. Adds its record to cards.json and cards.md.
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

LIMIT_MIB = 600
DATA = "synthetic:power-law?vertices=200k&steps=40&edges=800k&features=32&change=0.05&targets=random"
TINY_LIMIT_MIB = 48
TINY = "synthetic:power-law?vertices=2k&steps=24&edges=30k&features=256&change=0.05&targets=random"
EPOCHS = 3
# What a run that keeps graph and features on the GPU is refused with.
RESOURCE_MISSING, RANK_FAILED = 4, 5


def arguments(options, more):
    keys = {
        "data.split": "none", "task.name": "node-regression", "model.hidden": 16, "train.frame": "all",
        "train.epochs": EPOCHS, "train.device": "cuda", "plan.strategy": "snapshot", "plan.device_transport": "host",
        "plan.timeout": 120, "plan.reuse": "false", "plan.memory_limit": f"{options.limit_mib}MiB", **more,
    }  # fmt: skip
    settings = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
    return ["--data", options.data, "--model", "tm-gcn", *settings]


STREAMED = {"plan.residency": "stream", "plan.difference": "on"}
WAYS = {
    "differences": STREAMED,
    "again": STREAMED,
    "whole": {"plan.residency": "stream", "plan.difference": "off"},
    "resident": {"plan.residency": "resident"},
}


def planned(options):
    """What the plan of two ranks says before anything runs: bytes to the GPU of each in an epoch, and its blocks."""
    command = [cards.ZOETROPE, "plan", "--quiet", "--json", "--ranks", "2", *arguments(options, STREAMED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"zoetrope plan: exit code {done.returncode}\n{done.stderr}")
    plan = json.loads(done.stdout)
    return {"sent_bytes": plan["sent_bytes"], "blocks": plan["blocks"]["count"], "memory": plan["gpu"]["memory"]}


def train(options, name, work):
    """What a run of two ranks says of itself."""
    out = work / name
    shutil.rmtree(out, ignore_errors=True)
    words = ["train", "--quiet", "--out", out, *arguments(options, WAYS[name])]
    job = cards.Job(cards.command(2, words), work, cards.environment(2))
    code, seconds = job.wait(options.limit)
    if code != 0:
        return {"code": code, "seconds": round(seconds, 1), "said": job.text()[-1500:]}
    summary = json.loads((out / "summary.json").read_text())
    return {
        "code": 0,
        "seconds": round(seconds, 1),
        "state_hash": summary["state_hash"],
        "loss": summary["epochs"][-1]["loss"],
        "epoch_seconds": min(epoch["seconds"] for epoch in summary["epochs"][1:]),
        "devices": summary["devices"],
        "streaming": summary["streaming"],
    }


def faults(plan, runs):
    """What is not as it has to be."""
    found = []
    for name in ("differences", "again", "whole"):
        if runs[name]["code"] != 0:
            found.append(f"{name}: exit code {runs[name]['code']}: {runs[name]['said']}")
    if found:
        return found
    hashes = {name: runs[name]["state_hash"] for name in ("differences", "again", "whole")}
    if len(set(hashes.values())) != 1:
        found.append(f"states differ: {hashes}")
    for name in hashes:
        for rank, device in enumerate(runs[name]["devices"]):
            if device["peak_bytes"] > device["limit_bytes"]:
                found.append(f"{name}: rank {rank} took {device['peak_bytes']} of {device['limit_bytes']} bytes")
            if device["sent_bytes"] != device.get("predicted_bytes"):
                found.append(f"{name}: rank {rank} sent {device['sent_bytes']}, predicted {device.get('predicted_bytes')}")
    for rank, device in enumerate(runs["differences"]["devices"]):
        if device["sent_bytes"] != EPOCHS * plan["sent_bytes"][rank]:
            found.append(f"rank {rank} sent {device['sent_bytes']}, the plan said {EPOCHS} × {plan['sent_bytes'][rank]}")
    refused = runs["resident"]
    # mpirun ends with the code of one of its ranks: of one that had no memory, or of one that lost the other.
    if refused["code"] not in (RESOURCE_MISSING, RANK_FAILED) or "out of memory on the device" not in refused["said"]:
        found.append(f"resident: exit code {refused['code']}: {refused.get('said', 'it fitted')}")
    return found


def mib(count):
    return f"{count / 2**20:.1f} MiB"


def table(record):
    """The record as Markdown."""
    plan, runs = record["plan"], record["runs"]
    lines = [
        "## A timeline larger than the memory of each rank's GPU",
        "",
        f"{record['machine']['date']}, commit `{record['machine']['commit'][:12]}`, {record['card']}, 2 ranks by Open MPI on "
        f"one card, {record['limit_mib']} MiB for each; `bench/cards/run.sh blocks`.",
        "",
        f"Data: `{record['data']}`, TM-GCN with 16 hidden, one frame in {plan['blocks']} blocks, {EPOCHS} epochs. A rank "
        "that keeps graph and features on the GPU is refused: exit code "
        f"{runs['resident']['code']}.",
        "",
        "| run | same bits | seconds an epoch | peak of each rank | sent to each rank's GPU | predicted | commit |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in ("differences", "again", "whole"):
        run, commit = runs[name], short(record["machine"]["commit"])
        if run["code"] != 0:
            lines.append(f"| {name} | exit code {run['code']} | | | | | {commit} |")
            continue
        same = "yes" if run["state_hash"] == runs["differences"].get("state_hash") else "**no**"
        each = {
            key: ", ".join(mib(device[key]) if device.get(key) is not None else "–" for device in run["devices"])
            for key in ("peak_bytes", "sent_bytes", "predicted_bytes")
        }
        lines.append(
            f"| {name} | {same} | {run['epoch_seconds']:.3f} | {each['peak_bytes']} | {each['sent_bytes']} | "
            f"{each['predicted_bytes']} | {commit} |"
        )
    sent = ", ".join(mib(bytes_) for bytes_ in plan["sent_bytes"])
    taken = ", ".join(f"{name} {mib(bytes_)}" for name, bytes_ in plan["memory"].items() if bytes_)
    lines += ["", f"`zoetrope plan --ranks 2` said before: {sent} an epoch; on each GPU {taken}."]
    lines += ["", *(f"- **{fault}**" for fault in record["faults"])]
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="does it run at all?")
    parser.add_argument("--out", type=Path, default=cards.ROOT / "bench" / "results")
    parser.add_argument("--limit", type=float, default=60, help="seconds that a run may take")
    options = parser.parse_args()
    options.data, options.limit_mib = (TINY, TINY_LIMIT_MIB) if options.tiny else (DATA, LIMIT_MIB)
    said = subprocess.run([cards.ZOETROPE, "doctor", "--json"], capture_output=True, text=True, check=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        cuda = json.loads(said.stdout)["cuda"]
        record = {
            "machine": cards.machine(),
            "card": ", ".join(device["name"] for device in cuda["devices"]),
            "data": options.data,
            "limit_mib": options.limit_mib,
            "plan": planned(options),
            "runs": {},
        }
        cards.say(f"{record['card']}: {record['plan']}")
        for name in WAYS:
            record["runs"][name] = train(options, name, work)
            cards.say(f"{name}: {record['runs'][name]}")
        record["faults"] = faults(record["plan"], record["runs"])
    cards.keep(options.out, {"blocks": record})
    print(table(record))
    return 1 if record["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
