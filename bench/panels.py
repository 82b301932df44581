"""Lines over powers of two, one panel a model, as an SVG document. Needs only the standard library."""

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from bars import head  # noqa: E402

WIDTH, HEIGHT, LEFT, GAP, TOP, BELOW = 200, 220, 50, 60, 100, 40
#: What the end of a scale may be, in its power of ten, and the pieces that it is cut into.
ENDS = {1: 5, 2: 4, 3: 3, 4: 4, 5: 5, 6: 3, 8: 4, 10: 5}


def scale(most):
    """The end of a scale from 0, and its pieces."""
    power = 10 ** math.floor(math.log10(most))
    return next((end * power, pieces) for end, pieces in ENDS.items() if end * power >= most)


def panel(name, lines, x):
    """One model: `lines` go from a class to (ranks, value) pairs."""
    top, pieces = scale(max(value for pairs in lines.values() for _, value in pairs))
    ranks = sorted({count for pairs in lines.values() for count, _ in pairs})
    first, last = math.log2(ranks[0]), math.log2(ranks[-1])
    across = lambda count: x + WIDTH * (math.log2(count) - first) / max(last - first, 1)  # noqa: E731
    up = lambda value: TOP + HEIGHT * (1 - value / top)  # noqa: E731
    parts = [f'<text class="case" x="{x}" y="{TOP - 16}">{name}</text>']
    for step in range(pieces + 1):
        value = top * step / pieces
        parts.append(f'<line class="grid" x1="{x}" x2="{x + WIDTH}" y1="{up(value):.1f}" y2="{up(value):.1f}"/>')
        parts.append(f'<text x="{x - 8}" y="{up(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    for count in ranks:
        parts.append(f'<text x="{across(count):.1f}" y="{TOP + HEIGHT + 20}" text-anchor="middle">{count}</text>')
    for kind, pairs in lines.items():
        places = [(across(count), up(value)) for count, value in pairs]
        for (x1, y1), (x2, y2) in zip(places, places[1:]):
            parts.append(f'<line class="{kind}-line" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')
        parts += [f'<circle class="{kind}" cx="{at:.1f}" cy="{y:.1f}" r="3.5"/>' for at, y in places]
    return parts


def strokes(colours):
    """Lines in the colours of their classes."""
    each = lambda at: " ".join(f".{colour[0]}-line {{ stroke: {colour[at]}; stroke-width: 2 }}" for colour in colours)  # noqa: E731
    return f"<style>\n{each(1)}\n@media (prefers-color-scheme: dark) {{ {each(2)} }}\n</style>"


def picture(title, colours, legend, panels, across="ranks"):
    """`panels` go from a name to its lines; `colours` and `legend` as in `bars`; `across` names what lies to the right."""
    width = LEFT + len(panels) * (WIDTH + GAP)
    parts = head(title, colours, legend, width, TOP + HEIGHT + BELOW)
    parts.append(strokes(colours))
    for at, (name, lines) in enumerate(panels.items()):
        parts += panel(name, lines, LEFT + at * (WIDTH + GAP))
    parts.append(f'<text x="{width - GAP + 14}" y="{TOP + HEIGHT + 20}">{across}</text>')
    return "\n".join(parts + ["</svg>"]) + "\n"
