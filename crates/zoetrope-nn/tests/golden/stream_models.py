"""Golden values of models over events, from a transcription of their formulas: every question by
itself, nothing shared, in f64.

    python stream_models.py stream/

Files as those of `stream_pyg.py`. Memory is as at the beginning of a batch, with waiting mails;
neighbours are the last ones strictly before the question, those of the batch included. A mail is
`[s_i, s_j, e_ij]` as of the batch that sends it, without a gradient.
"""

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
from torch import nn
from torch.nn import functional as F

MAIL = 2 * HIDDEN + FEATURES


class TimeEnc(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(1, HIDDEN)

    def forward(self, difference):
        return torch.cos(self.w(torch.tensor([float(difference)], dtype=torch.float64)))


class Layer(nn.Module):
    """Attention over neighbours, from rows of `inputs`."""

    def __init__(self, inputs):
        super().__init__()
        self.inputs, self.time_enc = inputs, TimeEnc()
        self.w_q = nn.Linear(inputs + HIDDEN, HIDDEN)
        self.w_k = nn.Linear(inputs + FEATURES + HIDDEN, HIDDEN)
        self.w_v = nn.Linear(inputs + FEATURES + HIDDEN, HIDDEN)
        self.w_out = nn.Linear(inputs + HIDDEN, HIDDEN)
        self.layer_norm = nn.LayerNorm(HIDDEN)

    def forward(self, h, neighbours):
        """`neighbours` are triples (row, features, time difference)."""
        q = self.w_q(torch.cat([h, self.time_enc(0)])).view(HEADS, -1)
        read = torch.zeros(HIDDEN, dtype=torch.float64)
        if neighbours:
            x = torch.stack([torch.cat([r, f, self.time_enc(d)]) for r, f, d in neighbours])
            k, v = self.w_k(x).view(-1, HEADS, HIDDEN // HEADS), self.w_v(x)
            alpha = F.leaky_relu((q * k).sum(dim=2), 0.2).softmax(dim=0)
            read = (alpha.unsqueeze(2) * v.view(-1, HEADS, HIDDEN // HEADS)).sum(dim=0).view(-1)
        return self.layer_norm(F.relu(self.w_out(torch.cat([read, h]))))


class SumLayer(nn.Module):
    """A sum over neighbours; one layer, its parameters as in the TGN paper's code."""

    def __init__(self):
        super().__init__()
        self.time_enc = TimeEnc()
        self.linear_1 = nn.ModuleList([nn.Linear(2 * HIDDEN + FEATURES, HIDDEN)])
        self.linear_2 = nn.ModuleList([nn.Linear(3 * HIDDEN, HIDDEN)])

    def forward(self, h, neighbours):
        total = torch.zeros(HIDDEN, dtype=torch.float64)
        for r, f, d in neighbours:
            total = total + self.linear_1[0](torch.cat([r, self.time_enc(d), f]))
        return self.linear_2[0](torch.cat([F.relu(total), h, self.time_enc(0)]))


class CellUpdater(nn.Module):
    """A recurrent cell on the newest mail."""

    def __init__(self, cell, mlp, vertex_features):
        super().__init__()
        self.time_enc = TimeEnc()
        width = HIDDEN if mlp else MAIL + HIDDEN
        self.updater = {"gru": nn.GRUCell, "rnn": nn.RNNCell, "lstm": nn.LSTMCell}[cell](
            width, HIDDEN
        )
        self.cell, self.width = cell, width
        if mlp:
            raw = MAIL + HIDDEN
            layers = nn.Sequential(nn.Linear(raw, raw // 2), nn.ReLU(), nn.Linear(raw // 2, HIDDEN))
            self.message_function = nn.Module()
            self.message_function.mlp = layers
        if vertex_features not in (0, HIDDEN):
            self.node_feat_map = nn.Linear(vertex_features, HIDDEN)

    def forward(self, state, vertex, time):
        mails = state.mails[vertex]
        message = torch.zeros(self.width, dtype=torch.float64)
        heard = state.last_update[vertex]
        if mails:
            mail, sent = mails[-1]
            message = torch.cat([mail, self.time_enc(sent - heard)])
            heard = sent
            if hasattr(self, "message_function"):
                message = self.message_function.mlp(message)
        s = state.memory[vertex]
        if self.cell == "lstm":
            s, c = self.updater(message[None], (s[None], state.cells[vertex][None]))
            return s[0], c[0], heard
        return self.updater(message[None], s[None])[0], None, heard


class MailUpdater(nn.Module):
    """Attention over the mails of a vertex, as of the time of a question."""

    def __init__(self):
        super().__init__()
        self.time_enc = TimeEnc()
        self.w_q = nn.Linear(HIDDEN, HIDDEN)
        self.w_k = nn.Linear(MAIL + HIDDEN, HIDDEN)
        self.w_v = nn.Linear(MAIL + HIDDEN, HIDDEN)
        self.layer_norm = nn.LayerNorm(HIDDEN)
        self.mlp = nn.Linear(HIDDEN, HIDDEN)

    def forward(self, state, vertex, time):
        s, mails = state.memory[vertex], state.mails[vertex]
        read = torch.zeros(HIDDEN, dtype=torch.float64)
        heard = max([state.last_update[vertex]] + [sent for _, sent in mails])
        if mails:
            x = torch.stack([torch.cat([mail, self.time_enc(time - sent)]) for mail, sent in mails])
            q = self.w_q(s).view(HEADS, -1)
            k, v = (w(x).view(-1, HEADS, HIDDEN // HEADS) for w in (self.w_k, self.w_v))
            alpha = F.leaky_relu((q * k).sum(dim=2), 0.2).softmax(dim=0)
            read = (alpha.unsqueeze(2) * v).sum(dim=0).view(-1)
        return F.relu(self.mlp(self.layer_norm(read + s))), None, heard


class State:
    def __init__(self, vertices, origin, slots):
        zeros = lambda: torch.zeros(vertices, HIDDEN, dtype=torch.float64)
        self.memory, self.cells, self.slots = zeros(), zeros(), slots
        self.last_update = [origin] * vertices
        self.mails = [[] for _ in range(vertices)]


class Reference(nn.Module):
    def __init__(self, data, o):
        super().__init__()
        self.o, self.data, self.origin = o, data, int(data["time"][0])
        width = o.get("vertex_features", 0)
        self.vertex_features = data.get("vertex_features")
        if o["model"] == "apan":
            self.memory_updater = MailUpdater()
        elif o["model"] != "tgat":
            self.memory_updater = CellUpdater(o["updater"], o.get("message") == "mlp", width)
        self.layers = nn.ModuleDict()
        inputs = width if o["model"] == "tgat" else HIDDEN
        if o["embedding"] == "attention":
            for at in range(o["layers"]):
                self.layers[f"l{at}h0"] = Layer(HIDDEN if at else inputs)
        elif o["embedding"] == "sum":
            self.embedding_module = SumLayer()
        else:
            self.layers["l0h0"] = nn.Module()
            self.layers["l0h0"].norm = nn.LayerNorm(HIDDEN)
            if o["embedding"] == "time":
                self.layers["l0h0t"] = nn.Module()
                self.layers["l0h0t"].time_emb = nn.Linear(1, HIDDEN)
        self.edge_predictor = nn.ModuleDict(
            {
                "src_fc": nn.Linear(HIDDEN, HIDDEN),
                "dst_fc": nn.Linear(HIDDEN, HIDDEN),
                "out_fc": nn.Linear(HIDDEN, 1),
            }
        )

    def reset(self):
        self.state = State(self.data["vertices"], self.origin, self.o.get("mailbox", 1))

    def base(self, vertex, time):
        """The row that embeddings begin with, and when the vertex was last heard of."""
        own = None if self.vertex_features is None else self.vertex_features[vertex].double()
        if self.o["model"] == "tgat":
            return torch.zeros(0, dtype=torch.float64) if own is None else own, None
        s, _, heard = self.memory_updater(self.state, vertex, time)
        if own is not None:
            mapped = hasattr(self.memory_updater, "node_feat_map")
            s = s + (self.memory_updater.node_feat_map(own) if mapped else own)
        return s, heard

    def embed(self, vertex, time, layers):
        if self.o["embedding"] in ("identity", "time"):
            h, heard = self.base(vertex, time)
            y = self.layers["l0h0"].norm(h)
            if self.o["embedding"] == "time":
                share = (time - heard) / (time - self.origin + 1)
                share = torch.tensor([share], dtype=torch.float64)
                y = y * (1 + self.layers["l0h0t"].time_emb(share))
            return y
        if layers == 0:
            return self.base(vertex, time)[0]
        neighbours = []
        for other, event in recent(self.data, vertex, time, 1 << 60, NEIGHBOURS):
            then = int(self.data["time"][event])
            features = self.data["features"][event].double()
            neighbours.append((self.embed(other, then, layers - 1), features, time - then))
        sums = self.o["embedding"] == "sum"
        layer = self.embedding_module if sums else self.layers[f"l{layers - 1}h0"]
        return layer(self.embed(vertex, time, layers - 1), neighbours)

    def step(self, batch):
        data, layers = self.data, self.o["layers"]
        own = range(batch * BATCH, (batch + 1) * BATCH)
        rows = {"src": [], "dst": [], "negative": []}
        for event in own:
            time = int(data["time"][event])
            for side in rows:
                rows[side].append(self.embed(int(data[side][event]), time, layers))
        src, dst, negative = (torch.stack(rows[side]) for side in ("src", "dst", "negative"))
        score = lambda a, b: self.edge_predictor["out_fc"](
            F.relu(self.edge_predictor["src_fc"](a) + self.edge_predictor["dst_fc"](b))
        )
        positive, negatives = score(src, dst), score(src, negative)
        loss = F.binary_cross_entropy_with_logits(positive, torch.ones_like(positive))
        loss = loss + F.binary_cross_entropy_with_logits(negatives, torch.zeros_like(negatives))
        if self.o["model"] != "tgat":
            with torch.no_grad():
                self.absorb(own)
        logits = torch.cat([positive, negatives]).squeeze(1)
        return torch.cat([src, dst, negative]), logits, loss

    def absorb(self, own):
        """New rows of memory for the ends of the batch, then their mails."""
        data, state = self.data, self.state
        ends = lambda event: (int(data["src"][event]), int(data["dst"][event]))
        updated = {}
        for event in own:
            time = int(data["time"][event])
            for vertex in ends(event):
                updated[vertex, time] = self.memory_updater(state, vertex, time)
        received = {}
        for event in own:
            time, features = int(data["time"][event]), data["features"][event].double()
            for side, (i, j) in enumerate([ends(event), ends(event)[::-1]]):
                mail = torch.cat([updated[i, time][0], updated[j, time][0], features])
                if side == 0 or i != j:
                    received.setdefault(i, []).append(((time, True, event, side), mail))
                if self.o["model"] == "apan":
                    for other, _ in recent(data, i, time, 1 << 60, NEIGHBOURS):
                        received.setdefault(other, []).append(((time, False, event, side), mail))
        # What the batch has read stays as it was for its backward pass.
        state.memory, state.cells = state.memory.clone(), state.cells.clone()
        for (vertex, _), (s, c, heard) in updated.items():  # later events overwrite earlier ones
            state.memory[vertex], state.last_update[vertex] = s, heard
            if c is not None:
                state.cells[vertex] = c
        for vertex, mails in received.items():
            rank, mail = max(mails, key=lambda entry: entry[0])
            if self.o.get("combine") == "mean":
                mail = torch.stack([mail for _, mail in mails]).mean(dim=0)
            ring = state.mails[vertex] + [(mail, rank[0])]
            state.mails[vertex] = ring[-state.slots :]


def golden(data, o):
    torch.manual_seed(8)
    model = Reference(data, o).double()
    randomise(model)
    tensors = tensors_of(data)
    if model.vertex_features is not None:
        tensors["vertex_features"] = model.vertex_features
    for name, p in model.named_parameters():
        tensors[f"parameter.{name}"] = p.detach().float()
    first = {name: p.detach().clone() for name, p in model.named_parameters()}
    model.reset()
    logits, embeddings = [], []
    for batch in range(BATCHES):
        model.zero_grad()
        found, scores, loss = model.step(batch)
        loss.backward()
        logits.append(scores.detach())
        embeddings.append(found.detach())
    tensors["logits"] = torch.stack(logits).float()
    tensors["embeddings"] = torch.stack(embeddings).float()
    tensors["memory"] = model.state.memory.float()
    tensors["last_update"] = torch.tensor(model.state.last_update, dtype=torch.int32)
    for name, p in model.named_parameters():
        grad = torch.zeros_like(p) if p.grad is None else p.grad
        tensors[f"gradient.{name}"] = grad.float()
    model.load_state_dict(first)
    model.reset()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4)
    losses = []
    for batch in range(o.get("steps", 10)):
        # A parameter that a batch does not use has a gradient of zeros, not none: Adam counts it.
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
        _, _, loss = model.step(batch)
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
    tensors["losses"] = torch.stack(losses).float()
    return tensors


def cases():
    tgn = {"model": "tgn", "updater": "gru", "embedding": "attention", "layers": 1}
    jodie = {"model": "jodie", "updater": "rnn", "embedding": "time", "layers": 0}
    apan = {"model": "apan", "updater": "transformer", "embedding": "identity", "layers": 0}
    tgat = {"model": "tgat", "embedding": "attention", "layers": 2}
    yield "tgn-tgl-bipartite", True, tgn
    yield "tgn-tgl-loops", False, tgn
    yield "tgn-tgl-layers2-mean", False, tgn | {"layers": 2, "combine": "mean"}
    yield "tgn-tgl-lstm-features", True, tgn | {"updater": "lstm", "vertex_features": 5}
    yield "tgn-tgl-mlp-sum", True, tgn | {"message": "mlp", "embedding": "sum"}
    yield "jodie-bipartite", True, jodie
    yield "jodie-loops-features", False, jodie | {"vertex_features": HIDDEN}
    yield "apan-bipartite", True, apan | {"mailbox": 4}
    yield "apan-loops-mean", False, apan | {"mailbox": 3, "combine": "mean"}
    yield "tgat-plain", False, tgat
    yield "tgat-features", True, tgat | {"vertex_features": 5}


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    assert STEPS >= BATCHES
    for name, bipartite, options in cases():
        data = stream(bipartite, loops="loops" in name)
        if options.get("vertex_features"):
            generator = torch.Generator().manual_seed(3)
            shape = (data["vertices"], options["vertex_features"])
            data["vertex_features"] = torch.randn(*shape, generator=generator)
        tensors = golden(data, options)
        more = {"convention": "tgl", "neighbours_rule": "per-event"} | options
        more["origin"] = int(data["time"][0])
        save(folder / f"{name}.safetensors", tensors, metadata_of(data, **more))
        first, last = tensors["losses"][0], tensors["losses"][-1]
        print(f"{name}: {len(tensors)} tensors, loss {first:.5f} -> {last:.5f}")


if __name__ == "__main__":
    main()
