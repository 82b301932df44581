"""Zoetrope, pandas and polars read the same files, in turn, on the same cores.

Run it through `bench/ingest/run.sh`, which makes the environment. Prints a table, writes
`bench/results/ingest.json` (every figure, machine, versions, commit) and `ingest.svg`.
"""
import gzip
import json
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
from machine import machine, stamped  # noqa: E402

WORK = ROOT / "target" / "bench-ingest"
RESULTS = ROOT / "bench" / "results"
READER = ROOT / "target" / "release" / "bench-ingest"
ZOETROPE = ROOT / "target" / "release" / "zoetrope"
GRAPH = ROOT / "target" / "release" / "bench-graph"
PEERS = ["zoetrope", "pandas", "pandas-store", "polars"]
ROUNDS = 5
COLOURS = {"zoetrope": "#c2410c", "pandas": "#94a3b8", "pandas-store": "#64748b", "polars": "#0ea5e9"}


def files():
    """The files to read, unpacked; shared ones only if they are there."""
    WORK.mkdir(parents=True, exist_ok=True)
    shared = ROOT.parent / "shared" / "data"
    for name in ["wikipedia/wikipedia.csv", "nycflights13/nycflights13.csv", "sx-mathoverflow/sx-mathoverflow.txt"]:
        packed, plain = shared / f"{name}.gz", WORK / pathlib.Path(name).name
        if packed.exists():
            with gzip.open(packed) as source, open(plain, "wb") as target:
                shutil.copyfileobj(source, target)
            yield plain
        else:
            print(f"left out: {packed} is not there", file=sys.stderr)
    generated = WORK / "generated-5m.csv"
    if not generated.exists():
        name = "synthetic:bipartite?events=5000000&users=200000&items=20000&features=0"
        subprocess.run([ZOETROPE, "data", "generate", name, "--out", generated], check=True)
    yield generated


def one(peer, path, repeats):
    if peer == "zoetrope":
        command = [READER, path, str(repeats)]
    else:
        command = [sys.executable, ROOT / "bench" / "ingest" / "peers.py", peer, path, str(repeats)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(path):
    """Several rounds, each of them every peer once in a process of its own."""
    repeats = 15 if path.stat().st_size < 50e6 else 5
    runs = {peer: [] for peer in PEERS}
    for _ in range(ROUNDS):
        for peer in PEERS:
            runs[peer].append(one(peer, path, repeats))
    result = {"file": path.name, "bytes": path.stat().st_size}
    for peer, records in runs.items():
        seconds = [value for record in records for value in record["seconds"]]
        result[peer] = {
            "median_s": statistics.median(seconds),
            "min_s": min(seconds),
            "extra_bytes": min(record["peak_bytes"] - record["before_bytes"] for record in records),
            "seconds": seconds,
        }
    first = runs["zoetrope"][0]
    result.update({key: first[key] for key in ["events", "vertices", "sorted", "store_bytes"]})
    return result


def ratios(result):
    ours = result["zoetrope"]
    return {
        peer: (result[peer]["median_s"] / ours["median_s"], result[peer]["min_s"] / ours["min_s"])
        for peer in PEERS[1:]
    }


def table(results):
    lines = [
        "| file | events | zoetrope to store | pandas read_csv | pandas to store | polars read_csv "
        "| × pandas read | × pandas store | × polars | memory / store |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for result in results:
        times = " | ".join(
            f"{1e3 * result[peer]['median_s']:.1f} ({1e3 * result[peer]['min_s']:.1f})" for peer in PEERS
        )
        by = ratios(result)
        factors = " | ".join(f"{by[peer][0]:.1f} ({by[peer][1]:.1f})" for peer in PEERS[1:])
        memory = result["zoetrope"]["extra_bytes"] / result["store_bytes"]
        lines.append(f"| {result['file']} | {result['events']:,} | {times} | {factors} | {memory:.2f} |")
    return "\n".join(lines)


def picture(results):
    """Horizontal bars, one group a file, milliseconds scaled to the slowest of the group."""
    bar, gap, left, width = 16, 26, 190, 520
    height = len(results) * (len(PEERS) * bar + gap) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 170}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="10" y="20" font-size="14">Reading events: median milliseconds, two threads</text>',
    ]
    y = 40
    for result in results:
        slowest = max(result[peer]["median_s"] for peer in PEERS)
        parts.append(f'<text x="10" y="{y + 12}" font-weight="bold">{result["file"]}</text>')
        for peer in PEERS:
            seconds = result[peer]["median_s"]
            length = max(1, width * seconds / slowest)
            parts.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{bar - 3}" fill="{COLOURS[peer]}"/>')
            parts.append(f'<text x="{left + length + 6:.1f}" y="{y + 11}">{1e3 * seconds:.1f} {peer}</text>')
            y += bar
        y += gap
    return "\n".join(parts + ["</svg>"])


def versions():
    import pandas
    import polars

    about = machine()
    return {
        **about,
        "threads": about["cores"],
        "python": platform.python_version(),
        "pandas": pandas.__version__,
        "polars": polars.__version__,
    }


def main():
    results = [measure(path) for path in files()]
    RESULTS.mkdir(exist_ok=True)
    report = {"versions": versions(), "rounds": ROUNDS, "results": stamped(results)}
    (RESULTS / "ingest.json").write_text(json.dumps(report, indent=1) + "\n")
    (RESULTS / "ingest.svg").write_text(picture(results) + "\n")
    print("Median milliseconds (minimum); factors are peer / zoetrope of medians (of minima).\n")
    print(table(results))


if __name__ == "__main__":
    main()
