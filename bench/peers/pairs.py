"""The pairs that `zoetrope train` asks about in link prediction, drawn again.

Every link of the next snapshot and as many pairs that are none. The draws are a function of
(seed, epoch, step, position): Philox 4×32-10, in the order and with the keys of
crates/zoetrope-train/src/snapshots/sampling, so that both sides learn from the same pairs.
"""

import numpy

# Stream of negatives in training: `TRAINING + Purpose::Negatives` of draw_key.rs.
NEGATIVES = 0x0A00 + 2
POSITION_BITS = 40
LOW = numpy.uint64(0xFFFFFFFF)
HALF = numpy.uint64(32)


def philox(counter, key=(0, 0)):
    """Ten rounds over columns of 32-bit numbers held in 64 bits."""
    a, b, c, d = (numpy.asarray(part, dtype=numpy.uint64) for part in counter)
    first_key, second_key = (numpy.uint64(part) for part in key)
    for _ in range(10):
        first, second = numpy.uint64(0xD2511F53) * a, numpy.uint64(0xCD9E8D57) * c
        a, b, c, d = (second >> HALF) ^ b ^ first_key, second & LOW, (first >> HALF) ^ d ^ second_key, first & LOW
        first_key = (first_key + numpy.uint64(0x9E3779B9)) & LOW
        second_key = (second_key + numpy.uint64(0xBB67AE85)) & LOW
    return a, b, c, d


def below(bound, count, epoch, step, stream=NEGATIVES):
    """`count` numbers in 0..bound, with bound below 2^32."""
    index = (numpy.uint64(epoch) << numpy.uint64(POSITION_BITS)) + numpy.arange(count, dtype=numpy.uint64)
    columns = (index & LOW, index >> HALF, numpy.full(count, step), numpy.full(count, stream))
    low, high, _, _ = philox(columns)
    bound = numpy.uint64(bound)
    return ((high * bound + ((low * bound) >> HALF)) >> HALF).astype(numpy.int64)


def pairs(snapshot, vertices, epoch, step):
    """Sources, destinations and labels asked for at `step`, given the snapshot that follows it."""
    own = snapshot.src != snapshot.dst
    keys = numpy.unique(snapshot.dst[own] * vertices + snapshot.src[own])
    dst, src = numpy.divmod(keys, vertices)
    others = vertices - 1
    numbers = dst * others + src - (src > dst)
    rank = below(vertices * others - len(keys), len(keys), epoch, step)
    # Before the r-th pair that is no link lie the links whose number less their place is at most r.
    found = rank + numpy.searchsorted(numbers - numpy.arange(len(keys)), rank, side="right")
    no_dst, place = numpy.divmod(found, others)
    no_src = place + (place >= no_dst)
    labels = numpy.repeat(numpy.float32([1, 0]), len(keys))
    return numpy.concatenate([src, no_src]), numpy.concatenate([dst, no_dst]), labels
