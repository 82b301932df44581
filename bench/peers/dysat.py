"""DySAT in plain PyTorch, by the equations of docs/models.md: no library ships it as a layer.

plain     snapshot by snapshot, as FeiGSSS/DySAT_pytorch runs it
stacked   all snapshots of a frame as one graph

The normalisation is computed once in both.
"""

import math

import torch
from network import Network
from torch.nn.functional import elu, leaky_relu, mse_loss
from torch_geometric.nn.conv.gcn_conv import gcn_norm

HEADS = 4


class Structural(torch.nn.Module):
    """Attention over the neighbours in a snapshot; scores are weighted by the edges."""

    def __init__(self, features, hidden):
        super().__init__()
        self.size = hidden // HEADS
        self.lin = torch.nn.Linear(features, hidden, bias=False)
        self.att_l = torch.nn.Parameter(torch.empty(1, HEADS, self.size))
        self.att_r = torch.nn.Parameter(torch.empty(1, HEADS, self.size))
        self.lin_residual = torch.nn.Linear(features, hidden, bias=False)
        torch.nn.init.xavier_uniform_(self.att_l)
        torch.nn.init.xavier_uniform_(self.att_r)

    def forward(self, x, edges, weight):
        rows = x.shape[0]
        src, dst = edges
        h = self.lin(x).view(rows, HEADS, self.size)
        left, right = (h * self.att_l).sum(2), (h * self.att_r).sum(2)
        score = leaky_relu(weight[:, None] * (left[src] + right[dst]), 0.2)
        share = softmax(score, dst, rows)
        gathered = torch.zeros_like(h).index_add(0, dst, share[:, :, None] * h[src])
        return elu(gathered).view(rows, -1) + self.lin_residual(x)


def softmax(score, dst, rows):
    """Over the edges that end at the same vertex; each has one, its self-loop."""
    with torch.no_grad():
        ends = dst[:, None].expand_as(score)
        top = torch.full((rows, HEADS), -torch.inf).scatter_reduce(0, ends, score, "amax")
    power = (score - top[dst]).exp()
    return power / torch.zeros(rows, HEADS).index_add(0, dst, power)[dst]


class Temporal(torch.nn.Module):
    """Attention of a vertex to its own earlier steps."""

    def __init__(self, hidden, steps):
        super().__init__()
        self.position_embeddings = torch.nn.Parameter(torch.empty(steps, hidden))
        self.Q_embedding_weights = torch.nn.Parameter(torch.empty(hidden, hidden))
        self.K_embedding_weights = torch.nn.Parameter(torch.empty(hidden, hidden))
        self.V_embedding_weights = torch.nn.Parameter(torch.empty(hidden, hidden))
        for parameter in self.parameters():
            torch.nn.init.xavier_uniform_(parameter)
        self.lin = torch.nn.Linear(hidden, hidden)
        self.register_buffer("future", torch.ones(steps, steps, dtype=torch.bool).triu(1), persistent=False)

    def forward(self, x):  # [vertices, steps, hidden]
        x = x + self.position_embeddings
        vertices, steps, hidden = x.shape

        def heads(weight):
            return (x @ weight).view(vertices, steps, HEADS, -1).transpose(1, 2)

        q, k, v = heads(self.Q_embedding_weights), heads(self.K_embedding_weights), heads(self.V_embedding_weights)
        score = (q @ k.transpose(2, 3) / math.sqrt(steps)).masked_fill(self.future, -torch.inf)
        out = (score.softmax(3) @ v).transpose(1, 2).reshape(vertices, steps, hidden)
        return torch.relu(self.lin(out)) + out + x


class Dysat(Network):
    def __init__(self, features, job):
        super().__init__()
        hidden, self.steps = job["hidden"], job["frame"]
        self.structural_attn = torch.nn.Sequential()
        self.structural_attn.add_module("structural_layer_0", Structural(features, hidden))
        self.temporal_attn = torch.nn.Sequential()
        self.temporal_attn.add_module("temporal_layer_0", Temporal(hidden, self.steps))
        self.linear = torch.nn.Linear(hidden, 1)

    def forward(self, frame):
        structural = self.structural_attn[0]
        if isinstance(frame, list):
            rows = torch.stack([structural(x, *graph) for x, graph, _ in frame], dim=1)
            y = torch.stack([y for _, _, y in frame], dim=1)
        else:
            x, graph, y = frame
            rows = structural(x, *graph).view(self.steps, -1, self.linear.in_features).transpose(0, 1)
            y = y.view(self.steps, -1).T
        out = self.temporal_attn(rows)
        return mse_loss(self.linear(torch.relu(out)).squeeze(2), y)


def network(job, features):
    return Dysat(features, job)


def graph(edges, weight, vertices, _job):
    return gcn_norm(edges, weight, vertices)
