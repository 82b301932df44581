"""PyG-Temporal trains the models of one case on a device, in a process of its own: one JSON line a model.

usage: peer.py JOB, a JSON object: data, frame, stride, hidden, models, device, least (timed frames), weights
(a folder: the first weights of each model are drawn and written there).

As users of that library do, the snapshots of a frame are copied to the GPU when their turn comes. Then
forward, loss on the last snapshot, backward, Adam. One epoch goes before the timed frames. Cutting,
stacking and conversion to tensors are not timed.
"""

import json
import os
import statistics
import sys
import time
import types
from pathlib import Path

import torch

# The package's own __init__ would load its data sets and what they download with; only its layers are used.
if folder := os.environ.get("PYGT"):
    package = types.ModuleType("torch_geometric_temporal")
    package.__path__ = [str(Path(folder).resolve() / "torch_geometric_temporal")]
    sys.modules["torch_geometric_temporal"] = package

# Behind this folder, which has a file of the same name as one there.
sys.path.append(str(Path(__file__).resolve().parents[1] / "peers"))
import pygt  # noqa: E402
from safetensors.torch import save_file  # noqa: E402
from workloads import frames, load  # noqa: E402


def upload(found, device):
    """The same structure with its tensors on a device."""
    if isinstance(found, torch.Tensor):
        return found.to(device)
    return type(found)(upload(each, device) for each in found) if isinstance(found, (list, tuple)) else found


def single(snapshots):
    """Each snapshot as (features, (edges, weights), answers)."""
    whole = lambda s: torch.stack([torch.from_numpy(s.src), torch.from_numpy(s.dst)])  # noqa: E731
    return [(torch.from_numpy(s.features), (whole(s), torch.from_numpy(s.weight)), torch.from_numpy(s.targets).float()) for s in snapshots]


def stacked(parts):
    """The snapshots of a frame as one graph whose vertices are numbered on from step to step."""
    vertices = len(parts[0][0])
    edges = torch.cat([part[1][0] + at * vertices for at, part in enumerate(parts)], dim=1)
    return torch.cat([part[0] for part in parts]), (edges, torch.cat([part[1][1] for part in parts])), parts[-1][2]


def examples(job, model, snapshots):
    """The frames of an epoch on the host; answers of the last snapshot alone."""
    cut = [[snapshots[t] for t in steps] for steps in frames(len(snapshots), job["frame"], job["stride"])]
    if model == "mpnn-lstm":
        return [stacked(parts) for parts in cut]
    return [[(x, graph, None) for x, graph, _ in parts[:-1]] + parts[-1:] for parts in cut]


class Clock:
    """The time of a device's work."""

    def __init__(self, device):
        self.wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None

    def now(self):
        self.wait()
        return time.perf_counter()


def first_loss(network, frame, device):
    """Before any update and in whole float32, which cuDNN's recurrent units do not use of themselves."""
    torch.backends.cudnn.allow_tf32 = False
    with torch.no_grad():
        loss = network(upload(frame, device)).item()
    torch.backends.cudnn.allow_tf32 = True
    return loss


def train(job, model, snapshots):
    device, clock = job["device"], Clock(job["device"])
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    torch.manual_seed(7)
    made = {**job, "model": model, "variant": "stock", "peer": "pygt", "loss": "last", "vertices": len(snapshots[0][0])}
    network = pygt.network(made, snapshots[0][0].shape[1])
    save_file({name: value.contiguous() for name, value in network.state_dict().items()}, Path(job["weights"]) / f"{model}.safetensors")
    network = network.to(device)
    epoch = examples(job, model, snapshots)
    first = first_loss(network, epoch[0], device)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    times, losses = [], []
    for number in range(len(epoch) + max(len(epoch), job["least"])):
        start = clock.now()
        frame = upload(epoch[number % len(epoch)], device)
        optimiser.zero_grad()
        loss = network(frame)
        loss.backward()
        optimiser.step()
        times.append(clock.now() - start)
        if number < len(epoch):
            losses.append(loss.item())
        del frame, loss
    return {
        "model": model, "first_loss": first, "epoch_loss": statistics.fmean(losses), "seconds": times[len(epoch):],
        "peak_bytes": torch.cuda.max_memory_allocated() if device.startswith("cuda") else 0,
    }


def main():
    job = json.loads(sys.argv[1])
    snapshots = single(load(job["data"]))
    for model in job["models"]:
        try:
            found = train(job, model, snapshots)
        except RuntimeError as reason:
            # Out of memory, for example: the other models may still run.
            found = {"model": model, "failure": str(reason)[:600]}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
