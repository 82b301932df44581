"""TGM's TGN: its memory, its recency table and its attention, put together as in its example.

A query sees the neighbours that were there before its batch.
"""

import torch
from tgm import DGraph
from tgm.constants import PADDED_NODE_ID
from tgm.data import DGData, DGDataLoader
from tgm.hooks import DeduplicationHook, HookManager, NegativeEdgeSamplerHook, RecencyNeighborHook
from tgm.nn import LinkPredictor, TGNMemory
from tgm.nn.encoder.tgn import GraphAttentionEmbedding, IdentityMessage, LastAggregator

WIDTH, NEIGHBOURS = 100, 10


class Contestant:
    def __init__(self, job, events):
        self.hooks = HookManager(keys=["all"])
        self.hooks.register_shared(NegativeEdgeSamplerHook(*events.destinations()))
        self.hooks.register_shared(RecencyNeighborHook(
            num_nodes=events.vertices, num_nbrs=[NEIGHBOURS],
            seed_nodes_keys=["edge_src", "edge_dst", "neg"], seed_times_keys=["edge_time", "edge_time", "neg_time"],
        ))
        self.hooks.register_shared(DeduplicationHook())
        self.loaders = {}
        for part in ("train", "val", "test"):
            rows = slice(*events.part(part))
            data = DGData.from_raw(
                edge_time=torch.from_numpy(events.time[rows]),
                edge_index=torch.stack([torch.from_numpy(ends[rows]) for ends in (events.src, events.dst)], dim=1).int(),
                edge_x=torch.from_numpy(events.features[rows]),
            )
            self.loaders[part] = DGDataLoader(DGraph(data), job["batch"], hook_manager=self.hooks)
        features = events.features.shape[1]
        self.memory = TGNMemory(
            events.vertices, features, WIDTH, WIDTH,
            message_module=IdentityMessage(features, WIDTH, WIDTH), aggregator_module=LastAggregator(),
        )
        attention = GraphAttentionEmbedding(in_channels=WIDTH, out_channels=WIDTH, msg_dim=features, time_enc=self.memory.time_enc)
        self.modules = torch.nn.ModuleList([self.memory, attention, LinkPredictor(node_dim=WIDTH, hidden_dim=WIDTH)])
        self.optimiser = torch.optim.Adam(self.modules.parameters(), lr=job["rate"])

    def scores(self, batch):
        _, attention, head = self.modules
        neighbours = batch.nbr_nids[0].flatten()
        there = neighbours != PADDED_NODE_ID
        asked = torch.cat([batch.edge_src, batch.edge_dst, batch.neg]).repeat_interleave(NEIGHBOURS)
        edges = torch.stack([batch.global_to_local(asked[there]), batch.global_to_local(neighbours[there])]).long()
        times = batch.nbr_edge_time[0].flatten()[there]
        features = batch.nbr_edge_x[0].flatten(0, -2).float()[there]
        rows, updated = self.memory(batch.unique_nids)
        rows = attention(rows, updated, edges, times, features)
        src, dst, other = (rows[batch.global_to_local(ends)] for ends in (batch.edge_src, batch.edge_dst, batch.neg))
        return head(src, dst), head(src, other)

    def remember(self, batch):
        self.memory.update_state(batch.edge_src, batch.edge_dst, batch.edge_time, batch.edge_x.float())

    def train(self):
        self.modules.train()
        self.memory.reset_state()
        self.hooks.reset_state()
        bce, total, count = torch.nn.functional.binary_cross_entropy_with_logits, 0.0, 0
        with self.hooks.activate("all"):
            for batch in self.loaders["train"]:
                self.optimiser.zero_grad()
                positive, negative = self.scores(batch)
                loss = bce(positive, torch.ones_like(positive)) + bce(negative, torch.zeros_like(negative))
                self.remember(batch)
                loss.backward()
                self.optimiser.step()
                self.memory.detach()
                total += float(loss) * len(batch.edge_src)
                count += len(batch.edge_src)
        return total / count

    @torch.no_grad()
    def score(self, part):
        self.modules.eval()
        found = []
        with self.hooks.activate("all"):
            for batch in self.loaders[part]:
                positive, negative = self.scores(batch)
                found.append((positive.flatten().numpy(), negative.flatten().numpy()))
                self.remember(batch)
        return found
