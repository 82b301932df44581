"""The bars: seconds per epoch."""

import sys

from contestants import EQUAL, NAMES, REUSE, STOCK
from figures import Figures
from workloads import ROOT

sys.path.append(str(ROOT / "bench"))
import bars  # noqa: E402

COLOURS = [("on", "#9a3412", "#fb923c"), ("off", "#ea580c", "#c2410c"), ("tuned", "#0284c7", "#38bdf8"), ("stock", "#64748b", "#94a3b8")]
LEGEND = [("on", "Zoetrope, reuse on"), ("off", "reuse off"), ("tuned", "best tuned peer"), ("stock", "PyG-Temporal as shipped")]


def group(figures, job):
    """The bars of a case."""
    found = [("on", figures.one(job, REUSE)["median"], ""), ("off", figures.one(job, EQUAL)["median"], "")]
    if tuned := figures.tuned(job):
        found.append(("tuned", figures.of(job, *tuned)["median"], f"{NAMES[tuned[0]]} {tuned[1]}"))
    if figures.has(job, STOCK):
        found.append(("stock", figures.one(job, STOCK)["median"], ""))
    return found


def picture(report):
    """An SVG document."""
    figures = Figures(report)
    title = f"Seconds per training epoch, median; threads: {report['threads']}; shorter is better"
    return bars.picture(title, COLOURS, LEGEND, {" ".join(job): group(figures, job) for job in figures.jobs()}, left=150)
