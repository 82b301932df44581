"""TGLite's TGN, APAN and JODIE: the models of its examples, driven as its trainer drives them.

The models are imported from a checkout that the user names (TGLITE_HOME, see README.md), the library
itself is the installed one. One layer and ten neighbours, as everyone here; no features of vertices,
so zeros stand where its models want them. A query sees earlier events of its own batch.

One line of its JODIE is set right: as shipped it compares every source with the first negative of
the batch (`embed[2 * size]`) instead of its own (`embed[2 * size:]`).
"""

import importlib.machinery
import importlib.util
import os
import sys
import types
from pathlib import Path

import numpy
import torch

WIDTH, NEIGHBOURS, HEADS, MAILS, DROPOUT = 100, 10, 2, 10, 0.1
HOME = Path(os.environ["TGLITE_HOME"])


def without_scikit_learn():
    """support.py imports two of its metrics, which the trainer here does not call."""
    if importlib.util.find_spec("sklearn") is None:
        for name in ("sklearn", "sklearn.metrics"):
            sys.modules[name] = importlib.util.module_from_spec(importlib.machinery.ModuleSpec(name, None))
        sys.modules["sklearn.metrics"].average_precision_score = sys.modules["sklearn.metrics"].roc_auc_score = None


without_scikit_learn()
sys.path[:0] = [str(HOME / "examples"), str(HOME / "python")]
import tglite  # noqa: E402


def example(model):
    """The module of an example, with the row of JODIE's negatives set right."""
    path = HOME / "examples" / model / f"{model}.py"
    source = path.read_text()
    if model == "jodie":
        source = source.replace("embed[2 * size])", "embed[2 * size:])")
    module = types.ModuleType(f"tglite_{model}")
    module.__file__ = str(path)
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module


class Contestant:
    def __init__(self, job, events):
        self.events, self.batch = events, job["batch"]
        ends = numpy.stack([events.src, events.dst], axis=1).astype(numpy.int32)
        graph = tglite.TGraph(ends, events.time.astype(numpy.float32))
        features = events.features.shape[1]
        graph.efeat = torch.from_numpy(events.features)
        mails, mail = {"tgn": (1, 2 * WIDTH), "apan": (MAILS, 2 * WIDTH), "jodie": (1, WIDTH)}[job["model"]]
        graph.nfeat = None if job["model"] == "apan" else torch.zeros(graph.num_nodes(), WIDTH)
        graph.mailbox = tglite.Mailbox(graph.num_nodes(), mails, mail + features)
        graph.mem = tglite.Memory(graph.num_nodes(), WIDTH)
        graph.set_compute(torch.device("cpu"))
        self.graph, self.context = graph, tglite.TContext(graph)
        sampler = tglite.TSampler(NEIGHBOURS, strategy="recent", num_threads=job["threads"])
        module = example(job["model"])
        if job["model"] == "jodie":
            self.model = module.JODIE(self.context, dim_embed=WIDTH, dim_node=WIDTH, dim_edge=features, dim_time=WIDTH)
        else:
            self.context.need_sampling(True)
            common = {"dim_edge": features, "dim_time": WIDTH, "sampler": sampler, "num_heads": HEADS, "dropout": DROPOUT}
            if job["model"] == "tgn":
                self.model = module.TGN(self.context, dim_node=WIDTH, dim_embed=WIDTH, num_layers=1, **common)
            else:
                self.model = module.APAN(self.context, dim_mem=WIDTH, **common)
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=job["rate"])
        self.loss = torch.nn.BCEWithLogitsLoss()

    def batches(self, part):
        first, last = self.events.part(part)
        low, high = self.events.destinations()
        for batch in tglite.iter_edges(self.graph, size=self.batch, start=first, end=last):
            batch.neg_nodes = numpy.random.randint(low, high, len(batch)).astype(numpy.int32)
            yield batch

    def train(self):
        self.context.train()
        self.model.train()
        self.graph.mem.reset()
        self.graph.mailbox.reset()
        total = 0.0
        for batch in self.batches("train"):
            self.optimiser.zero_grad()
            positive, negative = self.model(batch)
            loss = self.loss(positive, torch.ones_like(positive)) + self.loss(negative, torch.zeros_like(negative))
            total += float(loss) * len(batch)
            loss.backward()
            self.optimiser.step()
        return total / self.events.train_end

    @torch.no_grad()
    def score(self, part):
        self.context.eval()
        self.model.eval()
        scores = (self.model(batch) for batch in self.batches(part))
        return [(positive.flatten().numpy(), negative.flatten().numpy()) for positive, negative in scores]
