"""TGL's TGN, APAN and JODIE: its own modules, mailbox and C++ sampler, driven as its train.py drives them.

They are imported from a checkout that the user has prepared (TGL_HOME, see README.md): its sampler
must be built there, and nothing of it is changed. TGL places everything on a GPU; here the calls
that move tensors do nothing. A query sees earlier events of its own batch.
"""

import os
import sys
import types

import dgl
import numpy
import torch
import yaml

HOME = os.environ["TGL_HOME"]
CONFIGURATIONS = {"tgn": "TGN", "apan": "APAN", "jodie": "JODIE"}


def stay_on_the_processor():
    """Moves to a GPU become no moves."""
    for kind in (torch.Tensor, torch.nn.Module):
        kind.cuda = lambda self, *_, **__: self
    moved = dgl.DGLGraph.to
    dgl.DGLGraph.to = lambda self, device, **more: self if "cuda" in str(device) else moved(self, device, **more)


class WithoutGpu:
    """PyTorch as layers.py sees it: every device is the processor."""

    def __getattr__(self, name):
        return getattr(torch, name)

    def device(self, _):
        return torch.device("cpu")


def without_torch_scatter():
    """memorys.py imports it for a way of combining mails that none of these models uses."""
    module = types.ModuleType("torch_scatter")
    module.scatter = None
    sys.modules.setdefault("torch_scatter", module)


stay_on_the_processor()
without_torch_scatter()
sys.path.insert(0, HOME)
import layers  # noqa: E402
from memorys import MailBox  # noqa: E402
from modules import GeneralModel  # noqa: E402
from sampler import ParallelSampler  # noqa: E402
from utils import node_to_dgl_blocks, prepare_input, to_dgl_blocks  # noqa: E402

layers.torch = WithoutGpu()
# What DGL 2 calls copy_u.
dgl.function.copy_src = dgl.function.copy_u


def by_vertex(events):
    """Every event at both of its ends, in order of time: offsets, neighbours, events, times."""
    ends = numpy.concatenate([events.src, events.dst])
    others = numpy.concatenate([events.dst, events.src])
    number = numpy.tile(numpy.arange(len(events.src)), 2)
    order = numpy.lexsort((number, ends))
    offsets = numpy.concatenate([[0], numpy.cumsum(numpy.bincount(ends, minlength=events.vertices))])
    return offsets, others[order], number[order], events.time[number[order]].astype(numpy.float32)


class Contestant:
    def __init__(self, job, events):
        self.events, self.batch = events, job["batch"]
        with open(os.path.join(HOME, "config", CONFIGURATIONS[job["model"]] + ".yml")) as file:
            parts = yaml.safe_load(file)
        self.sampling, self.memory, self.gnn, learning = (parts[name][0] for name in ("sampling", "memory", "gnn", "train"))
        learning.setdefault("att_dropout", 0.0)
        width = events.features.shape[1]
        self.features = torch.from_numpy(events.features)
        self.model = GeneralModel(0, width, self.sampling, self.memory, self.gnn, learning)
        self.mailbox = MailBox(self.memory, events.vertices, width)
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=job["rate"])
        self.loss = torch.nn.BCEWithLogitsLoss()
        self.sampler = None
        if not self.sampling.get("no_sample"):
            asked = self.sampling
            self.sampler = ParallelSampler(
                *by_vertex(events), job["threads"], 1, asked["layer"], asked["neighbor"], asked["strategy"] == "recent",
                asked["prop_time"], asked["history"], float(asked["duration"]),
            )

    def batches(self, part):
        """Sources, destinations and negatives one after another, their times, and the events."""
        first, last = self.events.part(part)
        low, high = self.events.destinations()
        for start in range(first, last, self.batch):
            rows = numpy.arange(start, min(start + self.batch, last))
            others = numpy.random.randint(low, high, size=len(rows))
            roots = numpy.concatenate([self.events.src[rows], self.events.dst[rows], others]).astype(numpy.int32)
            yield roots, numpy.tile(self.events.time[rows], 3).astype(numpy.float32), rows

    def forward(self, roots, times):
        """The logits, and what the sampler found."""
        found = None
        if self.sampler is not None:
            asked = len(roots) * 2 // 3 if self.sampling.get("no_neg") else len(roots)
            self.sampler.sample(roots[:asked], times[:asked])
            found = self.sampler.get_ret()
        blocks = node_to_dgl_blocks(roots, times) if self.gnn["arch"] == "identity" else to_dgl_blocks(found, self.sampling["history"])
        blocks = prepare_input(blocks, None, self.features)
        self.mailbox.prep_input_mails(blocks[0])
        return self.model(blocks), found

    def remember(self, roots, times, rows, found):
        block = to_dgl_blocks(found, self.sampling["history"], reverse=True)[0][0] if self.memory["deliver_to"] == "neighbors" else None
        updated = self.model.memory_updater
        self.mailbox.update_mailbox(updated.last_updated_nid, updated.last_updated_memory, roots, times, self.features[rows], block)
        self.mailbox.update_memory(updated.last_updated_nid, updated.last_updated_memory, roots, updated.last_updated_ts)

    def train(self):
        self.model.train()
        self.mailbox.reset()
        if self.sampler is not None:
            self.sampler.reset()
        self.model.memory_updater.last_updated_nid = None
        total = 0.0
        for roots, times, rows in self.batches("train"):
            self.optimiser.zero_grad()
            (positive, negative), found = self.forward(roots, times)
            loss = self.loss(positive, torch.ones_like(positive)) + self.loss(negative, torch.zeros_like(negative))
            total += float(loss) * len(rows)
            loss.backward()
            self.optimiser.step()
            self.remember(roots, times, rows, found)
        return total / self.events.train_end

    @torch.no_grad()
    def score(self, part):
        self.model.eval()
        kept = []
        for roots, times, rows in self.batches(part):
            (positive, negative), found = self.forward(roots, times)
            kept.append((positive.flatten().numpy(), negative.flatten().numpy()))
            self.remember(roots, times, rows, found)
        return kept
