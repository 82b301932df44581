"""The figures as markdown tables, the goals as a list, and how far two runs lie apart."""

from contestants import EQUAL, NAMES, REUSE, STOCK
from figures import Figures, goals, rival


APART = ("first_frame", "gradient", "first_epoch", "last_epoch", "weights")


def seconds(figure):
    return f"{figure['median']:.4g} ({figure['min']:.4g})"


def factor(pair):
    return f"{pair[0]:.1f} ({pair[1]:.1f})"


def summary(figures):
    """One row a case and model."""
    lines = [
        "| case | model | Zoetrope | with reuse | stock PyG-Temporal | best tuned peer | × stock | × stock, reuse "
        "| × tuned | × tuned, reuse | peak MiB, ours | peer's | net of imports | commit |",
        "| --- " * 14 + "|",
    ]
    for job in figures.jobs():
        ours, reuse, tuned = figures.one(job, EQUAL), figures.one(job, REUSE), figures.tuned(job)
        stock = (STOCK.peer, STOCK.variant) if figures.has(job, STOCK) else None
        cells = [*job, seconds(ours), seconds(reuse), seconds(figures.of(job, *stock)) if stock else ""]
        cells.append(f"{seconds(figures.of(job, *tuned))} {NAMES[tuned[0]]} {tuned[1]}" if tuned else "")
        for peer in (stock, tuned):
            cells += [factor(figures.factors(job, peer, who)) if peer else "" for who in (EQUAL, REUSE)]
        other = rival(figures, job)
        cells += [f"{ours['peak']:.0f}", f"{other['peak']:.0f}", f"{other['net']:.0f}", ours["commit"]]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def full(figures):
    """One row a contestant."""
    checks = {(check["case"], check["model"], check["peer"], check["variant"]): check for check in figures.report["checks"]}
    lines = [
        "| case | model | who | s/epoch, median | minimum | spread over rounds | Zoetrope is faster by | peak MiB | net MiB "
        "| last loss | apart: first frame's loss | its gradient | first epoch's loss | last epoch's | weights | commit |",
        "| --- " * 16 + "|",
    ]
    for job in figures.jobs():
        for peer, variant in figures.contestants(job):
            found = figures.of(job, peer, variant)
            check = checks.get((*job, peer, variant))
            apart = [f"{check[key]:.1e}" for key in APART] if check else [""] * len(APART)
            if check and not check["same"]:
                apart[0] += " NOT THE SAME WORK"
            cells = [*job, f"{NAMES[peer]}, {variant}", f"{found['median']:.4g}", f"{found['min']:.4g}", f"{100 * found['spread']:.0f} %",
                     "" if peer == "zoetrope" else factor(figures.factors(job, (peer, variant), EQUAL)),
                     f"{found['peak']:.0f}", f"{found['net']:.0f}", f"{found['loss']:.6f}", *apart, found["commit"]]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def document(report):
    """Everything that a run prints."""
    figures, about = Figures(report), report["about"]
    parts = [
        f"{about['date']} (the newest rows); {about['cpu']}, {about['cores']} cores, {about['memory_gib']} GiB, {about['kernel']}; "
        f"threads: {report['threads']}, rounds: {report['rounds']}. Seconds per epoch: median (minimum). Factors: of medians (of minima).",
        summary(figures),
        full(figures),
        "\n".join(f"- [{'x' if met else ' '}] {asked}: {text}" for asked, text, met in goals(figures)),
    ]
    parts += ["\n".join(f"- {note}" for note in report["notes"])] if report["notes"] else []
    return "\n\n".join(parts) + "\n"


def apart(old, new):
    """How far the medians and minima of two runs lie apart, row by row; empty if they share no row."""
    old, new = Figures(old), Figures(new)
    lines = ["| case | model | who | median before | now | apart | minimum before | now | apart |", "| --- " * 9 + "|"]
    for job in new.jobs():
        for peer, variant in new.contestants(job):
            if (*job, peer, variant) not in old.runs:
                continue
            before, now = old.of(job, peer, variant), new.of(job, peer, variant)
            cells = [*job, f"{NAMES[peer]}, {variant}"]
            for key in ("median", "min"):
                cells += [f"{before[key]:.4g}", f"{now[key]:.4g}", f"{100 * (now[key] / before[key] - 1):+.0f} %"]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n" if len(lines) > 2 else ""
