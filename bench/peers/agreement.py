"""Whether two sides did the same work: losses from the same weights, and weights after it.

Nothing but rounding may differ before the first update: that loss is held to FIRST. Later ones
drift apart by what updates make of rounding, as two variants of one library do: the mean loss of
the first epoch (on D1 over 38 updates) is held to EPOCH, the rest is shown.
"""

from safetensors.numpy import load_file

FIRST = 1e-5
EPOCH = 1e-3


def relative(a, b):
    return abs(a - b) / max(abs(b), 1e-30)


def weights(ours, theirs):
    """The largest difference of a weight, relative to the largest weight of its tensor."""
    ours, theirs = load_file(ours), load_file(theirs)
    if missing := set(ours) - set(theirs):
        raise SystemExit(f"only one side has {sorted(missing)}")
    return max(float(abs(ours[name] - theirs[name]).max() / max(abs(ours[name]).max(), 1e-30)) for name in ours)


def check(ours, first, our_weights, theirs, their_weights):
    """How far a peer's run is from ours; `same` is the verdict."""
    distance = {
        "first_frame": relative(theirs["first_loss"], first),
        "first_epoch": relative(theirs["losses"][0], ours["losses"][0]),
        "last_epoch": relative(theirs["losses"][-1], ours["losses"][-1]),
        "weights": weights(our_weights, their_weights),
    }
    return {**distance, "same": distance["first_frame"] <= FIRST and distance["first_epoch"] <= EPOCH}
