"""The kernels of Zoetrope and of PyTorch on the same sizes, in turn, on the same cores.

Run it through `bench/kernels/run.sh`, which makes the environment. Prints tables, writes
`bench/results/kernels.json` (every figure, machine, versions, commit) and `kernels.svg`.

Both sides are processes that wait for a case, measure it and answer; a round asks first one, then the
other, for every case, and pauses in between so that the threads of the one have gone to sleep. Results
are compared at 64 places before times count.

What stands in the tables:

- µs: the shortest run and the median of all rounds.
- GB/s: bytes that the loop loads and stores. A gathered row counts each time, from whichever cache it
  comes, so that this may exceed what memory streams.
- of stream: GB/s as a share of the machine's best stream (reading, copying or triad, arrays of 256 MiB).
- of floor (sparse products): what the memory system gives for this access pattern, as a share. The floor
  is the time of a loop that only loads the rows of x that the columns name, in the same order and the
  same width, and adds them to registers without weights, ends of rows or results (best of four prefetch
  distances), plus the time of a loop that only reads values and offsets and writes y. Both are measured
  with the same arrays in the same run, in whichever caches they fit; see `src/sparse.rs`.
- of gemm: GFLOP/s as a share of the best rate of our own large matrix products.
- × torch: PyTorch's shortest time over ours, in brackets the same of medians.
"""
import argparse
import json
import math
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
from machine import machine, stamped  # noqa: E402
from side import Side  # noqa: E402

WORK = ROOT / "target" / "bench-kernels"
RESULTS = ROOT / "bench" / "results"
OURS = ROOT / "target" / "release" / "bench-kernels"
WIDTHS = [2, 6, 16, 32, 64, 128, 256]


def cases(quick):
    seconds = 0.05 if quick else 0.25
    for graph in ["d4"] if quick else ["d4", "d5"]:
        for snapshots in [1, 8]:
            for width in WIDTHS:
                for backward in [False, True]:
                    yield dict(kernel="spmm", graph=graph, snapshots=snapshots, width=width, backward=backward,
                               seconds=2 * seconds)
        for kernel in ["gather", "scatter"]:
            for width in [2, 16, 32, 64, 128]:
                yield dict(kernel=kernel, graph=graph, width=width, backward=False, seconds=seconds)
    vertices = 2000 if quick else 20000
    for kernel in ["gru", "lstm"]:
        for width in [32, 64, 128]:
            for backward in [False, True]:
                yield dict(kernel=kernel, steps=8, vertices=vertices, width=width, backward=backward, seconds=seconds)
    for width in [32, 64, 128]:
        for backward in [False, True]:
            yield dict(kernel="attention", steps=8, vertices=vertices // 4, width=width, heads=8, backward=backward,
                       seconds=seconds)


def name(case):
    kernel, way = case["kernel"], "back" if case["backward"] else "forward"
    if kernel == "spmm":
        return f"spmm {case['graph']} ×{case['snapshots']} w{case['width']} {way}"
    if kernel in ("gather", "scatter"):
        return f"{kernel} {case['graph']} w{case['width']}"
    return f"{kernel} T{case['steps']} N{case['vertices']} h{case['width']} {way}"


def compared(case, ours, theirs):
    """Refuses results that differ by more than rounding in another order explains."""
    scale = max(1e-6, max(abs(value) for value in theirs))
    worst = max(abs(a - b) for a, b in zip(ours, theirs, strict=True)) / scale
    # Gradients of recurrent units pass through eight steps of sums; the rest is one sum.
    if worst > (1e-3 if case["kernel"] in ("gru", "lstm") else 1e-4):
        sys.exit(f"{name(case)}: results differ by {worst:.1e} of the largest")
    return worst


def measure(chosen, rounds, threads):
    environment = {"RAYON_NUM_THREADS": str(threads)}
    ours = Side([OURS, "serve"], environment)
    theirs = Side([sys.executable, ROOT / "bench" / "kernels" / "twin.py", WORK], environment)
    rates = ours.ask({"kernel": "machine", "seconds": 0.5})["rates"]
    records = [{"case": case, "name": name(case), "ours": [], "torch": [], "parts": {}} for case in chosen]
    for turn in range(rounds):
        for record in records:
            case = record["case"]
            if sys.stderr.isatty():
                print(f"\rround {turn + 1} of {rounds}: {record['name']:40}", end="", file=sys.stderr)
            us, them = ours.ask(case), theirs.ask(case)
            record["difference"] = compared(case, us["sample"], them["sample"])
            record.update(bytes=us["bytes"], flops=us["flops"])
            record["ours"] += us["seconds"]
            record["torch"] += them["seconds"]
            for part, seconds in us["parts"].items():
                record["parts"].setdefault(part, []).extend(seconds)
    if sys.stderr.isatty():
        print("\r" + 60 * " ", file=sys.stderr)
    again = ours.ask({"kernel": "machine", "seconds": 0.5})["rates"]
    ours.close()
    theirs.close()
    return records, {key: max(rate, again[key]) for key, rate in rates.items()}


def summary(record, rates, threads):
    stream = max(rates[f"{kind}_{threads}"] for kind in ("read", "copy", "triad"))
    ours, torch = (dict(min_s=min(record[side]), median_s=statistics.median(record[side]), runs=len(record[side]))
                   for side in ("ours", "torch"))
    result = {
        "name": record["name"], "case": record["case"], "ours": ours, "torch": torch,
        "difference": record["difference"], "bytes": record["bytes"], "flops": record["flops"],
        "of_stream": record["bytes"] / ours["min_s"] / stream,
        "of_gemm": record["flops"] / ours["min_s"] / rates[f"gemm_{threads}"],
        "times_torch_min": torch["min_s"] / ours["min_s"],
        "times_torch_median": torch["median_s"] / ours["median_s"],
    }
    if record["parts"]:
        parts = {part: min(seconds) for part, seconds in record["parts"].items()}
        gather = min(seconds for part, seconds in parts.items() if part.startswith("gather"))
        floor = gather + parts["stream"]
        result.update(parts=parts, floor_s=floor, of_floor=floor / ours["min_s"])
    return result


def table(results):
    lines = [
        "| kernel | ours µs, min (median) | torch µs, min (median) | GB/s | GFLOP/s | of stream | of floor | of gemm "
        "| × torch |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for result in results:
        times = " | ".join(
            f"{1e6 * result[side]['min_s']:,.0f} ({1e6 * result[side]['median_s']:,.0f})" for side in ("ours", "torch"))
        seconds = result["ours"]["min_s"]
        floor = f"{result['of_floor']:.0%}" if "of_floor" in result else ""
        lines.append(
            f"| {result['name']} | {times} | {result['bytes'] / seconds * 1e-9:.1f} | "
            f"{result['flops'] / seconds * 1e-9:.1f} | {result['of_stream']:.0%} | {floor} | {result['of_gemm']:.0%} | "
            f"{result['times_torch_min']:.2f} ({result['times_torch_median']:.2f}) |")
    return "\n".join(lines)


def picture(results):
    """One bar a case, how many times PyTorch's shortest time, on a logarithmic scale from 1/4 to 64."""
    row, left, width, low, high = 15, 250, 480, math.log2(0.25), math.log2(64)
    at = lambda factor: left + width * (min(high, max(low, math.log2(factor))) - low) / (high - low)
    height = 70 + row * len(results)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 150}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="10" y="20" font-size="14">Kernels: how many times as fast as PyTorch (shortest runs); '
        "share of the floor of a sparse product</text>",
    ]
    for factor in [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64]:
        colour = "#334155" if factor == 1 else "#e2e8f0"
        parts.append(f'<line x1="{at(factor):.1f}" y1="40" x2="{at(factor):.1f}" y2="{height - 20}" stroke="{colour}"/>')
        parts.append(f'<text x="{at(factor):.1f}" y="36" text-anchor="middle">{factor:g}</text>')
    for index, result in enumerate(results):
        y, factor = 46 + row * index, result["times_torch_min"]
        start, end = sorted([at(1), at(factor)])
        colour = "#c2410c" if factor >= 1 else "#64748b"
        floor = f", {result['of_floor']:.0%} of the floor" if "of_floor" in result else ""
        parts.append(f'<text x="{left - 6}" y="{y + 9}" text-anchor="end">{result["name"]}</text>')
        parts.append(
            f'<rect x="{start:.1f}" y="{y}" width="{max(1, end - start):.1f}" height="{row - 4}" fill="{colour}"/>')
        parts.append(f'<text x="{max(end, at(1)) + 5:.1f}" y="{y + 9}">{factor:.2f}{floor}</text>')
    return "\n".join(parts + ["</svg>"])


def versions(threads):
    import torch

    return {**machine(), "threads": threads, "python": platform.python_version(), "torch": torch.__version__}


def main():
    parser = argparse.ArgumentParser(description="Times the kernels against PyTorch's.")
    parser.add_argument("--quick", action="store_true", help="the smaller graph, one round; writes no results")
    parser.add_argument("--only", default="", help="only cases whose name contains this; writes no results")
    parser.add_argument("--rounds", type=int, help="rounds of all cases, 3 unless --quick")
    parser.add_argument("--threads", type=int, default=2, help="threads of both sides")
    wish = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    if not (WORK / "d5.bin").exists():
        subprocess.run([OURS, "graphs", WORK], check=True)
    chosen = [case for case in cases(wish.quick) if wish.only in name(case)]
    rounds = wish.rounds or (1 if wish.quick else 3)
    records, rates = measure(chosen, rounds, wish.threads)
    results = [summary(record, rates, wish.threads) for record in records]
    shown = ", ".join(f"{key} {rate * 1e-9:.1f}" for key, rate in sorted(rates.items()))
    print(f"The machine, GB/s and GFLOP/s by threads: {shown}\n")
    print(table(results))
    if not wish.quick and not wish.only:
        RESULTS.mkdir(exist_ok=True)
        report = {"versions": versions(wish.threads), "rounds": rounds, "machine": rates, "results": stamped(results)}
        (RESULTS / "kernels.json").write_text(json.dumps(report, indent=1) + "\n")
        (RESULTS / "kernels.svg").write_text(picture(results) + "\n")


if __name__ == "__main__":
    main()
