"""One peer trains one case in a process of its own and prints one JSON line.

usage: peer.py JOB, a JSON object: peer, model, variant, task, data, frame, stride, hidden, epochs,
threads, weights (to start from; drawn and written if the file is not there),
final (where to write the weights afterwards).
"""

import importlib
import json
import os
import sys
import time

import numpy
import torch
from safetensors.torch import load_file, save_file
from workloads import frames, load

MODULES = {"pygt": "pygt", "tgm": "pygt", "dgl": "dgl_tgcn", "torch": "dysat"}


def resident(key):
    """Bytes from /proc: VmRSS now, VmHWM at most so far."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(key))


def examples(job, snapshots, peer):
    """The frames of an epoch as the network takes them, prepared once.

    A list of (features, graph, answers) for networks that go snapshot by snapshot; one such
    triple for those that take a frame as one graph.
    """
    vertices = job["vertices"]
    if job["model"] == "mpnn-lstm" or job["variant"] == "stacked":
        return lambda _: [stacked(job, [snapshots[t] for t in steps], peer) for steps in cut(job, len(snapshots))]
    prepared = [(torch.from_numpy(s.features), peer.graph(*edges(s), vertices, job)) for s in snapshots]
    if job["task"] == "link-prediction":
        return lambda epoch: linked(job, snapshots, prepared, epoch)
    answers = [torch.from_numpy(s.targets).float() for s in snapshots]
    return lambda _: [[(*prepared[t], answers[t]) for t in steps] for steps in cut(job, len(snapshots))]


def cut(job, steps):
    return frames(steps, job["frame"], job["stride"])


def edges(snapshot):
    return torch.from_numpy(numpy.stack([snapshot.src, snapshot.dst])), torch.from_numpy(snapshot.weight)


def stacked(job, parts, peer):
    """Snapshots as one graph whose vertices are numbered on from step to step."""
    vertices = job["vertices"]
    pairs = [edges(part) for part in parts]
    joined = torch.cat([ends + at * vertices for at, (ends, _) in enumerate(pairs)], dim=1)
    weight = torch.cat([weight for _, weight in pairs])
    x = torch.from_numpy(numpy.concatenate([part.features for part in parts]))
    asked = parts[-1:] if job["model"] == "mpnn-lstm" else parts
    y = torch.from_numpy(numpy.concatenate([part.targets for part in asked])).float()
    return x, peer.graph(joined, weight, vertices * len(parts), job), y


def linked(job, snapshots, prepared, epoch):
    """Frames with the pairs of an epoch: the links of the snapshot after each, and as many others."""
    from pairs import pairs

    def asked(step):
        src, dst, label = pairs(snapshots[step + 1], job["vertices"], epoch, step)
        return torch.from_numpy(src), torch.from_numpy(dst), torch.from_numpy(label)

    return [[(*prepared[t], asked(t)) for t in steps] for steps in cut(job, len(snapshots) - 1)]


def train(network, frames_of, job):
    """Seconds and mean loss of every epoch; drawing pairs is left out of the seconds."""
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    seconds, losses, first, frames_now = [], [], None, None
    for epoch in range(job["epochs"]):
        if frames_now is None or job["task"] == "link-prediction":
            frames_now = frames_of(epoch)
        total, start = 0.0, time.perf_counter()
        for frame in frames_now:
            optimiser.zero_grad()
            loss = network(frame)
            loss.backward()
            if first is None:
                first = loss.item()
                store(network.gradients(), job["gradient"])
            optimiser.step()
            total += loss.item()
        seconds.append(time.perf_counter() - start)
        losses.append(total / len(frames_now))
    return {"seconds": seconds, "losses": losses, "first_loss": first}


def store(tensors, path):
    save_file({name: value.detach().contiguous() for name, value in tensors.items()}, path)


def main():
    job = json.loads(sys.argv[1])
    torch.set_num_threads(job["threads"])
    peer = importlib.import_module(MODULES[job["peer"]])
    imported = resident("VmRSS")
    snapshots = load(job["data"])
    job["vertices"] = snapshots[0].features.shape[0]
    torch.manual_seed(7)
    network = peer.network(job, snapshots[0].features.shape[1])
    if not os.path.exists(job["weights"]):
        return store(network.state_dict(), job["weights"])
    network.load_state_dict(load_file(job["weights"]))
    report = train(network, examples(job, snapshots, peer), job)
    store(network.state_dict(), job["final"])
    print(json.dumps({**report, "peak_bytes": resident("VmHWM"), "import_bytes": imported}))


if __name__ == "__main__":
    main()
