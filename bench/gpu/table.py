"""The figures as markdown, and the goals as a list."""

import statistics

from goals import epochs, goals, untraced
from machine import commit_of

GIB = 1 << 30


def about(part):
    found = part["about"]
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    return (f"{found['date']} (the newest rows); {found['card']}; {found['cpu']}, {found['cores']} cores; {versions}."
            + (f" **Not whole: {part['failure']}**" if "failure" in part else ""))


def frames(part, _):
    lines = [
        "Milliseconds a frame, median (minimum): forward, backward, Adam, loss on the last snapshot. *Apart*: losses of both sides from the "
        "same weights, of the first frame before any update and of the first epoch.", "",
        "| case | model | PyG-Temporal | Zoetrope, data on the GPU | × | with reuse | × | streamed | × | peak GiB, peer | ours | apart, first frame | first epoch | commit |",
        "| --- " * 14 + "|",
    ]
    for name, row in part.get("rows", {}).items():
        peer = row.get("peer")
        cells = [*name.split(" "), shown(peer)]
        for kind in ("resident", "reuse", "streamed"):
            cells += [shown(row.get(kind)), f"{peer['ms'] / row[kind]['ms']:.1f}" if peer and kind in row else ""]
        cells += [f"{row[kind]['peak_bytes'] / GIB:.3g}" if row.get(kind) else "" for kind in ("peer", "resident")]
        cells += [f"{row['agreement'][key]:.1e}" if key in row.get("agreement", {}) else "" for key in ("first_frame", "first_epoch")]
        cells.append(commit_of(row, part["about"]))
        lines.append("| " + " | ".join(cells) + " |")
    return lines + ["", "![Bars of milliseconds a frame](gpu-frames.svg)"]


def shown(found):
    return f"{found['ms']:.4g} ({found['ms_min']:.4g})" if found else ""


def conformance(part, _):
    lines = [f"Every operator and model, CPU against GPU: {part['suite']['verdict']}."] if part.get("suite") else []
    if found := part.get("curves"):
        lines.append(f"T-GCN on england-covid, {found['epochs']} epochs from one seed (commit {commit_of(found)}): losses at most {found['difference']:.1e} apart, "
                     f"the last {found['cpu'][-1]:.6f} and {found['card'][-1]:.6f}.")
        lines += ["", "![Both curves](gpu-curves.svg)"]
    return lines


def tgn(part, _):
    lines = ["Seconds an epoch over the wikipedia events after the first, median (minimum).", "",
             "| batch | PyG | Zoetrope | × | peak GiB, PyG | ours | commit |", "| --- " * 7 + "|"]
    for batch, row in part.get("rows", {}).items():
        if {"pyg", "zoetrope"} <= row.keys():
            peer, mine = row["pyg"], row["zoetrope"]
            theirs, ours = epochs(peer), epochs(mine)
            cells = [f"{statistics.median(seconds):.3g} ({min(seconds):.3g})" for seconds in (theirs, ours)]
            lines.append(f"| {batch} | {cells[0]} | {cells[1]} | {statistics.median(theirs) / statistics.median(ours):.1f} ({min(theirs) / min(ours):.1f}) "
                         f"| {peer['peak_device_bytes'] / GIB:.3g} | {mine['peak_device_bytes'] / GIB:.3g} | {commit_of(row, part['about'])} |")
    return lines


def trace(part, report):
    lines = ["Shares of an epoch, from trace.json. *Overlapped*: of the copying, what happens while the GPU computes. *Source*: CUPTI "
             "leaves the run as it is; events around launches slow it down and keep updates from being recorded. *Untraced*: the busy time "
             "of the trace over the median epoch of `frames`.", "",
             "| case | data | source | busy | computing | copying | overlapped | busy ms | epoch ms | untraced | commit |", "| --- " * 11 + "|"]
    for name, row in part.get("rows", {}).items():
        share = [f"{100 * row[key]:.1f} %" for key in ("busy", "computing", "copying", "overlapped")]
        without = untraced(report, name, row)
        times = [f"{row[key]:.4g}" for key in ("busy_ms", "epoch_ms")]
        lines.append("| " + " | ".join([name, row["variant"], row["source"], *share, *times, f"{100 * without:.1f} %" if without else "", commit_of(row, part["about"])]) + " |")
    return lines


def repeat(part, _):
    lines = [f"- {part.get('case')} {model}, two runs: state_hash {'equal' if len(set(found)) == 1 else 'different'} ({found[0][:12]}; commit {commit_of(part['about'])})"
             for model, found in part.get("hashes", {}).items()]
    if found := part.get("limit"):
        lines.append(f"- a limit of {found['limit']}: exit code {found['code']}: {found['message']}")
    return lines


def sanitizer(part, _):
    chosen = f" (cases with “{part['only']}”)" if part.get("only") else ""
    lines = []
    for tool, found in part.get("tools", {}).items():
        lines.append(f"- {tool}{chosen}: {found['summary']}")
        lines += [f"  - {text}" for text in sorted({problem["text"][:300] for problem in found.get("problems", [])})]
    return lines


def spmm(part, _):
    return ["See `gpu-spmm.md`."] if part.get("report") else []


SECTIONS = {
    "conformance": ("Conformance", conformance), "frames": ("Frames beside PyG-Temporal", frames), "tgn": ("TGN beside PyG", tgn),
    "spmm": ("Sparse products beside cuSPARSE", spmm), "trace": ("Traces", trace), "repeat": ("Repeated runs and limits", repeat),
    "sanitizer": ("compute-sanitizer", sanitizer),
}


def document(report):
    """Everything that was measured."""
    parts = ["# One GPU", "\n".join(f"- [{'x' if met else ' '}] {asked}: {text}" for asked, text, met in goals(report)) or "Nothing was measured."]
    for name, (title, section) in SECTIONS.items():
        if found := report["parts"].get(name):
            parts.append(f"## {title}\n\n{about(found)}\n\n" + "\n".join(section(found, report)))
    return "\n\n".join(part.rstrip() for part in parts) + "\n"
