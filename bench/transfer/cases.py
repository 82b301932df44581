"""The graphs, how they are cut and smoothed, and the models that are trained on them."""

import os
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "bench-transfer"
ZOETROPE = Path(os.environ.get("ZOETROPE", ROOT / "target" / "release" / "zoetrope")).resolve()
DATA = Path(os.environ.get("DATA", ROOT.parent / "shared" / "data"))

# As in the paper: TM-GCN smooths by the M-product, EvolveGCN by edge-life, CD-GCN not at all.
SMOOTHING = {"tm-gcn": "m_product", "evolvegcn-o": "edge_life", "cd-gcn": None}


@dataclass(frozen=True)
class Case:
    """A graph over time. `life` is the window of both kinds of smoothing, `frame` a block of the timeline.

    Every way of sending is run `rounds` times for `epochs` epochs, in turn with the others.
    """

    name: str
    about: str
    source: object
    life: int
    frame: int
    epochs: int = 12
    rounds: int = 3
    settings: dict = field(default_factory=dict)

    def file(self):
        """The file that runs read: made once, so that they do not generate or cut it again."""
        return WORK / f"{self.name}.zoe" if isinstance(self.source, str) else self.source


CASES = {
    case.name: case
    for case in [
        Case("as-733", "as-733: routers, 733 days", DATA / "as-733" / "as-733.tar.xz", 20, 50),
        Case("epinions-trust", "epinions-trust: who trusts whom, 250 windows",
             DATA / "epinions-trust" / "soc-epinions-trust-dir.edges.gz", 25, 25,
             settings={"data.window": "250parts", "data.weights": "ones"}),
        # About as many entries a vertex and snapshot as ESDG's AMLSim has, 5.5.
        Case("aml", "payments: 250,000 accounts, 20,000,000 payments in 100 days",
             "synthetic:aml?accounts=250k&events=20M&patterns=1000&days=100", 10, 10, 6, 1,
             settings={"data.window": "1d", "data.weights": "ones"}),
    ]
}

# The same with as little as shows that everything runs.
TINY = {
    case.name: case
    for case in [
        Case("aml-tiny", "payments: 300 accounts, 4,000 payments in 12 days",
             "synthetic:aml?accounts=300&events=4000&patterns=2&days=12", 4, 4, 4, 2,
             settings={"data.window": "1d", "data.weights": "ones"}),
    ]
}
