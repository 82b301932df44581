"""Part `tgn`: TGN over the wikipedia events, beside PyG's example on the same GPU (bench/events has both)."""

import os
import statistics
import sys

from cases import ROOT
from goals import epochs
from program import say

EPOCHS = {"zoetrope": 4, "pyg": 2}


def measure(asked, part):
    # In front: bench/peers, which this process has on its path as well, has files of the same names.
    sys.path.insert(0, str(ROOT / "bench" / "events"))
    from contestants import AS_PYG, BATCHES, Contestant, run
    from workload import SOURCE, make

    table = make(asked.quick)
    if table is None:
        return say(f"left out: {SOURCE} is not there (WIKIPEDIA names its folder)")
    threads, rows = os.cpu_count(), part.setdefault("rows", {})
    for batch in BATCHES:
        row = rows.setdefault(str(batch), {})
        for contestant, more in ((Contestant("pyg"), {"evaluate": False}), (AS_PYG, {})):
            epochs = 1 if asked.quick else EPOCHS[contestant.peer]
            found = run(contestant, "tgn", batch, epochs, table, threads, device=asked.device, **more)
            row[contestant.peer] = {key: found[key] for key in ("seconds", "losses", "peak_device_bytes")}
            row["commit"] = part["about"]["commit"]
            say(f"tgn, batch {batch}, {contestant.name}: {statistics.median(epochs(found)):.3g} s an epoch")
        peer, mine = (statistics.median(epochs(row[who])) for who in ("pyg", "zoetrope"))
        say(f"tgn, batch {batch}: {peer / mine:.1f} × PyG")
