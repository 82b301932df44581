"""PyG's TGN: its memory, its last-neighbour table and its TransformerConv, put together as in its example.

A query sees the neighbours that were there before its batch. In training the mails of a vertex wait
until the vertex is asked for; in evaluation PyG applies them at once.
"""

import torch
from torch_geometric.data import TemporalData
from torch_geometric.loader import TemporalDataLoader
from torch_geometric.nn import TGNMemory, TransformerConv
from torch_geometric.nn.models.tgn import IdentityMessage, LastAggregator, LastNeighborLoader

WIDTH, NEIGHBOURS, HEADS, DROPOUT = 100, 10, 2, 0.1


class Attention(torch.nn.Module):
    """Embeds vertices from their memory and that of their last neighbours."""

    def __init__(self, features, clock):
        super().__init__()
        self.clock = clock
        self.conv = TransformerConv(WIDTH, WIDTH // HEADS, heads=HEADS, dropout=DROPOUT, edge_dim=features + WIDTH)

    def forward(self, rows, updated, edges, time, features):
        age = self.clock((updated[edges[0]] - time).to(rows.dtype))
        return self.conv(rows, edges, torch.cat([age, features], dim=-1))


class Head(torch.nn.Module):
    """The score of a pair."""

    def __init__(self):
        super().__init__()
        self.src, self.dst, self.last = (torch.nn.Linear(WIDTH, width) for width in (WIDTH, WIDTH, 1))

    def forward(self, src, dst):
        return self.last(torch.relu(self.src(src) + self.dst(dst)))


class Contestant:
    def __init__(self, job, events):
        device = torch.device(job.get("device", "cpu"))
        self.data = TemporalData(
            src=torch.from_numpy(events.src), dst=torch.from_numpy(events.dst),
            t=torch.from_numpy(events.time), msg=torch.from_numpy(events.features),
        ).to(device)
        self.loaders = {}
        for part in ("train", "val", "test"):
            first, last = events.part(part)
            self.loaders[part] = TemporalDataLoader(self.data[first:last], batch_size=job["batch"], neg_sampling_ratio=1.0)
        features = events.features.shape[1]
        self.memory = TGNMemory(
            events.vertices, features, WIDTH, WIDTH,
            message_module=IdentityMessage(features, WIDTH, WIDTH), aggregator_module=LastAggregator(),
        )
        self.attention, self.head = Attention(features, self.memory.time_enc), Head()
        self.neighbours = LastNeighborLoader(events.vertices, size=NEIGHBOURS, device=device)
        self.place = torch.empty(events.vertices, dtype=torch.long, device=device)
        self.modules = torch.nn.ModuleList([self.memory, self.attention, self.head]).to(device)
        self.optimiser = torch.optim.Adam(self.modules.parameters(), lr=job["rate"])

    def scores(self, batch):
        """The logits of the events and of their negatives."""
        asked, edges, event = self.neighbours(batch.n_id)
        self.place[asked] = torch.arange(len(asked), device=asked.device)
        rows, updated = self.memory(asked)
        rows = self.attention(rows, updated, edges, self.data.t[event], self.data.msg[event])
        src, dst, other = (rows[self.place[ends]] for ends in (batch.src, batch.dst, batch.neg_dst))
        return self.head(src, dst), self.head(src, other)

    def remember(self, batch):
        self.memory.update_state(batch.src, batch.dst, batch.t, batch.msg)
        self.neighbours.insert(batch.src, batch.dst)

    def train(self):
        self.modules.train()
        self.memory.reset_state()
        self.neighbours.reset_state()
        bce, total, count = torch.nn.functional.binary_cross_entropy_with_logits, 0.0, 0
        for batch in self.loaders["train"]:
            self.optimiser.zero_grad()
            positive, negative = self.scores(batch)
            loss = bce(positive, torch.ones_like(positive)) + bce(negative, torch.zeros_like(negative))
            self.remember(batch)
            loss.backward()
            self.optimiser.step()
            self.memory.detach()
            total += float(loss) * batch.num_events
            count += batch.num_events
        return total / count

    @torch.no_grad()
    def score(self, part):
        self.modules.eval()
        found = []
        for batch in self.loaders[part]:
            positive, negative = self.scores(batch)
            found.append((positive.flatten().cpu().numpy(), negative.flatten().cpu().numpy()))
            self.remember(batch)
        return found
