"""T-GCN's equations on DGL's graph convolution, whose product is fused and keeps no messages.

The normalisation is computed once a snapshot. Parameters are stored under PyG-Temporal's names.
"""

import dgl
import torch
from dgl.nn.pytorch import GraphConv
from network import Network
from torch.nn.functional import mse_loss


class Cell(torch.nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        for gate in "zrh":
            self.add_module(f"conv_{gate}", GraphConv(features, hidden, norm="none"))
            self.add_module(f"linear_{gate}", torch.nn.Linear(2 * hidden, hidden))

    def forward(self, graph, weight, x, hidden):
        def gate(name, state):
            convolved = self.get_submodule(f"conv_{name}")(graph, x, edge_weight=weight)
            return self.get_submodule(f"linear_{name}")(torch.cat([convolved, state], dim=1))

        z, r = torch.sigmoid(gate("z", hidden)), torch.sigmoid(gate("r", hidden))
        return z * hidden + (1 - z) * torch.tanh(gate("h", hidden * r))


class Tgcn(Network):
    def __init__(self, features, hidden):
        super().__init__()
        self.recurrent, self.linear = Cell(features, hidden), torch.nn.Linear(hidden, 1)

    def forward(self, frame):
        hidden, cost = torch.zeros(frame[0][0].shape[0], self.linear.in_features), 0
        for x, (graph, weight), y in frame:
            hidden = self.recurrent(graph, weight, x, hidden)
            cost = cost + mse_loss(self.linear(torch.relu(hidden)).squeeze(1), y)
        return cost / len(frame)

    def load_state_dict(self, state, **options):
        return super().load_state_dict({dgl_name(name): turned(name, value) for name, value in state.items()}, **options)

    def state_dict(self, **options):
        return renamed(super().state_dict(**options))

    def gradients(self):
        return renamed(super().gradients())


def network(job, features):
    return Tgcn(features, job["hidden"])


def graph(edges, weight, vertices, _job):
    """The normalised snapshot with self-loops, and its weights; a loop that is there keeps its own."""
    own = edges[0] == edges[1]
    loops, loop_weight = torch.arange(vertices), torch.ones(vertices)
    loop_weight[edges[0][own]] = weight[own]
    source, destination = torch.cat([edges[0][~own], loops]), torch.cat([edges[1][~own], loops])
    weight = torch.cat([weight[~own], loop_weight])
    scale = torch.zeros(vertices).index_add(0, destination, weight).rsqrt()
    made = dgl.graph((source, destination), num_nodes=vertices)
    made.create_formats_()
    return made, scale[source] * weight * scale[destination]


def dgl_name(name):
    return name.replace(".lin.weight", ".weight") if ".conv_" in name else name


def pygt_name(name):
    return name.replace(".weight", ".lin.weight") if ".conv_" in name else name


def renamed(tensors):
    """As PyG-Temporal names and lays them out."""
    return {pygt_name(name): turned(pygt_name(name), value) for name, value in tensors.items()}


def turned(name, value):
    """DGL keeps the weights of a convolution transposed."""
    return value.T.contiguous() if name.endswith(".lin.weight") else value
