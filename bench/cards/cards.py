"""Trains by linked GPUs and by way of the host, side by side; run it through `run.sh`.

By NCCL also with every kernel launched by itself instead of recorded updates, which run in parts with NCCL between them.

Adds its record to cards.json (every figure) and cards.md. The exit code is 0 if all runs of a model and a strategy came to the
same bits and every rank that was killed was named within 15 s.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "hosts")]
from job import MPIRUN, Job, descendants  # noqa: E402
from machine import commit_of, machine, stamped  # noqa: E402

START = time.monotonic()
ZOETROPE = Path(os.environ.get("ZOETROPE", ROOT / "target" / "release" / "zoetrope")).resolve()
MODELS = ["tgcn", "tm-gcn", "cd-gcn", "evolvegcn-o"]
STRATEGIES = ["snapshot", "hypergraph"]
WAYS = ["host", "nccl"]
# By NCCL, without recordings.
LAUNCHED = "launched"
# Seconds in which survivors have to name a rank that was killed (reliability goal R5).
NAMED_WITHIN = 15
DATA = "synthetic:aml?accounts=20000&days=60&events=1200000&patterns=20"
TINY = "synthetic:aml?accounts=200&days=20&events=4000&patterns=4"


def say(text):
    print(f"[{time.monotonic() - START:4.0f} s] {text}", flush=True)


def nccl_folder():
    """Where Python's packages have NCCL; empty if they have none."""
    looked = "import nvidia.nccl as found; print(list(found.__path__)[0] + '/lib')"
    done = subprocess.run([sys.executable, "-c", looked], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def environment(ranks):
    """What lets ranks that share a GPU be linked."""
    folders = [nccl_folder(), os.environ.get("LD_LIBRARY_PATH", "")]
    shared = {"ZOETROPE_SHARE_CARD": "1", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"} if ranks > 1 else {}
    return {"LD_LIBRARY_PATH": ":".join(filter(None, folders)), **shared}


def command(ranks, arguments):
    """A run by so many ranks, each on a host of its own as far as NCCL knows."""
    program = [str(ZOETROPE), *map(str, arguments)]
    if ranks == 1:
        return program
    host = 'NCCL_HOSTID=host$OMPI_COMM_WORLD_RANK exec "$@"'
    return [*MPIRUN, "-n", str(ranks), "sh", "-c", host, "sh", *program]


def arguments(options, ranks, model, strategy, way, out, epochs):
    # What one rank would not read is refused.
    transport = {"plan.device_transport": "nccl", "plan.record": "false"} if way == LAUNCHED else {"plan.device_transport": way}
    shared = {"plan.strategy": strategy, "plan.timeout": 30, **transport} if ranks > 1 else {}
    keys = {
        "data.window": "1d", "data.split": "none", "data.features": "degree", "task.name": "link-prediction",
        "task.theta": 0.01, "train.frame": 10, "train.stride": 10, "train.epochs": epochs,
        "train.device": "cuda", **shared,
    }  # fmt: skip
    if not model.startswith("evolvegcn"):  # it is as wide as the features
        keys["model.hidden"] = 16
    settings = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
    return ["train", "--quiet", "--data", options.data, "--model", model, "--out", out, *settings]


def train(options, ranks, model, strategy, way, work):
    """What one run says of itself."""
    out = work / f"{ranks}-{model}-{strategy}-{way}"
    shutil.rmtree(out, ignore_errors=True)
    job = Job(command(ranks, arguments(options, ranks, model, strategy, way, out, options.epochs)), work, environment(ranks))
    code, seconds = job.wait(options.limit)
    if code != 0:
        say(f"  {model} {strategy} {way}: exit code {code} after {seconds:.0f} s\n{job.text()[-1500:]}")
        return {"failed": code if code is not None else "too slow", "said": job.text()[-1500:]}
    summary = json.loads((out / "summary.json").read_text())
    epochs = summary["epochs"]
    return {
        "state_hash": summary["state_hash"],
        "loss": epochs[-1]["loss"],
        # The first epoch compiles and connects.
        "epoch_seconds": min(epoch["seconds"] for epoch in epochs[1:] or epochs),
        "device_transport": summary.get("device_transport"),
        "bytes": summary["bytes"],
    }


def strike(options, way, work):
    """Kills one of two ranks in the middle of a run: who is named, and when."""
    out = work / f"struck-{way}"
    shutil.rmtree(out, ignore_errors=True)
    job = Job(command(2, arguments(options, 2, "tgcn", "snapshot", way, out, 100000)), work, environment(2))
    metrics, deadline = out / "metrics.jsonl", time.monotonic() + options.limit
    while not (metrics.exists() and len(metrics.read_text().splitlines()) > 2):
        if time.monotonic() > deadline or job.process.poll() is not None:
            job.wait(0)
            return {"failed": "it did not come to its third epoch", "said": job.text()[-1500:]}
        time.sleep(0.02)
    victim = None
    for pid in descendants(job.process.pid):
        try:
            variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            is_program = Path(f"/proc/{pid}/exe").resolve() == ZOETROPE
        except OSError:
            continue
        if is_program and b"OMPI_COMM_WORLD_RANK=1" in variables:
            victim = pid
    struck = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    code, _ = job.wait(60)
    named = next((at for at, line in job.lines if re.search(r"rank 1 ended", line)), None)
    said = next((line for _, line in job.lines if "rank 1 ended" in line), job.text()[-1500:])
    return {
        "code": code,
        "named_after": None if named is None else round(named - struck, 2),
        "orphans": len(job.orphans()),
        "said": said,
    }


def table(result):
    """The records as Markdown."""
    lines = [
        "# GPUs that are linked, against the way by the host",
        "",
        f"{result['machine']['date']}, {result['card']}, NCCL {result['nccl']}, "
        f"2 ranks by Open MPI on one GPU; `bench/cards/run.sh`. NCCL takes them for ranks of two hosts and moves bytes over "
        "sockets of one machine, so that seconds tell that it works, not how fast GPUs of their own would be.",
        "",
        f"Data: `{result['data']}`, windows of a day, frames of 10, 16 hidden.",
        "",
        "| model | strategy | same bits | seconds an epoch, host | seconds an epoch, NCCL | the same without recordings | one rank alone | device to host, host | device to host, NCCL | between ranks | commit |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    alone = {row["model"]: row["alone"].get("epoch_seconds") for row in result["alone"]}
    for row in result["runs"]:
        host, nccl = row["host"], row["nccl"]
        if "failed" in host or "failed" in nccl:
            lines.append(f"| {row['model']} | {row['strategy']} | failed: {host.get('failed')} {nccl.get('failed')} | | | | | | | | {commit_of(row)} |")
            continue
        mib = [f"{one['bytes']['device_to_host'] / 2**20:.1f} MiB" for one in (host, nccl)]
        # Rows of before had no such run.
        launched = row.get(LAUNCHED, {}).get("epoch_seconds")
        moved = sum(nccl["bytes"][kind] for kind in ("all_to_all", "all_reduce")) / 2**20
        lines.append(
            f"| {row['model']} | {row['strategy']} | {'yes' if row['same'] else '**no**'} | {host['epoch_seconds']:.3f} | "
            f"{nccl['epoch_seconds']:.3f} | {'–' if launched is None else f'{launched:.3f}'} | {alone[row['model']] or float('nan'):.3f} | {mib[0]} | {mib[1]} | {moved:.1f} MiB | {commit_of(row)} |"
        )
    lines += [
        "",
        "Bytes are those of the whole run and of the first rank, bytes between ranks those of all. One rank has the GPU for itself, sends "
        "nothing and launches recorded updates: on one GPU ranks only cost.",
    ]
    lines += ["", "A rank that is killed in the middle of a run:", "", "| way | exit code | named after | left behind | commit |", "| --- | --- | --- | --- | --- |"]
    for way, one in result["struck"].items():
        after = one.get("named_after")
        lines.append(f"| {way} | {one.get('code')} | {'**not**' if after is None else f'{after} s'} | {one.get('orphans')} | {commit_of(one, result['machine'])} |")
    return "\n".join(lines) + "\n"


def keep(folder, record):
    """Puts a record in the place of the one before. What else is there (a record of blocks beside that of links, or the other
    way round) stays, with its own commits."""
    import blocks  # noqa: PLC0415, it needs this module

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "cards.json"
    before = json.loads(path.read_text()) if path.exists() else {}
    if "blocks" in record:
        result = {**before, **record}
    else:
        result = {**record, **({"blocks": before["blocks"]} if "blocks" in before else {})}
    path.write_text(json.dumps(result, indent=1) + "\n")
    parts = [table(result)] if "runs" in result else []
    parts += [blocks.table(result["blocks"])] if "blocks" in result else []
    (folder / "cards.md").write_text("\n".join(parts))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="does it run at all?")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results")
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--limit", type=float, default=60, help="seconds that a run may take")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        options.data = TINY if options.tiny else work / "payments.zoe"
        if not options.tiny:
            subprocess.run([ZOETROPE, "data", "generate", DATA, "--out", options.data, "--quiet"], check=True)
        said = subprocess.run([ZOETROPE, "doctor", "--json"], capture_output=True, text=True, check=True, env={**os.environ, **environment(1)})
        cuda = json.loads(said.stdout)["cuda"]
        result = {
            "machine": machine(),
            "card": ", ".join(device["name"] for device in cuda["devices"]),
            "nccl": (cuda["link"] or {}).get("version"),
            "data": TINY if options.tiny else DATA,
            "runs": [],
            "alone": [],
            "struck": {},
        }
        say(f"{result['card']}, NCCL {result['nccl']}")
        fine = True
        for model in options.models:
            for strategy in STRATEGIES:
                row = {"model": model, "strategy": strategy}
                for way in (*WAYS, LAUNCHED):
                    row[way] = train(options, 2, model, strategy, way, work)
                ended = all("failed" not in row[way] for way in (*WAYS, LAUNCHED))
                row["same"] = ended and len({row[way]["state_hash"] for way in (*WAYS, LAUNCHED)}) == 1
                used = ended and row["nccl"]["device_transport"]["name"] == "nccl"
                fine = fine and row["same"] and used
                seconds = [row[way].get("epoch_seconds") for way in (*WAYS, LAUNCHED)]
                say(f"{model} {strategy}: same bits {row['same']}, seconds {seconds}, {row['nccl'].get('device_transport')}")
                result["runs"].append(row)
            row = {"model": model, "alone": train(options, 1, model, "snapshot", "auto", work)}
            say(f"{model} alone: {row['alone'].get('epoch_seconds')}, loss {row['alone'].get('loss')}")
            result["alone"].append(row)
        for way in WAYS:
            found = strike(options, way, work)
            say(f"killed by way of {way}: {found}")
            result["struck"][way] = found
            after = found.get("named_after")
            fine = fine and after is not None and after < NAMED_WITHIN
    result["runs"], result["alone"] = stamped(result["runs"]), stamped(result["alone"])
    keep(options.out, result)
    print(table(result))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
