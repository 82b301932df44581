"""Golden values of GCN normalisation, from torch_geometric's own `gcn_norm`.

Run beside the file it writes: python gcn_norm.py > gcn_norm.json
Each case gives edges in the order that Zoetrope stores them (destination, then source, ties in
input order) and the normalised edges in that order, values as printed f32 (null for NaN).
"""

import json
import math
import random
import sys

import torch
import torch_geometric
from torch_geometric.nn.conv.gcn_conv import gcn_norm


def ordered(edges):
    return sorted(edges, key=lambda edge: (edge[1], edge[0]))


def case(name, vertices, edges, weighted=True, improved=False, add_self_loops=True):
    """`edges` are (source, destination, weight)."""
    edges = ordered(edges)
    index = torch.tensor([[s for s, _, _ in edges], [d for _, d, _ in edges]], dtype=torch.long)
    weight = torch.tensor([w for _, _, w in edges], dtype=torch.float32) if weighted else None
    out_index, out_weight = gcn_norm(
        index.reshape(2, -1), weight, vertices, improved, add_self_loops, "source_to_target", torch.float32
    )
    normalised = ordered(list(zip(out_index[0].tolist(), out_index[1].tolist(), out_weight.tolist())))
    return {
        "name": name,
        "vertices": vertices,
        "improved": improved,
        "add_self_loops": add_self_loops,
        "src": [s for s, _, _ in edges],
        "dst": [d for _, d, _ in edges],
        "weight": weight.tolist() if weighted else None,
        "expected_src": [s for s, _, _ in normalised],
        "expected_dst": [d for _, d, _ in normalised],
        "expected": [None if math.isnan(w) else w for _, _, w in normalised],
    }


def variants(name, vertices, edges):
    for weighted in (True, False):
        for improved in (False, True):
            for loops in (True, False):
                label = f"{name}, {'weighted' if weighted else 'unweighted'}"
                label += ", improved" if improved else ""
                label += "" if loops else ", no self-loops added"
                yield case(label, vertices, edges, weighted, improved, loops)


def random_graph(seed, vertices, edges, low):
    draw = random.Random(seed)
    pick = lambda: draw.randrange(vertices)
    return [(pick(), pick(), round(draw.uniform(low, 3.0), 4)) for _ in range(edges)]


def main():
    graphs = [
        ("zero edges", 3, []),
        ("one vertex", 1, []),
        ("one vertex with a self-loop", 1, [(0, 0, 0.25)]),
        ("isolated vertices", 6, [(1, 4, 2.0), (4, 1, 0.5)]),
        ("directed path", 4, [(0, 1, 1.0), (1, 2, 2.0), (2, 3, 4.0)]),
        ("self-loops with weights", 3, [(0, 0, 3.0), (1, 1, 0.0), (0, 1, 1.5), (2, 0, 0.5)]),
        ("repeated self-loops", 3, [(1, 1, 2.0), (1, 1, 5.0), (1, 1, 3.0), (0, 1, 1.0), (2, 1, 1.0)]),
        ("repeated edges", 3, [(0, 1, 1.0), (0, 1, 2.0), (0, 1, 1.0), (1, 2, 1.0), (1, 2, 1.0)]),
        ("zero weights", 3, [(0, 1, 0.0), (1, 2, 0.0), (2, 2, 0.0)]),
        ("negative degree", 3, [(0, 1, -4.0), (1, 2, 1.0), (2, 0, 0.5)]),
        ("weights that cancel", 4, [(0, 1, -1.0), (2, 3, 1.5), (1, 3, -1.5), (3, 0, 2.0)]),
        ("random with repeats", 12, random_graph(1, 12, 60, 0.0)),
        ("random with negative weights", 12, random_graph(2, 12, 60, -1.0)),
        ("random and sparse", 40, random_graph(3, 40, 30, 0.1)),
    ]
    cases = [one for graph in graphs for one in variants(*graph)]
    document = {
        "made_by": "gcn_norm.py",
        "torch_geometric": torch_geometric.__version__,
        "torch": torch.__version__.split("+")[0],
        "cases": cases,
    }
    lines = ",\n".join("    " + json.dumps(one) for one in document.pop("cases"))
    head = json.dumps(document)[1:-1]
    sys.stdout.write("{\n  " + head + ',\n  "cases": [\n' + lines + "\n  ]\n}\n")


main()
