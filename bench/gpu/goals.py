"""What is asked of one GPU, and whether what was measured meets it."""

import statistics

RESIDENT, STREAMED, EVENTS, BUSY, MEMORY = 20, 8, 15, 0.9, 1 / 3
CASES = 12


def goals(report):
    """(what is asked, what was found, whether it is met) for each goal that was measured."""
    parts = report["parts"]
    return [goal for name, find in FINDERS.items() if name in parts for goal in find(parts[name], report)]


def conformance(part, _):
    if suite := part.get("suite"):
        yield "conformance: every operator and model, CPU against GPU", suite["verdict"], suite["passes"]


def frames(part, _):
    rows = {name: row for name, row in part.get("rows", {}).items() if "peer" in row}
    for kind, limit, label in (("resident", RESIDENT, "data on the GPU"), ("streamed", STREAMED, "every frame streamed")):
        ratios = {name: row["peer"]["ms"] / row[kind]["ms"] for name, row in rows.items() if kind in row}
        if ratios:
            worst, met = min(ratios, key=ratios.get), sum(ratio >= limit for ratio in ratios.values())
            text = f"{met} of {len(ratios)}, least {ratios[worst]:.1f} × ({worst})"
            yield f"at least {limit} × PyG-Temporal in each of {CASES} cases, {label}", text, met == CASES
    if (row := rows.get("D6 mpnn-lstm")) and "resident" in row:
        share = row["resident"]["peak_bytes"] / row["peer"]["peak_bytes"] if row["peer"]["peak_bytes"] else 1.0
        text = f"{row['resident']['peak_bytes'] / (1 << 30):.3g} of {row['peer']['peak_bytes'] / (1 << 30):.3g} GiB, {share:.2f}"
        yield "D6 mpnn-lstm within a third of the peer's memory", text, share <= MEMORY


def epochs(found):
    """The seconds of a side's epochs; the first of a process is dropped if it has another."""
    return found["seconds"][1:] or found["seconds"]


def tgn(part, _):
    for batch, row in part.get("rows", {}).items():
        if {"pyg", "zoetrope"} <= row.keys():
            peer, mine = (epochs(row[who]) for who in ("pyg", "zoetrope"))
            ratio = statistics.median(peer) / statistics.median(mine)
            text = f"{ratio:.1f} × of medians, {min(peer) / min(mine):.1f} × of minima"
            yield f"TGN, batch {batch}: at least {EVENTS} × PyG's example", text, ratio >= EVENTS


def untraced(report, name, row):
    """The GPU's busy share of an epoch without a trace, whose own cost lies between kernels; None if no epoch was timed."""
    timed = report["parts"].get("frames", {}).get("rows", {}).get(name, {}).get(row["variant"])
    return min(1.0, row["busy_ms"] / (timed["ms"] * timed["frames"])) if timed else None


def trace(part, report):
    for name, row in part.get("rows", {}).items():
        if row["variant"] == "streamed":
            text = f"{100 * row['overlapped']:.0f} % of the copying beside computing"
            yield f"{name} streamed: copies and computing overlap", text, row["overlapped"] > 0
        else:
            share = untraced(report, name, row) or row["busy"]
            text = f"{100 * share:.1f} % ({100 * row['busy']:.1f} % of the traced epoch)"
            yield f"{name}: GPU busy at least {100 * BUSY:.0f} % of an epoch", text, share >= BUSY


def repeat(part, _):
    if hashes := part.get("hashes"):
        same = sum(len(set(found)) == 1 for found in hashes.values())
        yield "two runs, equal state_hash", f"{same} of {len(hashes)} models", same == len(hashes)
    if limit := part.get("limit"):
        yield "a limit of memory is kept (exit code 4 with advice)", f"exit code {limit['code']}", limit["code"] == 4 and bool(limit["message"])


def sanitizer(part, _):
    if tools := part.get("tools"):
        clean = [tool for tool, found in tools.items() if found["clean"]]
        yield "compute-sanitizer: memcheck, racecheck, initcheck clean", ", ".join(clean) or "none", len(clean) == 3


def spmm(part, _):
    if rows := (part.get("report") or {}).get("rows"):
        worst = min(rows, key=lambda row: row["ratio"] / row["asked"])
        met = sum(row["ratio"] >= row["asked"] for row in rows)
        text = f"{met} of {len(rows)}, least {worst['ratio']:.2f} × of {worst['asked']} ({worst['case']} {worst['side']}, {worst['snapshots']} snapshots, width {worst['width']})"
        yield "sparse products: at least 2 × cuSPARSE up to width 32, 1.2 × above", text, met == len(rows)


FINDERS = {
    "conformance": conformance, "frames": frames, "tgn": tgn, "spmm": spmm, "trace": trace, "repeat": repeat, "sanitizer": sanitizer,
}
