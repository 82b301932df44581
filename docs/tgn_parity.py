"""Draws the losses of fifty training steps of TGN over those of PyG.

    cargo test -p zoetrope-nn --test stream_parity fifty -- --nocapture \
        | python docs/tgn_parity.py docs/tgn-parity.svg
"""

import sys
from pathlib import Path

WIDTH, HEIGHT, MARGIN = 720, 190, 44
NAMES = {
    "tgn-pyg-bipartite": "bipartite stream, last message",
    "tgn-pyg-any-pairs": "any pairs, last message",
    "tgn-pyg-mean": "bipartite stream, mean message",
}


def read(lines):
    curves = {}
    for line in lines:
        # The name of a test may stand before its first line.
        words = line[line.find("curve ") :].split() if "curve " in line else []
        if len(words) == 5:
            curves.setdefault(words[1], []).append((float(words[3]), float(words[4])))
    return curves


def panel(name, points, top):
    values = [value for pair in points for value in pair]
    low, high = min(values), max(values)
    x = lambda step: MARGIN + step * (WIDTH - 2 * MARGIN) / (len(points) - 1)
    y = lambda value: top + HEIGHT - 30 - (value - low) / (high - low) * (HEIGHT - 70)
    line = lambda at: " ".join(f"{x(i):.1f},{y(p[at]):.1f}" for i, p in enumerate(points))
    dots = "".join(
        f'<circle cx="{x(i):.1f}" cy="{y(p[0]):.1f}" r="2.2"/>' for i, p in enumerate(points)
    )
    apart = max(abs(a - b) / b for a, b in points)
    yield f'<text x="{MARGIN}" y="{top + 20}" class="title">{NAMES.get(name, name)}</text>'
    yield f'<text x="{WIDTH - MARGIN}" y="{top + 20}" text-anchor="end">largest difference '
    yield f"{apart:.0e} of the loss</text>"
    yield f'<polyline points="{line(1)}" class="reference"/><g class="ours">{dots}</g>'
    for value in (low, high):
        yield f'<text x="{MARGIN - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.2f}</text>'


def main():
    curves = read(sys.stdin)
    height = HEIGHT * len(curves) + 30
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="system-ui, sans-serif" font-size="11" fill="#444">',
        "<style>.title{font-size:13px;fill:#111}.reference{fill:none;stroke:#c33;stroke-width:1.4}"
        ".ours{fill:#1a5fb4}</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    for at, (name, points) in enumerate(curves.items()):
        out.extend(panel(name, points, at * HEIGHT))
    out.append(f'<text x="{MARGIN}" y="{height - 12}">loss before each of fifty steps of Adam(1e-4)')
    out.append("from equal weights: line PyG in f64, dots Zoetrope</text></svg>")
    Path(sys.argv[1]).write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
