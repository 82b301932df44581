"""The bars: seconds per epoch."""

import sys

from contestants import BATCHES, MODELS, NAMES
from figures import Figures
from zoetrope import ROOT

sys.path.append(str(ROOT / "bench"))
import bars  # noqa: E402

COLOURS = [("ours", "#ea580c", "#fb923c"), ("peer", "#0284c7", "#38bdf8"), ("quoted", "#94a3b8", "#64748b")]
LEGEND = [("ours", "Zoetrope"), ("peer", "peers, measured beside it"), ("quoted", "peers, measured earlier")]


def group(figures, model, batch):
    """The bars of a case."""
    found = []
    for row_model, row_batch, peer, follows, figure in figures.rows():
        if (row_model, row_batch) == (model, batch):
            kind = "ours" if peer == "zoetrope" else "quoted" if figure["quoted"] else "peer"
            found.append((kind, figure["min"], NAMES[peer] + (f" as {NAMES[follows]}" if follows else "")))
    return found


def picture(report):
    """An SVG document."""
    figures = Figures(report)
    groups = {f"{model}, batch {batch}": group(figures, model, batch) for model in MODELS for batch in BATCHES}
    title = f"Seconds per epoch over the wikipedia events, fastest; threads: {report['threads']}; shorter is better"
    return bars.picture(title, COLOURS, LEGEND, {name: found for name, found in groups.items() if found}, left=130)
