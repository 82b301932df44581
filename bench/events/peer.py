"""One peer trains on the events in a process of its own and prints one JSON line.

usage: peer.py JOB, a JSON object: peer, model, table, batch, epochs, threads, rate, seed; device (PyG
alone: the others stay on the CPU) and evaluate (false leaves the scores out) if they are given.

An epoch starts from empty memory and goes through the training events once. After each the
validation and the test events are scored, one negative for each event, memory carried on. Reading
the data, the loop over epochs and the metrics are not timed.
"""

import importlib
import json
import sys
import time

import numpy
import torch
from scores import judge
from workload import load

MODULES = {"pyg": "pyg_tgn", "tgm": "tgm_tgn", "tgl": "tgl_models", "tglite": "tglite_models"}


def resident(key):
    """Bytes from /proc: VmRSS now, VmHWM at most so far."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(key))


def timed(work):
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def main():
    job = json.loads(sys.argv[1])
    torch.set_num_threads(job["threads"])
    torch.manual_seed(job["seed"])
    numpy.random.seed(job["seed"])
    module = importlib.import_module(MODULES[job["peer"]])
    imported = resident("VmRSS")
    contestant = module.Contestant(job, load(job["table"]))
    report = {"seconds": [], "losses": [], "evaluations": []}
    for _ in range(job["epochs"]):
        seconds, loss = timed(contestant.train)
        report["seconds"].append(seconds)
        report["losses"].append(loss)
        found = {}
        for part in ("val", "test") if job.get("evaluate", True) else ():
            seconds, batches = timed(lambda part=part: contestant.score(part))
            found[part] = {**judge(batches), "seconds": seconds}
        report["evaluations"].append(found)
        score = f", test AP {found['test']['ap']:.4f}" if found else ""
        print(f"epoch {len(report['seconds'])}: {report['seconds'][-1]:.1f} s, loss {loss:.4f}{score}", file=sys.stderr, flush=True)
    print(json.dumps({**report, "peak_bytes": resident("VmHWM"), "import_bytes": imported,
                      "peak_device_bytes": torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0}))


if __name__ == "__main__":
    main()
