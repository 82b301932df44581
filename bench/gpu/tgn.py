"""Part `tgn`: TGN over the wikipedia events, beside PyG's example on the same card (bench/events has both)."""

import os
import sys

from cases import ROOT
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
            # The first epoch of a process is dropped where it has another.
            found["best"] = min(found["seconds"][1:] or found["seconds"])
            row[contestant.peer] = {key: found[key] for key in ("best", "seconds", "losses", "peak_device_bytes")}
            say(f"tgn, batch {batch}, {contestant.name}: {found['best']:.3g} s an epoch")
        say(f"tgn, batch {batch}: {row['pyg']['best'] / row['zoetrope']['best']:.1f} × PyG")
