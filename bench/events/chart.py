"""The bars: seconds per epoch on a logarithmic scale, legible on light and on dark ground."""

import math

from contestants import BATCHES, MODELS, NAMES
from figures import Figures

STYLE = """<style>
text { font: 12px sans-serif; fill: #1f2937 } .title { font-size: 15px } .case { font-weight: bold }
.grid { stroke: #94a3b8; stroke-opacity: .4 } .ground { fill: #ffffff }
.ours { fill: #ea580c } .peer { fill: #0284c7 } .quoted { fill: #94a3b8 }
@media (prefers-color-scheme: dark) {
  text { fill: #e5e7eb } .ground { fill: #0d1117 } .ours { fill: #fb923c } .peer { fill: #38bdf8 } .quoted { fill: #64748b } }
</style>"""
LEFT, WIDTH, BAR, GAP, TOP = 130, 520, 14, 14, 84


def bars(figures, model, batch):
    """(class, label, seconds) of a case."""
    found = []
    for row_model, row_batch, peer, follows, figure in figures.rows():
        if (row_model, row_batch) == (model, batch):
            kind = "ours" if peer == "zoetrope" else "quoted" if figure["quoted"] else "peer"
            found.append((kind, NAMES[peer] + (f" as {NAMES[follows]}" if follows else ""), figure["min"]))
    return found


def picture(report):
    """An SVG document."""
    figures = Figures(report)
    groups = {(model, batch): bars(figures, model, batch) for model in MODELS for batch in BATCHES}
    groups = {case: group for case, group in groups.items() if group}
    values = [value for group in groups.values() for _, _, value in group]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    place = lambda value: LEFT + WIDTH * (math.log10(value) - low) / (high - low)  # noqa: E731
    height = TOP + sum(len(group) * BAR + GAP for group in groups.values()) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 210}" height="{height}">', STYLE,
        '<rect class="ground" width="100%" height="100%"/>',
        f'<text class="title" x="10" y="24">Seconds per epoch over the wikipedia events, fastest; threads: {report["threads"]}; shorter is better</text>',
    ]
    x = 10
    for kind, label in [("ours", "Zoetrope"), ("peer", "peers, measured beside it"), ("quoted", "peers, measured earlier")]:
        parts.append(f'<rect class="{kind}" x="{x}" y="38" width="12" height="12"/><text x="{x + 18}" y="49">{label}</text>')
        x += 40 + 7 * len(label)
    for power in range(low, high + 1):
        at = place(10**power)
        parts.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 8}" y2="{height - 10}"/>')
        parts.append(f'<text x="{at:.1f}" y="{TOP - 12}" text-anchor="middle">{10.0**power:g} s</text>')
    y = TOP
    for (model, batch), group in groups.items():
        parts.append(f'<text class="case" x="10" y="{y + 11}">{model}, batch {batch}</text>')
        for kind, label, value in group:
            end = place(value)
            parts.append(f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{max(end - LEFT, 1):.1f}" height="{BAR - 2}"/>')
            parts.append(f'<text x="{end + 6:.1f}" y="{y + 11}">{value:.3g} s, {label}</text>')
            y += BAR
        y += GAP
    return "\n".join(parts + ["</svg>"]) + "\n"
