"""The figures as markdown tables and the goals as a list."""

from contestants import NAMES, RATE
from figures import Figures, goals, peers_reach, WANTED_AP
from zoetrope import about, commit_of


def number(value, form=".4g"):
    return "" if value is None else format(value, form)


def who(peer, follows, quoted):
    return NAMES[peer] + (f", as {NAMES[follows]}" if follows else "") + (" (quoted)" if quoted else "")


def speed(figures):
    """One row a contestant."""
    lines = [
        "| model | batch | who | s/epoch, median | minimum | Zoetrope is faster by | evaluation, s | faster by | peak MiB | net MiB | test AP by epoch | commit |",
        "| --- " * 12 + "|",
    ]
    for model, batch, peer, follows, figure in figures.rows():
        ours = peer == "zoetrope"
        factors = ["", ""] if ours else [number(figures.factor(model, batch, peer, key), ".1f") for key in ("median", "evaluate")]
        scores = " ".join("–" if score is None else f"{score:.3f}" for score in figure["ap"])
        cells = [model, str(batch), who(peer, follows, figure["quoted"]), number(figure["median"]), number(figure["min"]), factors[0],
                 number(figure["evaluate"], ".3g"), factors[1], number(figure["peak"], ".0f"), number(figure["net"], ".0f"), scores, figure["commit"]]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def reach(figures):
    """How long everyone needs to WANTED_AP at batch 200, and what ours gets after each epoch."""
    lines = [f"| who | epochs to test AP {WANTED_AP} | s of training | with evaluation | commit |", "| --- " * 5 + "|"]
    for peer in list(NAMES)[1:]:
        if figures.of("tgn", 200, peer):
            found = peers_reach(figures, peer)
            theirs = figures.of("tgn", 200, peer)
            quoted = theirs["quoted"]
            cells = [str(found[0]), f"{found[1]:.1f}", "" if quoted else f"{found[2]:.1f}"] if found else [f"not in {len(theirs['ap'])}", "", ""]
            lines.append("| " + " | ".join([who(peer, "", quoted), *cells, theirs["commit"]]) + " |")
    if ours := figures.report.get("reach"):
        rate = f", learning rate {ours['rate']:g}" if ours["rate"] != RATE else ""
        for run in ours["tries"]:
            cells = [f"Zoetrope, as TGL{rate}: {len(run['seconds'])} epochs, AP {run['test']['ap']:.3f}", "yes" if run["test"]["ap"] >= WANTED_AP else "no",
                     f"{sum(run['seconds']):.2f}", f"{sum(run['seconds']) + run['evaluate_seconds']:.2f}", commit_of(ours, figures.report["about"])]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def document(report):
    """Everything that a run prints."""
    figures = Figures(report)
    events = "the first events only, to see that everyone runs" if report["quick"] else "the wikipedia events with 172 random features (C1r)"
    parts = [
        f"{about(report['about'], report['threads'])} {events[0].upper()}{events[1:]}; rounds: {report['rounds']}. The first epoch of a process is "
        "dropped if there is another. Evaluation: validation and test part once, one negative each (ours asks about two of each test event). "
        "Ours has the test AP of the best validation epoch. Quoted figures were measured earlier (bench/events/quoted.py).",
        speed(figures), reach(figures),
        "\n".join(f"- [{'x' if met else ' '}] {asked}: {text}" for asked, text, met in goals(figures)),
    ]
    parts += ["\n".join(f"- {note}" for note in report["notes"])] if report["notes"] else []
    return "\n\n".join(part for part in parts if part) + "\n"
