"""The same runs by threads, by processes of one host, and by processes of two hosts: the same bits, and what it takes.

The hosts are network namespaces with an address each (crates/zoetrope-testkit/hosts/two_hosts.sh).
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from machine import commit_of, machine  # noqa: E402

from job import MPIRUN, Job, state_hash  # noqa: E402

RESULTS = ROOT / "bench" / "results"
TWO_HOSTS = str(ROOT / "crates/zoetrope-testkit/hosts/two_hosts.sh")
CASES = [("tm-gcn", "snapshot"), ("cd-gcn", "snapshot"), ("cd-gcn", "hypergraph"), ("evolvegcn-o", "snapshot"), ("tm-gcn", "hybrid")]
DATA = "synthetic:sbm?vertices=2000&steps=24&communities=20"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--epochs", default="5")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    program = str(Path(os.environ.get("ZOETROPE", ROOT / "target/release/zoetrope")).resolve())
    rows, equal, there = [], True, machine()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for ranks in options.ranks.split(","):
            for model, strategy in CASES:
                if strategy == "hybrid" and int(ranks) < 4:
                    continue
                job = [
                    "train", "--data", DATA, "--task", "link-prediction", "--model", model,
                    "--frame", "12", "--stride", "4", "--epochs", options.epochs, "--set", f"plan.strategy={strategy}",
                    "--threads", "1", "--quiet",
                ]  # fmt: skip
                if not model.startswith("evolvegcn"):  # it is as wide as the features
                    job += ["--hidden", "16"]
                hashes = set()
                for engine, hosts, start, more in [
                    ("threads", 1, [], ["--ranks", ranks]),
                    ("Open MPI", 1, [*MPIRUN, "-n", ranks], []),
                    ("Open MPI over TCP", 2, [TWO_HOSTS, ranks], []),
                ]:
                    out = f"{model}-{strategy}-{ranks}-{hosts}-{engine.replace(' ', '-')}"
                    running = Job([*start, program, *job, "--out", out, *more], folder, {"TMPDIR": str(folder)})
                    code, seconds = running.wait(600)
                    if code != 0:
                        sys.exit(f"{engine} on {hosts} hosts ended with {code}:\n{running.text()}")
                    found = state_hash(folder / out)
                    hashes.add(found)
                    rows.append((model, strategy, ranks, engine, hosts, found[:16], f"{seconds:.1f}", commit_of(there)))
                    print(*rows[-1], flush=True)
                equal &= len(hashes) == 1
    lines = [
        "| model | strategy | ranks | engine | hosts | state_hash | seconds | commit |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        *("| " + " | ".join(map(str, row)) + " |" for row in rows),
    ]
    verdict = "Every engine comes to the same bits." if equal else "THE BITS DIFFER."
    text = (
        f"Training by threads, by processes of one host and by processes of two hosts (`bench/hosts/hosts.py`): {DATA}, "
        f"link prediction, {options.epochs} epochs, one thread a rank. {there['cpu']}, {there['cores']} cores, {there['date']}. "
        f"Seconds are of the whole command, with the launcher, reading and evaluation; all "
        f"ranks share the cores of one machine.\n\n" + "\n".join(lines) + f"\n\n{verdict}\n"
    )
    (options.out / "ranks-hosts.md").write_text(text)
    print(verdict)
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main()
