"""The two pictures: bars of milliseconds a frame, and the curves of the CPU and of the GPU."""

import bars

COLOURS = [("resident", "#ea580c", "#fb923c"), ("streamed", "#9a3412", "#c2410c"), ("peer", "#0284c7", "#38bdf8")]
LEGEND = [("resident", "Zoetrope, data on the GPU"), ("streamed", "Zoetrope, streamed"), ("peer", "PyG-Temporal")]
LEFT, WIDTH, TOP, HEIGHT = 70, 620, 70, 300


def frames(report):
    """An SVG document; None if nothing was measured."""
    groups = {}
    for name, row in report["parts"].get("frames", {}).get("rows", {}).items():
        bar = lambda kind, row=row: (kind, row[kind]["ms"], times(row, kind))  # noqa: E731
        if group := [bar(kind) for kind, *_ in COLOURS if kind in row]:
            groups[name] = group
    return bars.picture("Milliseconds a frame, median; shorter is better", COLOURS, LEGEND, groups, left=150, unit="ms") if groups else None


def times(row, kind):
    return f"{row['peer']['ms'] / row[kind]['ms']:.1f} ×" if kind != "peer" and "peer" in row else ""


def curves(report):
    """An SVG document; None if nothing was measured."""
    found = report["parts"].get("conformance", {}).get("curves")
    if not found:
        return None
    low, high = min(found["cpu"] + found["card"]), max(found["cpu"] + found["card"])
    title = f"T-GCN on england-covid: loss of each epoch; the two are at most {found['difference']:.1e} apart"
    colours, legend = [("card", "#ea580c", "#fb923c"), ("cpu", "#0284c7", "#38bdf8")], [("cpu", "CPU"), ("card", "GPU")]
    parts = bars.head(title, colours, legend, LEFT + WIDTH + 30, TOP + HEIGHT + 40)
    x = lambda at: LEFT + WIDTH * at / max(found["epochs"] - 1, 1)  # noqa: E731
    y = lambda loss: TOP + HEIGHT * (high - loss) / ((high - low) or 1)  # noqa: E731
    for share in (0, 0.25, 0.5, 0.75, 1):
        loss = low + share * (high - low)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y(loss):.1f}" y2="{y(loss):.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(loss) + 4:.1f}" text-anchor="end">{loss:.4f}</text>')
    for at in sorted({0, *range(9, found["epochs"], 10), found["epochs"] - 1}):
        parts.append(f'<text x="{x(at):.1f}" y="{TOP + HEIGHT + 20}" text-anchor="middle">{at + 1}</text>')
    # Dots of the GPU on the line of the CPU: where they lie on it, both are seen.
    line = " ".join(f"{x(at):.1f},{y(loss):.1f}" for at, loss in enumerate(found["cpu"]))
    parts.append(f'<polyline points="{line}" fill="none" stroke="#0284c7" stroke-width="2"/>')
    parts += [f'<circle class="card" cx="{x(at):.1f}" cy="{y(loss):.1f}" r="3"/>' for at, loss in enumerate(found["card"])]
    return "\n".join(parts + ["</svg>"]) + "\n"
