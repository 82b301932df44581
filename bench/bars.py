"""Groups of bars on a logarithmic scale as an SVG document, legible on light and on dark ground."""

import math

LIGHT = {"text": "#1f2937", "ground": "#ffffff"}
DARK = {"text": "#e5e7eb", "ground": "#0d1117"}
WIDTH, BAR, GAP, TOP = 520, 14, 14, 84


def style(colours):
    """The sheet; `colours` are (class, on light ground, on dark ground)."""
    fills = lambda at: " ".join(f".{each[0]} {{ fill: {each[at]} }}" for each in colours)  # noqa: E731
    return f"""<style>
text {{ font: 12px sans-serif; fill: {LIGHT["text"]} }} .title {{ font-size: 15px }} .case {{ font-weight: bold }}
.grid {{ stroke: #94a3b8; stroke-opacity: .4 }} .ground {{ fill: {LIGHT["ground"]} }}
{fills(1)}
@media (prefers-color-scheme: dark) {{
  text {{ fill: {DARK["text"]} }} .ground {{ fill: {DARK["ground"]} }} {fills(2)} }}
</style>"""


def head(title, colours, legend, width, height):
    """The first parts of a document: ground, title, and what each colour means."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">', style(colours),
        '<rect class="ground" width="100%" height="100%"/>', f'<text class="title" x="10" y="24">{title}</text>',
    ]
    x = 10
    for kind, label in legend:
        parts.append(f'<rect class="{kind}" x="{x}" y="38" width="12" height="12"/><text x="{x + 18}" y="49">{label}</text>')
        x += 40 + 7 * len(label)
    return parts


def picture(title, colours, legend, groups, left, unit="s"):
    """`groups` go from a name to bars (class, value, what stands behind the value)."""
    values = [value for group in groups.values() for _, value, _ in group]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    place = lambda value: left + WIDTH * (math.log10(value) - low) / (high - low)  # noqa: E731
    height = TOP + sum(len(group) * BAR + GAP for group in groups.values()) + 10
    parts = head(title, colours, legend, left + WIDTH + 210, height)
    for power in range(low, high + 1):
        at = place(10**power)
        parts.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 8}" y2="{height - 10}"/>')
        parts.append(f'<text x="{at:.1f}" y="{TOP - 12}" text-anchor="middle">{10.0**power:g} {unit}</text>')
    y = TOP
    for name, group in groups.items():
        parts.append(f'<text class="case" x="10" y="{y + 11}">{name}</text>')
        for kind, value, note in group:
            end = place(value)
            parts.append(f'<rect class="{kind}" x="{left}" y="{y}" width="{max(end - left, 1):.1f}" height="{BAR - 2}"/>')
            shown = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
            parts.append(f'<text x="{end + 6:.1f}" y="{y + 11}">{shown} {unit}{f", {note}" if note else ""}</text>')
            y += BAR
        y += GAP
    return "\n".join(parts + ["</svg>"]) + "\n"
