"""Small streams of events for the golden values of models over events."""

import torch

BATCH, BATCHES, STEPS = 8, 5, 50
FEATURES, HIDDEN, HEADS, NEIGHBOURS = 4, 6, 2, 3


def stream(bipartite, loops=False):
    """Events with distinct integer times; bipartite ones lead from the first 7 to the last 6
    vertices, the others between any two of 9."""
    generator = torch.Generator().manual_seed(11 if bipartite else 12)
    count = BATCH * STEPS
    draw = lambda low, high: torch.randint(low, high, (count,), generator=generator)
    vertices = 13 if bipartite else 9
    if bipartite:
        src, dst, negative = draw(0, 7), draw(7, 13), draw(7, 13)
    else:
        src, dst, negative = draw(0, 9), draw(0, 9), draw(0, 9)
        if not loops:
            dst = torch.where(dst == src, (dst + 1) % 9, dst)
    # Late vertices appear late: batches in which some have no mail.
    early = torch.arange(count) < 20
    src = torch.where(early & (src == 3), 2, src)
    time = (draw(1, 9)).cumsum(0)
    features = torch.randn(count, FEATURES, generator=generator, dtype=torch.float32)
    return {
        "vertices": vertices,
        "src": src,
        "dst": dst,
        "negative": negative,
        "time": time,
        "features": features,
    }


def recent(data, vertex, time, before, k):
    """The last `k` events of a vertex strictly before a time, among those numbered below `before`:
    pairs (neighbour, event)."""
    src, dst, times = data["src"].tolist(), data["dst"].tolist(), data["time"].tolist()
    found = []
    for event in range(before):
        if times[event] >= time:
            break
        if src[event] == vertex:
            found.append((dst[event], event))
        elif dst[event] == vertex:
            found.append((src[event], event))
    return found[-k:]


def randomise(module):
    """First values that are exact in f32, biases and norms not constant."""
    with torch.no_grad():
        for name, p in module.named_parameters():
            if "time_enc" in name and name.endswith("weight"):
                p.uniform_(-0.3, 0.3)
            elif name.endswith("bias") or "norm" in name:
                p.add_(torch.randn_like(p) * 0.2)
            p.copy_(p.float().to(p.dtype))


def tensors_of(data):
    out = {key: data[key].to(torch.int32) for key in ("src", "dst", "negative", "time")}
    out["features"] = data["features"]
    return out


def metadata_of(data, **more):
    out = {
        "vertices": data["vertices"],
        "batch": BATCH,
        "batches": BATCHES,
        "features": FEATURES,
        "hidden": HIDDEN,
        "heads": HEADS,
        "neighbours": NEIGHBOURS,
    }
    return {key: str(value) for key, value in (out | more).items()}
