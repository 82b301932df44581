"""Whether two sides did the same work: losses and gradients from the same weights, and what follows.

Nothing but rounding may differ before the first update: that loss is held to FIRST, and the gradient to
GRADIENT, as the norm of the difference over the norm. Later ones drift apart by what updates make
of rounding (Adam's first steps have the same length however small a gradient is): the mean loss
of the first epoch (on D1 over 38 updates) is held to EPOCH, the rest is shown.
"""

import math

FIRST = 1e-5
# Mostly below 2e-6. On D4 PyTorch's gradient of MPNN-LSTM, sums over 20,000 random answers in f32, is 1e-5 to 2e-2
# (tensor by tensor) from the same gradient in f64, and moves with its number of threads; ours is at most 7e-5 from it.
GRADIENT = 1e-2
EPOCH = 1e-3


def relative(a, b):
    return abs(a - b) / max(abs(b), 1e-30)


def norm(tensors):
    return math.sqrt(sum(float((tensor.astype(float) ** 2).sum()) for tensor in tensors))


def gradient(start, after, rate, theirs):
    """A peer's gradient against the step that ours made from `start` to `after`."""
    ours = {name: (start[name].astype(float) - after[name]) / rate for name in theirs}
    return norm(ours[name] - theirs[name] for name in theirs) / norm(theirs.values())


def weights(start, ours, theirs, trained):
    """How far apart two sides ended, as a share of how far ours came; of the `trained` tensors."""
    return norm(ours[name] - theirs[name] for name in trained) / norm(ours[name] - start[name] for name in trained)


def check(ours, theirs, further):
    """How far a peer's run is from ours; `same` is the verdict."""
    distance = {
        "first_frame": relative(theirs["first_loss"], ours["first_loss"]),
        "first_epoch": relative(theirs["losses"][0], ours["losses"][0]),
        "last_epoch": relative(theirs["losses"][-1], ours["losses"][-1]),
        **further,
    }
    same = distance["first_frame"] <= FIRST and distance["first_epoch"] <= EPOCH and distance["gradient"] <= GRADIENT
    return {**distance, "same": same}
