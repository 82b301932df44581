"""Golden values of the snapshot models: outputs, gradients and twenty steps of Adam.

Run with the folder to write to; needs torch, torch_geometric, torch_geometric_temporal and
safetensors' format (written here by hand, so that the package itself is not needed):

    python models.py models/

One file a case. Its metadata says what was built; its tensors are
    offsets, src, dst, weight     the edges of every snapshot
    features [T*N, F], targets [T*N]
    parameter.NAME                the state_dict before training
    output [rows, 1]              predictions in training mode, of every snapshot or of the last
    evaluated [rows, 1]           predictions in evaluation mode after that pass
    gradient.NAME                 gradients of the mean squared error
    losses [21]                   before each of twenty Adam(0.01) steps, and after the last

The `pygt` variants are the library's own layers, wrapped as its examples wrap them. The others
are written from the papers' formulas and from the descriptions of ESDG, PiPAD and DGC.
"""

import json
import math
import struct
import sys
import types
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F

stub = types.ModuleType("torch_sparse")
stub.SparseTensor = type("SparseTensor", (), {})
sys.modules.setdefault("torch_sparse", stub)

from torch_geometric.nn import ChebConv, GCNConv  # noqa: E402
from torch_geometric.nn.conv.gcn_conv import gcn_norm  # noqa: E402
from torch_geometric_temporal.nn.recurrent import (  # noqa: E402
    A3TGCN,
    EvolveGCNH,
    EvolveGCNO,
    GCLSTM,
    MPNNLSTM,
    TGCN,
)

N, T, FEATURES, HIDDEN = 7, 5, 3, 5


# ------------------------------------------------------------------ the library's own layers


class Steps(nn.Module):
    """Feeds a cell snapshot by snapshot; the first of its outputs is the embedding."""

    def __init__(self, recurrent, carries, width=HIDDEN):
        super().__init__()
        self.recurrent, self.carries = recurrent, carries
        self.linear = nn.Linear(width, 1)

    def forward(self, graph, x):
        state, rows = (), []
        for (edges, weight), features in zip(graph, x):
            out = self.recurrent(features, edges, weight, *state)
            if self.carries:
                state = out if isinstance(out, tuple) else (out,)
            rows.append(out[0] if isinstance(out, tuple) else out)
        return self.linear(F.relu(torch.cat(rows)))


class PygtEvolve(nn.Module):
    """Layers of PyG-Temporal's EvolveGCN; several are stacked with a ReLU between them."""

    def __init__(self, make, layers):
        super().__init__()
        names = ["recurrent"] if layers == 1 else [f"recurrent_{i + 1}" for i in range(layers)]
        for name in names:
            self.add_module(name, make())
        self.names, self.linear = names, nn.Linear(FEATURES, 1)

    def forward(self, graph, x):
        for name in self.names:
            self.get_submodule(name).reinitialize_weight()
        rows = []
        for (edges, weight), features in zip(graph, x):
            for name in self.names:
                features = F.relu(self.get_submodule(name)(features, edges, weight))
            rows.append(features)
        return self.linear(torch.cat(rows))


class PygtA3tgcn(nn.Module):
    """`constant`: the layer as it is, over the first graph; else each period its own graph."""

    def __init__(self, constant):
        super().__init__()
        self.recurrent = A3TGCN(FEATURES, HIDDEN, periods=T)
        self.linear, self.constant = nn.Linear(HIDDEN, 1), constant

    def forward(self, graph, x):
        if self.constant:
            h = self.recurrent(torch.stack(x, dim=2), *graph[0])
        else:
            parts = F.softmax(self.recurrent._attention, dim=0)
            cell = self.recurrent._base_tgcn
            h = sum(p * cell(f, *g) for p, f, g in zip(parts, x, graph))
        return self.linear(F.relu(h))


class PygtMpnnLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.recurrent = MPNNLSTM(FEATURES, HIDDEN, N, T, 0.0)
        self.linear = nn.Linear(2 * HIDDEN + FEATURES + T - 1, 1)

    def forward(self, graph, x):
        edges = torch.cat([e + t * N for t, (e, _) in enumerate(graph)], dim=1)
        weight = torch.cat([w for _, w in graph])
        return self.linear(F.relu(self.recurrent(torch.cat(x), edges, weight)))


# ------------------------------------------------------------------ from the papers' formulas


class PaperTgcnCell(nn.Module):
    """T-GCN with three two-layer convolutions: f(X) = sigmoid(A relu(A X W + b) W' + b')."""

    def __init__(self):
        super().__init__()
        for gate in "zrh":
            self.add_module(f"conv_{gate}", GCNConv(FEATURES, HIDDEN))
            self.add_module(f"conv_{gate}_2", GCNConv(HIDDEN, HIDDEN))
            self.add_module(f"linear_{gate}", nn.Linear(2 * HIDDEN, HIDDEN))

    def forward(self, x, edges, weight, h=None):
        h = torch.zeros(N, HIDDEN) if h is None else h

        def gate(name, state):
            c = F.relu(self.get_submodule(f"conv_{name}")(x, edges, weight))
            c = torch.sigmoid(self.get_submodule(f"conv_{name}_2")(c, edges, weight))
            return self.get_submodule(f"linear_{name}")(torch.cat([c, state], dim=1))

        z, r = torch.sigmoid(gate("z", h)), torch.sigmoid(gate("r", h))
        return z * h + (1 - z) * torch.tanh(gate("h", r * h))


class PaperA3tgcn(nn.Module):
    """A recurrent T-GCN whose states are weighted by scores e_t = (h_t w1 + b1) w2 + b2."""

    def __init__(self):
        super().__init__()
        self.recurrent = nn.Module()
        self.recurrent._base_tgcn = TGCN(FEATURES, HIDDEN)
        self.recurrent.score_1 = nn.Linear(HIDDEN, 1)
        self.recurrent.score_2 = nn.Linear(N, 1)
        self.linear = nn.Linear(HIDDEN, 1)

    def forward(self, graph, x):
        h, states = None, []
        for (edges, weight), features in zip(graph, x):
            h = self.recurrent._base_tgcn(features, edges, weight, h)
            states.append(h)
        states = torch.stack(states)
        scores = self.recurrent.score_2(self.recurrent.score_1(states).squeeze(2))
        context = (F.softmax(scores, dim=0).unsqueeze(2) * states).sum(dim=0)
        return self.linear(F.relu(context))


class PaperGcLstmCell(GCLSTM):
    """GC-LSTM of the paper: the cell state passes through a convolution of its own as well."""

    def __init__(self, k):
        super().__init__(FEATURES, HIDDEN, k)
        self.conv_cell = ChebConv(HIDDEN, HIDDEN, k)

    def forward(self, x, edges, weight, h=None, c=None):
        h = torch.zeros(N, HIDDEN) if h is None else h
        c = torch.zeros(N, HIDDEN) if c is None else c
        return super().forward(x, edges, weight, h, self.conv_cell(c, edges, weight))


class EvolvingLayer(nn.Module):
    """One layer of EvolveGCN by the paper: a rectangular weight whose columns are the sequence
    elements of an LSTM (-O: the weight is its own input) or of a GRU (-H: the input is the
    summary of the vertices). Biases are matrices, one column for each column of the weight.
    Everything is stored transposed, as linear layers are: a row here is a column there."""

    def __init__(self, kind, inputs, outputs):
        super().__init__()
        rows = (4 if kind == "o" else 3) * inputs
        self.kind, self.inputs, self.outputs = kind, inputs, outputs
        self.initial_weight = nn.Parameter(torch.empty(outputs, inputs))
        self.weight_ih = nn.Parameter(torch.empty(rows, inputs))
        self.weight_hh = nn.Parameter(torch.empty(rows, inputs))
        self.bias = nn.Parameter(torch.empty(outputs, rows))
        if kind == "h":
            self.scorer = nn.Parameter(torch.empty(1, inputs))
        for p in self.parameters():
            bound = 1 / math.sqrt(inputs)
            nn.init.uniform_(p, -bound, bound)

    def summary(self, x):
        score = torch.tanh(x @ self.scorer.squeeze(0) / self.scorer.norm())
        chosen = score.topk(self.outputs).indices
        return x[chosen] * score[chosen, None]

    def evolve(self, w, c, x):
        if self.kind == "o":
            gates = w @ self.weight_ih.T + w @ self.weight_hh.T + self.bias
            i, f, g, o = gates.chunk(4, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            return torch.sigmoid(o) * torch.tanh(c), c
        a = self.summary(x) @ self.weight_ih.T + self.bias
        (ar, az, an), (ur, uz, un) = a.chunk(3, dim=1), self.weight_hh.chunk(3)
        r, z = torch.sigmoid(ar + w @ ur.T), torch.sigmoid(az + w @ uz.T)
        return z * w + (1 - z) * torch.tanh(an + (r * w) @ un.T), c

    def forward(self, graph, x):
        w, c, rows = self.initial_weight, torch.zeros(self.outputs, self.inputs), []
        for (edges, weight), features in zip(graph, x):
            w, c = self.evolve(w, c, features)
            rows.append(F.relu(propagate(edges, weight, features @ w.T)))
        return rows


class PaperEvolve(nn.Module):
    def __init__(self, kind, layers):
        super().__init__()
        widths = [FEATURES] + [HIDDEN] * layers
        self.recurrent = nn.Module()
        self.recurrent.layers = nn.ModuleList(
            EvolvingLayer(kind, widths[i], widths[i + 1]) for i in range(layers)
        )
        self.linear = nn.Linear(HIDDEN, 1)

    def forward(self, graph, x):
        for layer in self.recurrent.layers:
            x = layer(graph, x)
        return self.linear(torch.cat(x))


class PaperMpnnLstm(nn.Module):
    """As PyG-Temporal's, but with an output for every snapshot: both states of the snapshot and
    its own features."""

    def __init__(self):
        super().__init__()
        self.recurrent = MPNNLSTM(FEATURES, HIDDEN, N, T, 0.0)
        self.linear = nn.Linear(2 * HIDDEN + FEATURES, 1)

    def forward(self, graph, x):
        r = self.recurrent
        edges = torch.cat([e + t * N for t, (e, _) in enumerate(graph)], dim=1)
        weight, x = torch.cat([w for _, w in graph]), torch.cat(x)
        first = r._batch_norm_1(F.relu(r._convolution_1(x, edges, weight)))
        second = r._batch_norm_2(F.relu(r._convolution_2(first, edges, weight)))
        a, _ = r._recurrent_1(torch.cat([first, second], dim=1).view(T, N, -1))
        b, _ = r._recurrent_2(a)
        h = torch.cat([a.reshape(T * N, -1), b.reshape(T * N, -1), x], dim=1)
        return self.linear(F.relu(h))


class DynamicGcn(nn.Module):
    """Layers of a graph convolution and an LSTM over each vertex's sequence.

    wd          H = relu(A X W + b)
    cd          H = [X, relu(A X W + b)]           (Manessi, Rozza and Manzo 2020)
    cd-esdg     H = relu([A X, A X W + b])         (ESDG section 5.1)
    """

    def __init__(self, kind, layers):
        super().__init__()
        self.kind, width = kind, FEATURES
        self.recurrent = nn.Module()
        self.recurrent.layers = nn.ModuleList()
        for _ in range(layers):
            layer = nn.Module()
            layer.conv = GCNConv(width, HIDDEN)
            layer.lstm = nn.LSTM(HIDDEN + (0 if kind == "wd" else width), HIDDEN)
            self.recurrent.layers.append(layer)
            width = HIDDEN
        self.linear = nn.Linear(HIDDEN, 1)

    def forward(self, graph, x):
        for layer in self.recurrent.layers:
            rows = []
            for (edges, weight), features in zip(graph, x):
                y = layer.conv(features, edges, weight)
                if self.kind == "wd":
                    rows.append(F.relu(y))
                elif self.kind == "cd":
                    rows.append(torch.cat([features, F.relu(y)], dim=1))
                else:
                    rows.append(F.relu(torch.cat([propagate(edges, weight, features), y], dim=1)))
            x, _ = layer.lstm(torch.stack(rows))
        return self.linear(F.relu(x.reshape(T * N, -1)))


class TmGcn(nn.Module):
    """Layers of a graph convolution and the M-transform: an average over the last steps."""

    def __init__(self, layers, window):
        super().__init__()
        self.recurrent = nn.Module()
        self.recurrent.layers = nn.ModuleList()
        for i in range(layers):
            layer = nn.Module()
            layer.conv = GCNConv(FEATURES if i == 0 else HIDDEN, HIDDEN)
            self.recurrent.layers.append(layer)
        self.linear = nn.Linear(HIDDEN, 1)
        self.m = torch.tensor(
            [
                [1 / min(window, t + 1) if max(0, t - window + 1) <= k <= t else 0 for k in range(T)]
                for t in range(T)
            ]
        )

    def forward(self, graph, x):
        for layer in self.recurrent.layers:
            y = torch.stack([F.relu(layer.conv(f, e, w)) for (e, w), f in zip(graph, x)])
            x = torch.einsum("tk,knf->tnf", self.m, y)
        return self.linear(F.relu(x.reshape(T * N, -1)))


class Structural(nn.Module):
    """DySAT's attention over the neighbours in one snapshot, scores weighted by the edges."""

    def __init__(self, width, out, heads):
        super().__init__()
        self.heads, self.size = heads, out // heads
        self.lin = nn.Linear(width, out, bias=False)
        self.att_l = nn.Parameter(torch.empty(1, heads, self.size))
        self.att_r = nn.Parameter(torch.empty(1, heads, self.size))
        self.lin_residual = nn.Linear(width, out, bias=False)
        nn.init.xavier_uniform_(self.att_l)
        nn.init.xavier_uniform_(self.att_r)

    def forward(self, x, edges, weight):
        edges, weight = gcn_norm(edges, weight, N)
        h = self.lin(x).view(N, self.heads, self.size)
        left, right = (h * self.att_l).sum(2), (h * self.att_r).sum(2)
        score = F.leaky_relu(weight[:, None] * (left[edges[0]] + right[edges[1]]), 0.2)
        dense = torch.full((N, N, self.heads), -torch.inf).index_put((edges[1], edges[0]), score)
        alpha = F.softmax(dense, dim=1)
        out = F.elu(torch.einsum("dsh,shf->dhf", alpha, h)).reshape(N, -1)
        return out + self.lin_residual(x)


class Temporal(nn.Module):
    """DySAT's attention of a vertex to its own earlier steps."""

    def __init__(self, width, heads, by_width):
        super().__init__()
        self.heads = heads
        # The reference divides by the root of the number of steps, the paper by that of the width.
        self.scale = math.sqrt(width if by_width else T)
        self.position_embeddings = nn.Parameter(torch.empty(T, width))
        self.Q_embedding_weights = nn.Parameter(torch.empty(width, width))
        self.K_embedding_weights = nn.Parameter(torch.empty(width, width))
        self.V_embedding_weights = nn.Parameter(torch.empty(width, width))
        for p in self.parameters():
            nn.init.xavier_uniform_(p)
        self.lin = nn.Linear(width, width)

    def forward(self, x):  # [T, N, width]
        x = x + self.position_embeddings[:, None, :]
        split = lambda w: (x @ w).view(T, N, self.heads, -1)  # noqa: E731
        q, k, v = map(
            split, (self.Q_embedding_weights, self.K_embedding_weights, self.V_embedding_weights)
        )
        score = torch.einsum("tnhf,snhf->nhts", q, k) / self.scale
        score = score.masked_fill(~torch.ones(T, T, dtype=torch.bool).tril(), -torch.inf)
        out = torch.einsum("nhts,snhf->tnhf", F.softmax(score, dim=3), v).reshape(T, N, -1)
        return F.relu(self.lin(out)) + out + x


class Dysat(nn.Module):
    def __init__(self, width, structural, temporal, heads, by_width):
        super().__init__()
        self.structural_attn = nn.Sequential()
        for i in range(structural):
            self.structural_attn.add_module(
                f"structural_layer_{i}", Structural(FEATURES if i == 0 else width, width, heads)
            )
        self.temporal_attn = nn.Sequential()
        for i in range(temporal):
            self.temporal_attn.add_module(f"temporal_layer_{i}", Temporal(width, heads, by_width))
        self.linear = nn.Linear(width, 1)

    def forward(self, graph, x):
        rows = []
        for (edges, weight), features in zip(graph, x):
            for layer in self.structural_attn:
                features = layer(features, edges, weight)
            rows.append(features)
        return self.linear(F.relu(self.temporal_attn(torch.stack(rows)).reshape(T * N, -1)))


def propagate(edges, weight, x):
    """A X with PyG's normalisation."""
    edges, weight = gcn_norm(edges, weight, N)
    return torch.zeros_like(x).index_add(0, edges[1], weight[:, None] * x[edges[0]])


# ------------------------------------------------------------------ cases and files


def sequence():
    """Directed weighted edges; vertex 6 is always isolated, snapshot 3 has no edges, snapshot 1
    has a self-loop."""
    graph = []
    for t in range(T):
        pairs = sorted({(torch.randint(6, ()).item(), torch.randint(6, ()).item()) for _ in range(12)})
        pairs = [] if t == 3 else [(s, d) for s, d in pairs if s != d or t == 1]
        if t == 1 and (2, 2) not in pairs:
            pairs = sorted(pairs + [(2, 2)])
        edges = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T.contiguous()
        graph.append((edges, torch.rand(edges.shape[1]) + 0.25))
    x = [torch.randn(N, FEATURES) for _ in range(T)]
    return graph, x, torch.randn(T * N, 1)


def cases():
    o, h = (lambda: EvolveGCNO(FEATURES)), (lambda: EvolveGCNH(N, FEATURES))
    yield "tgcn", "pygt", {}, lambda: Steps(TGCN(FEATURES, HIDDEN), True)
    yield "tgcn", "paper", {}, lambda: Steps(PaperTgcnCell(), True)
    yield "a3tgcn", "pygt", {"constant": True}, lambda: PygtA3tgcn(True)
    yield "a3tgcn", "pygt", {}, lambda: PygtA3tgcn(False)
    yield "a3tgcn", "paper", {}, PaperA3tgcn
    for k in (1, 2, 3):
        yield "gc-lstm", "pygt", {"k": k}, lambda k=k: Steps(GCLSTM(FEATURES, HIDDEN, k), True)
    yield "gc-lstm", "paper", {"k": 2}, lambda: Steps(PaperGcLstmCell(2), True)
    yield "evolvegcn-o", "pygt", {"layers": 1}, lambda: PygtEvolve(o, 1)
    yield "evolvegcn-o", "pygt", {"layers": 2}, lambda: PygtEvolve(o, 2)
    yield "evolvegcn-o", "paper", {"layers": 2}, lambda: PaperEvolve("o", 2)
    yield "evolvegcn-h", "pygt", {"layers": 1}, lambda: PygtEvolve(h, 1)
    yield "evolvegcn-h", "paper", {"layers": 2}, lambda: PaperEvolve("h", 2)
    yield "mpnn-lstm", "pygt", {}, PygtMpnnLstm
    yield "mpnn-lstm", "paper", {}, PaperMpnnLstm
    yield "wd-gcn", "paper", {"layers": 1}, lambda: DynamicGcn("wd", 1)
    yield "cd-gcn", "paper", {"layers": 2}, lambda: DynamicGcn("cd", 2)
    yield "cd-gcn", "esdg", {"layers": 2}, lambda: DynamicGcn("cd-esdg", 2)
    yield "tm-gcn", "paper", {"layers": 2, "window": 3}, lambda: TmGcn(2, 3)
    yield "dysat", "reference", {"hidden": 6, "heads": 2}, lambda: Dysat(6, 1, 1, 2, False)
    yield "dysat", "paper", {"hidden": 6, "heads": 3, "layers": 2}, lambda: Dysat(6, 2, 2, 3, True)


def golden(build, constant):
    torch.manual_seed(3)
    graph, x, targets = sequence()
    if constant:
        graph = [graph[0]] * T
    model = build()
    # Biases and running statistics that begin at a constant would hide mistakes.
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith("bias") or ".b_" in name:
                p.add_(torch.randn_like(p) * 0.2)
    tensors = {
        "offsets": torch.tensor([0] + [e.shape[1] for e, _ in graph]).cumsum(0).to(torch.int32),
        "src": torch.cat([e[0] for e, _ in graph]).to(torch.int32),
        "dst": torch.cat([e[1] for e, _ in graph]).to(torch.int32),
        "weight": torch.cat([w for _, w in graph]),
        "features": torch.cat(x),
        "targets": targets,
    }
    for name, value in model.state_dict().items():
        tensors[f"parameter.{name}"] = value.detach().clone()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for step in range(21):
        optimiser.zero_grad()
        output = model(graph, x)
        # A model with one row a vertex predicts the last snapshot only.
        loss = F.mse_loss(output, targets[-output.shape[0] :])
        losses.append(loss.detach())
        loss.backward()
        if step == 0:
            tensors["output"] = output.detach().clone()
            for name, p in model.named_parameters():
                tensors[f"gradient.{name}"] = p.grad.clone()
            model.eval()
            with torch.no_grad():
                tensors["evaluated"] = model(graph, x)
            model.train()
        if step < 20:
            optimiser.step()
    tensors["losses"] = torch.stack(losses)
    return tensors, "every" if tensors["output"].shape[0] == T * N else "last"


KINDS = {torch.float32: "F32", torch.int32: "I32", torch.int64: "I64"}


def save(path, tensors, metadata):
    header, body = {"__metadata__": metadata}, b""
    for name, value in sorted(tensors.items()):
        data = value.contiguous().numpy().tobytes()
        header[name] = {
            "dtype": KINDS[value.dtype],
            "shape": list(value.shape),
            "data_offsets": [len(body), len(body) + len(data)],
        }
        body += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for model, variant, options, build in cases():
        tensors, loss = golden(build, options.get("constant", False))
        metadata = {
            "model": model,
            "variant": variant,
            "loss": loss,
            "vertices": str(N),
            "steps": str(T),
            "features": str(FEATURES),
            "hidden": str(HIDDEN),
        }
        metadata |= {key: str(value).lower() for key, value in options.items()}
        suffix = "".join(f"-{key}{value}" for key, value in options.items() if key != "hidden")
        path = folder / f"{model}-{variant}{suffix}.safetensors".replace("-constantTrue", "-constant")
        save(path, tensors, metadata)
        first, last = tensors["losses"][0], tensors["losses"][-1]
        print(f"{path.name}: {len(tensors)} tensors, loss {first:.4f} -> {last:.4f}")


if __name__ == "__main__":
    main()
