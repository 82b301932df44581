"""PyG-Temporal's own layers in networks as its examples write them, and two ways to tune them.

stock     the layers as shipped, given edges and weights
prenorm   the GCN normalisation computed once a snapshot; the layers are told not to repeat it
csr       as prenorm, with a sparse CSR matrix in place of lists of edges
"""

import sys
import types

import torch
from network import Network
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss

# PyG-Temporal imports the name of a class from this package, which has no wheel, and never uses it.
sparse = types.ModuleType("torch_sparse")
sparse.SparseTensor = type("SparseTensor", (), {})
sys.modules.setdefault("torch_sparse", sparse)

from torch_geometric.nn import ChebConv, GCNConv  # noqa: E402
from torch_geometric.nn.conv.gcn_conv import gcn_norm  # noqa: E402
from torch_geometric_temporal.nn.recurrent import GCLSTM, MPNNLSTM, TGCN, EvolveGCNO  # noqa: E402
from torch_geometric_temporal.nn.recurrent.evolvegcno import GCNConv_Fixed_W  # noqa: E402


def asked(frame, job):
    """The snapshots of a frame whose answers count."""
    return frame[-1:] if job.get("loss") == "last" else frame


class Tgcn(Network):
    """T-GCN; the hidden state goes from snapshot to snapshot of a frame."""

    def __init__(self, features, job):
        super().__init__()
        self.job = job
        self.recurrent, self.linear = TGCN(features, job["hidden"]), torch.nn.Linear(job["hidden"], 1)

    def forward(self, frame):
        hidden, rows = None, []
        for x, graph, _ in frame:
            hidden = self.recurrent(x, *graph, hidden)
            rows.append(hidden)
        costs = [mse_loss(self.linear(torch.relu(x)).squeeze(1), y) for x, (*_, y) in zip(asked(rows, self.job), asked(frame, self.job))]
        return sum(costs) / len(costs)


class EvolveGcn(Network):
    """Two layers of EvolveGCN-O whose weights start anew with each frame."""

    def __init__(self, features, job):
        super().__init__()
        self.recurrent_1, self.recurrent_2 = EvolveGCNO(features), EvolveGCNO(features)
        self.linear, self.job = torch.nn.Linear(features, 1), job

    def forward(self, frame):
        self.recurrent_1.reinitialize_weight()
        self.recurrent_2.reinitialize_weight()
        rows = []
        for x, graph, _ in frame:
            x = torch.relu(self.recurrent_1(x, *graph))
            rows.append(torch.relu(self.recurrent_2(x, *graph)))
        costs = [mse_loss(self.linear(x).squeeze(1), y) for x, (*_, y) in zip(asked(rows, self.job), asked(frame, self.job))]
        return sum(costs) / len(costs)


class MpnnLstm(Network):
    """MPNN-LSTM over a frame stacked to one graph; answers for its last snapshot."""

    def __init__(self, features, job):
        super().__init__()
        hidden, steps = job["hidden"], job["frame"]
        self.recurrent = MPNNLSTM(features, hidden, job["vertices"], steps, 0.0)
        self.linear = torch.nn.Linear(2 * hidden + features + steps - 1, 1)

    def forward(self, frame):
        x, graph, y = frame
        hidden = self.recurrent(x, *graph)
        return mse_loss(self.linear(torch.relu(hidden)).squeeze(1), y)


class GcLstmLinks(Network):
    """GC-LSTM and EvolveGCN's classifier of pairs."""

    def __init__(self, features, job, layer=GCLSTM):
        super().__init__()
        hidden = job["hidden"]
        self.recurrent = layer(features, hidden, 2)
        self.decoder = torch.nn.Sequential(
            torch.nn.Linear(2 * hidden, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1)
        )

    def forward(self, frame):
        hidden = cell = None
        logits, labels = [], []
        for x, graph, (src, dst, label) in frame:
            hidden, cell = self.recurrent(x, *graph, hidden, cell)
            logits.append(self.decoder(torch.cat([hidden[src], hidden[dst]], dim=1)).squeeze(1))
            labels.append(label)
        return binary_cross_entropy_with_logits(torch.cat(logits), torch.cat(labels))


NETWORKS = {"tgcn": Tgcn, "evolvegcn-o": EvolveGcn, "mpnn-lstm": MpnnLstm, "gc-lstm": GcLstmLinks}


def network(job, features):
    """The network of a model, told what its graphs will be like."""
    if job["peer"] == "tgm":
        from tgm.nn.encoder.gclstm import GCLSTM as layer

        return GcLstmLinks(features, job, layer)
    made = NETWORKS[job["model"]](features, job)
    for layer in made.modules():
        if isinstance(layer, (GCNConv, GCNConv_Fixed_W)) and job["variant"] != "stock":
            layer.normalize = False
        if isinstance(layer, GCNConv_Fixed_W) and job["variant"] == "csr":
            layer.forward = lambda weight, x, adjacency, _: adjacency @ (x @ weight)
        if isinstance(layer, ChebConv) and job["variant"] == "prenorm":
            layer.__norm__ = lambda edges, _vertices, weight, *_, **__: (edges, weight)
    return made


def graph(edges, weight, vertices, job):
    """What the layers of a variant are given for a snapshot."""
    if job["variant"] == "stock":
        return edges, weight
    if job["model"] == "gc-lstm":
        return ChebConv(1, 1, 2).__norm__(edges, vertices, weight, "sym", dtype=weight.dtype)
    edges, weight = gcn_norm(edges, weight, vertices)
    if job["variant"] == "prenorm":
        return edges, weight
    matrix = torch.sparse_coo_tensor(edges.flip(0), weight, (vertices, vertices))
    return matrix.coalesce().to_sparse_csr(), None
