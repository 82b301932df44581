"""Golden values of the structure and time encoders, from torch_geometric and torch.

    python encoders.py encoders/

Files as those of `models.py`: the first snapshot of its sequence (all of them for `lstm` and
`gru`), `parameter.NAME`, `output`, and the gradients of the sum of the squared outputs,
`gradient.NAME` and `gradient.features`.
"""

import sys
from pathlib import Path

import torch
from models import FEATURES, HIDDEN, N, T, save, sequence
from torch_geometric.nn import ChebConv, GATConv, GCNConv, RGCNConv, SAGEConv


def cases():
    yield "gcn", GCNConv(FEATURES, HIDDEN), lambda m, x, e, w: m(x, e, w)
    yield "gat", GATConv(FEATURES, 4, heads=2), lambda m, x, e, w: m(x, e)
    yield "chebyshev", ChebConv(FEATURES, HIDDEN, 3), lambda m, x, e, w: m(x, e, w)
    yield "sage", SAGEConv(FEATURES, HIDDEN), lambda m, x, e, w: m(x, e)
    # The relation of an edge is whether its source is even.
    yield "rgcn", RGCNConv(FEATURES, HIDDEN, 2), lambda m, x, e, w: m(x, e, e[0] % 2)
    yield "gru", torch.nn.GRU(FEATURES, HIDDEN), lambda m, x, e, w: m(x)[0]
    yield "lstm", torch.nn.LSTM(FEATURES, HIDDEN), lambda m, x, e, w: m(x)[0]


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(5)
    for name, module, forward in cases():
        graph, features, _ = sequence()
        edges, weight = graph[0]
        x = torch.stack(features) if name in ("gru", "lstm") else features[0]
        x.requires_grad_()
        with torch.no_grad():
            for p in module.parameters():
                p.add_(torch.randn_like(p) * 0.1)
        output = forward(module, x, edges, weight)
        output.square().sum().backward()
        tensors = {
            "offsets": torch.tensor([0, edges.shape[1]], dtype=torch.int32),
            "src": edges[0].to(torch.int32),
            "dst": edges[1].to(torch.int32),
            "weight": weight,
            "features": x.detach().reshape(-1, FEATURES),
            "output": output.detach().reshape(-1, output.shape[-1]),
            "gradient.features": x.grad.reshape(-1, FEATURES),
        }
        for key, p in module.named_parameters():
            tensors[f"parameter.{key}"] = p.detach()
            tensors[f"gradient.{key}"] = p.grad
        metadata = {"encoder": name, "vertices": str(N), "steps": str(x.numel() // (N * FEATURES))}
        save(folder / f"{name}.safetensors", tensors, metadata)
        print(name, [f"{k} {list(p.shape)}" for k, p in module.named_parameters()])


if __name__ == "__main__":
    main()
