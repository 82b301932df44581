#!/usr/bin/env python3
"""Draws docs/zoetrope.svg: a wheel of snapshots that turns into a trained model.

    python3 docs/picture.py

Standard library only; the same bytes every time.
"""

import math
import pathlib

INK, SOFT, PAPER = "#1f2937", "#9ca3af", "#ffffff"
OLD, NEW, GOLD = "#2563eb", "#dc2626", "#d97706"
WIDTH, HEIGHT = 960, 360
FRAMES = 10


def main():
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="system-ui, sans-serif" role="img" aria-label="A wheel of graph snapshots turns and becomes a trained model">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="14" fill="{PAPER}"/>',
        *wheel(180, 172, 118),
        *arrow(330, 172, 392),
        *events(398, 96),
        *arrow(612, 172, 668),
        *model(680, 82),
        *captions(),
        "</svg>",
    ]
    path = pathlib.Path(__file__).with_name("zoetrope.svg")
    path.write_text("\n".join(parts) + "\n")


def line(x1, y1, x2, y2, colour, width=1.6, extra=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}" {extra}/>'


def dot(x, y, radius, colour):
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"/>'


def text(x, y, content, size=14, colour=INK, anchor="middle", weight="400"):
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" font-weight="{weight}">{content}</text>'


def edges_of(frame):
    """The edges of a snapshot among five vertices: each lives for four of ten frames."""
    pairs = [(a, b) for a in range(5) for b in range(a + 1, 5)]
    return [(pair, (frame - start) % FRAMES) for start, pair in enumerate(pairs) if (frame - start) % FRAMES < 4]


def snapshot(cx, cy, size, frame):
    points = [(cx + size * math.sin(2 * math.pi * k / 5), cy - size * math.cos(2 * math.pi * k / 5)) for k in range(5)]
    for (a, b), age in edges_of(frame):
        yield line(*points[a], *points[b], NEW if age == 0 else OLD, 1.8 if age == 0 else 1.3)
    for x, y in points:
        yield dot(x, y, 2.6, INK)


def wheel(cx, cy, radius):
    yield f'<circle cx="{cx}" cy="{cy}" r="{radius + 32}" fill="none" stroke="{INK}" stroke-width="3"/>'
    yield f'<circle cx="{cx}" cy="{cy}" r="{radius - 34}" fill="none" stroke="{SOFT}" stroke-width="1.5"/>'
    for frame in range(FRAMES):
        angle = 2 * math.pi * frame / FRAMES
        x, y = cx + radius * math.sin(angle), cy - radius * math.cos(angle)
        yield from snapshot(x, y, 21, frame)
        slit = angle + math.pi / FRAMES
        sin, cos = math.sin(slit), math.cos(slit)
        yield line(cx + (radius - 30) * sin, cy - (radius - 30) * cos, cx + (radius + 28) * sin, cy - (radius + 28) * cos, SOFT, 1.2)
    yield dot(cx, cy, 5, INK)
    # The arrow that says that it turns.
    start, end, bow = math.radians(215), math.radians(505), 46
    x1, y1 = cx + bow * math.sin(start), cy - bow * math.cos(start)
    x2, y2 = cx + bow * math.sin(end), cy - bow * math.cos(end)
    yield f'<path d="M{x1:.1f} {y1:.1f} A{bow} {bow} 0 1 1 {x2:.1f} {y2:.1f}" fill="none" stroke="{GOLD}" stroke-width="3"/>'
    yield head(x2, y2, end + math.pi / 2)


def head(x, y, direction):
    """An arrow head; `direction` is clockwise from the top."""
    corners = [(0, 9), (-6, -5), (6, -5)]
    sin, cos = math.sin(direction), math.cos(direction)
    turned = [(x + along * sin + across * cos, y - along * cos + across * sin) for across, along in corners]
    return '<polygon points="' + " ".join(f"{px:.1f},{py:.1f}" for px, py in turned) + f'" fill="{GOLD}"/>'


def arrow(x1, y, x2):
    yield line(x1, y, x2 - 8, y, GOLD, 3)
    yield head(x2 - 8, y, math.pi / 2)


def events(x, y):
    """The wheel unrolled: a time axis with snapshots and the lives of edges below."""
    for step in range(4):
        cx = x + 28 + step * 48
        yield f'<rect x="{cx - 21}" y="{y - 20}" width="42" height="52" rx="5" fill="none" stroke="{SOFT}"/>'
        yield from snapshot(cx, y + 6, 14, step)
    yield line(x + 4, y + 150, x + 200, y + 150, INK, 1.5)
    yield text(x + 200, y + 167, "time", 12, SOFT, "end")
    for row in range(6):
        start, length = x + 8 + (row * 37) % 120, 34 + (row * 23) % 40
        colour = NEW if row % 3 == 0 else OLD
        yield line(start, y + 54 + row * 15, start + length, y + 54 + row * 15, colour, 3, 'stroke-linecap="round"')
        yield line(start, y + 54 + row * 15, start, y + 150, "#e5e7eb", 1)


def model(x, y):
    """Layers that mix space and time, and a loss that falls."""
    columns = [4, 5, 5, 3]
    places = [[(x + 22 + c * 44, y + 78 + (k - (n - 1) / 2) * 25) for k in range(n)] for c, n in enumerate(columns)]
    for left, right in zip(places, places[1:]):
        for a in left:
            for b in right:
                yield line(*a, *b, "#d1d5db", 0.9)
    for c, layer in enumerate(places):
        for px, py in layer:
            yield dot(px, py, 6, (OLD, INK, INK, NEW)[c])
    ox, oy = x + 190, y + 150
    yield line(ox, oy, ox + 66, oy, INK, 1.5)
    yield line(ox, oy, ox, oy - 70, INK, 1.5)
    curve = " ".join(f"{ox + 3 + i * 3:.1f},{oy - 8 - 56 * math.exp(-i / 6):.1f}" for i in range(21))
    yield f'<polyline points="{curve}" fill="none" stroke="{GOLD}" stroke-width="2.5"/>'
    yield text(ox + 33, oy + 16, "loss", 12, SOFT)


def captions():
    rows = [(180, "snapshots", "a graph that moves"), (500, "events, windows, differences", "read, checked, cut"), (800, "model", "trained on what changes")]
    for x, title, below in rows:
        yield text(x, 345 if x == 180 else 318, title if x != 180 else f"{title}: {below}", 15, INK, "middle", "600")
        if x != 180:
            yield text(x, 338, below, 13, SOFT)


if __name__ == "__main__":
    main()
