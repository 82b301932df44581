"""Golden values of TGN from PyG's own `TGNMemory` and `TransformerConv`, as its example puts them
together, in f64 (its f32 phases of time encodings are coarser than the tolerance).

    python stream_pyg.py stream/

One file a case. Its tensors are
    src, dst, negative, time, features    the stream
    parameter.NAME                        all weights before training
    logits [5, 2*batch]                   of the events and then of the negatives, five batches in a
                                          row with fixed weights and dropout 0
    embeddings [5, 3*batch, D]            of sources, destinations and negatives
    memory [N, M], last_update [N]        after them
    gradient.NAME                         of the fifth batch's loss
    losses [50]                           before each step of Adam(1e-4) from fresh memory
"""

import copy
import sys
from pathlib import Path

import torch
from models import save
from stream_data import (
    BATCH,
    BATCHES,
    FEATURES,
    HEADS,
    HIDDEN,
    NEIGHBOURS,
    STEPS,
    metadata_of,
    randomise,
    recent,
    stream,
    tensors_of,
)
from torch.nn import BCEWithLogitsLoss, Linear, Module
from torch_geometric.nn import TGNMemory, TransformerConv
from torch_geometric.nn.models import tgn
from torch_geometric.nn.models.tgn import IdentityMessage, LastAggregator, MeanAggregator


def scatter_argmax(src, index, dim, dim_size):
    """PyG's, as it is with torch_scatter: rows without entries give `len(src)`. Its own version for
    installations without gives them `dim_size - 1`, so that vertices without messages get the
    message of another."""
    out = index.new_full((dim_size,), src.numel())
    most = src.new_full((dim_size,), -1).scatter_reduce_(0, index, src, "amax")
    chosen = (src == most[index]).nonzero().view(-1)
    out[index[chosen]] = chosen
    return out


tgn.scatter_argmax = scatter_argmax


class Attention(Module):
    def __init__(self, time_enc):
        super().__init__()
        self.time_enc = time_enc
        edge_dim = FEATURES + time_enc.out_channels
        self.conv = TransformerConv(HIDDEN, HIDDEN // HEADS, heads=HEADS, edge_dim=edge_dim)

    def forward(self, x, last_update, edges, t, message):
        rel_t = last_update[edges[0]] - t
        attributes = torch.cat([self.time_enc(rel_t.to(x.dtype)), message], dim=-1)
        return self.conv(x, edges, attributes)


class Predictor(Module):
    def __init__(self):
        super().__init__()
        self.lin_src, self.lin_dst = Linear(HIDDEN, HIDDEN), Linear(HIDDEN, HIDDEN)
        self.lin_final = Linear(HIDDEN, 1)

    def forward(self, src, dst):
        return self.lin_final((self.lin_src(src) + self.lin_dst(dst)).relu())


class Tgn(Module):
    def __init__(self, vertices, aggregator):
        super().__init__()
        message = IdentityMessage(FEATURES, HIDDEN, HIDDEN)
        self.memory = TGNMemory(vertices, FEATURES, HIDDEN, HIDDEN, message, aggregator)
        self.gnn = Attention(self.memory.time_enc)
        self.link_pred = Predictor()

    def step(self, data, batch):
        """Embeddings, logits and loss of a batch; memory is updated."""
        own = slice(batch * BATCH, (batch + 1) * BATCH)
        src, dst, negative, t = (data[key][own] for key in ("src", "dst", "negative", "time"))
        message = data["features"][own].double()
        asked = torch.cat([src, dst, negative]).unique().tolist()
        edges, events = [], []
        for vertex in asked:
            for other, event in recent(data, vertex, 1 << 60, batch * BATCH, NEIGHBOURS):
                edges.append((other, vertex))
                events.append(event)
        n_id = torch.tensor(sorted({*asked, *(other for other, _ in edges)}))
        place = {vertex: at for at, vertex in enumerate(n_id.tolist())}
        index = [[place[a], place[b]] for a, b in edges]
        index = torch.tensor(index, dtype=torch.long).reshape(-1, 2).T
        events = torch.tensor(events, dtype=torch.long)
        z, last_update = self.memory(n_id)
        features = data["features"].double()[events]
        z = self.gnn(z, last_update, index, data["time"][events], features)
        rows = lambda vertices: z[torch.tensor([place[v] for v in vertices.tolist()])]
        positive = self.link_pred(rows(src), rows(dst))
        negatives = self.link_pred(rows(src), rows(negative))
        criterion = BCEWithLogitsLoss()
        loss = criterion(positive, torch.ones_like(positive))
        loss = loss + criterion(negatives, torch.zeros_like(negatives))
        self.memory.update_state(src, dst, t, message)
        embeddings = torch.cat([rows(src), rows(dst), rows(negative)])
        return embeddings, torch.cat([positive, negatives]).squeeze(1), loss


def names(model):
    """The time encoder belongs to the memory; the layer that shares it names it again."""
    kept = {"memory.gru", "memory.time_enc", "gnn.conv", "link_pred"}
    found = {}
    for name, p in model.named_parameters(remove_duplicate=False):
        if any(name.startswith(prefix + ".") for prefix in kept):
            found[name] = p
    return found


def golden(data, aggregator):
    torch.manual_seed(4)
    model = Tgn(data["vertices"], aggregator).double()
    model.memory.reset_state()  # The stores of messages do not follow `double`.
    randomise(model)
    tensors = tensors_of(data)
    for name, p in names(model).items():
        tensors[f"parameter.{name}"] = p.detach().float()
    fresh = copy.deepcopy(model)
    logits, embeddings = [], []
    for batch in range(BATCHES):
        model.zero_grad()
        found, scores, loss = model.step(data, batch)
        loss.backward()
        model.memory.detach()
        logits.append(scores.detach())
        embeddings.append(found.detach())
    tensors["logits"] = torch.stack(logits).float()
    tensors["embeddings"] = torch.stack(embeddings).float()
    tensors["memory"] = model.memory.memory.detach().float()
    tensors["last_update"] = model.memory.last_update.to(torch.int32)
    for name, p in names(model).items():
        tensors[f"gradient.{name}"] = p.grad.float()
    if isinstance(aggregator, LastAggregator):
        # Evaluation: the memory takes in all messages that wait, and then each at once.
        model.eval()
        with torch.no_grad():
            after = [model.step(data, batch)[1] for batch in range(BATCHES, 2 * BATCHES)]
        tensors["evaluation"] = torch.stack(after).float()
    optimiser = torch.optim.Adam(fresh.parameters(), lr=1e-4)
    losses = []
    for batch in range(STEPS):
        optimiser.zero_grad()
        _, _, loss = fresh.step(data, batch)
        loss.backward()
        optimiser.step()
        fresh.memory.detach()
        losses.append(loss.detach())
    tensors["losses"] = torch.stack(losses).float()
    return tensors


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    cases = [
        ("bipartite", stream(True), LastAggregator()),
        ("any-pairs", stream(False), LastAggregator()),
        ("mean", stream(True), MeanAggregator()),
    ]
    for name, data, aggregator in cases:
        combine = "mean" if name == "mean" else "last"
        more = {"model": "tgn", "convention": "pyg", "neighbours_rule": "batch-stale"}
        more |= {"layers": 1, "combine": combine, "origin": 0}
        tensors = golden(data, aggregator)
        save(folder / f"tgn-pyg-{name}.safetensors", tensors, metadata_of(data, **more))
        first, last = tensors["losses"][0], tensors["losses"][-1]
        print(f"tgn-pyg-{name}: {len(tensors)} tensors, loss {first:.5f} -> {last:.5f}")


if __name__ == "__main__":
    main()
