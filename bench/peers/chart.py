"""The bars: seconds per epoch on a logarithmic scale, legible on light and on dark ground."""

import math

from contestants import EQUAL, NAMES, REUSE, STOCK
from figures import Figures

STYLE = """<style>
text { font: 12px sans-serif; fill: #1f2937 } .title { font-size: 15px } .case { font-weight: bold }
.grid { stroke: #94a3b8; stroke-opacity: .4 } .ground { fill: #ffffff }
.on { fill: #9a3412 } .off { fill: #ea580c } .tuned { fill: #0284c7 } .stock { fill: #64748b }
@media (prefers-color-scheme: dark) {
  text { fill: #e5e7eb } .ground { fill: #0d1117 } .on { fill: #fb923c } .off { fill: #c2410c }
  .tuned { fill: #38bdf8 } .stock { fill: #94a3b8 } }
</style>"""
LEFT, WIDTH, BAR, GAP, TOP = 150, 520, 14, 14, 84


def bars(figures, job):
    """(class, label, seconds) of a case."""
    found = [("on", "Zoetrope, reuse on", figures.one(job, REUSE)["median"]),
             ("off", "Zoetrope, reuse off", figures.one(job, EQUAL)["median"])]
    if tuned := figures.tuned(job):
        found.append(("tuned", f"{NAMES[tuned[0]]} {tuned[1]}", figures.of(job, *tuned)["median"]))
    if figures.has(job, STOCK):
        found.append(("stock", "PyG-Temporal stock", figures.one(job, STOCK)["median"]))
    return found


def picture(report):
    """An SVG document."""
    figures = Figures(report)
    groups = {job: bars(figures, job) for job in figures.jobs()}
    values = [value for group in groups.values() for _, _, value in group]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    place = lambda value: LEFT + WIDTH * (math.log10(value) - low) / (high - low)  # noqa: E731
    height = TOP + sum(len(group) * BAR + GAP for group in groups.values()) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 210}" height="{height}">', STYLE,
        '<rect class="ground" width="100%" height="100%"/>',
        f'<text class="title" x="10" y="24">Seconds per training epoch, median; threads: {report["threads"]}; shorter is better</text>',
    ]
    legend = [("on", "Zoetrope, reuse on"), ("off", "reuse off"), ("tuned", "best tuned peer"), ("stock", "PyG-Temporal as shipped")]
    x = 10
    for kind, label in legend:
        parts.append(f'<rect class="{kind}" x="{x}" y="38" width="12" height="12"/><text x="{x + 18}" y="49">{label}</text>')
        x += 40 + 7 * len(label)
    for power in range(low, high + 1):
        at = place(10**power)
        parts.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 8}" y2="{height - 10}"/>')
        parts.append(f'<text x="{at:.1f}" y="{TOP - 12}" text-anchor="middle">{10.0**power:g} s</text>')
    y = TOP
    for job, group in groups.items():
        parts.append(f'<text class="case" x="10" y="{y + 11}">{job[0]} {job[1]}</text>')
        for kind, label, value in group:
            end = place(value)
            parts.append(f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{max(end - LEFT, 1):.1f}" height="{BAR - 2}"/>')
            shown = f"{value:.3g} s" + (f", {label}" if kind == "tuned" else "")
            parts.append(f'<text x="{end + 6:.1f}" y="{y + 11}">{shown}</text>')
            y += BAR
        y += GAP
    return "\n".join(parts + ["</svg>"]) + "\n"
