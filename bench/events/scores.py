"""Average precision and area under the curve, with ties as scikit-learn counts them."""

import numpy


def _counts(positive, negative):
    """True and false positives at every distinct threshold, from the highest down."""
    scores = numpy.concatenate([positive, negative])
    labels = numpy.concatenate([numpy.ones(len(positive)), numpy.zeros(len(negative))])
    order = numpy.argsort(-scores, kind="stable")
    scores, labels = scores[order], labels[order]
    last = numpy.append(numpy.nonzero(numpy.diff(scores))[0], len(scores) - 1)
    true = numpy.cumsum(labels)[last]
    return true, last + 1 - true


def average_precision(positive, negative):
    true, false = _counts(positive, negative)
    recall = true / len(positive)
    return float(numpy.sum(numpy.diff(recall, prepend=0.0) * true / (true + false)))


def area(positive, negative):
    true, false = _counts(positive, negative)
    steps = numpy.diff(false, prepend=0.0)
    before = numpy.concatenate([[0.0], true[:-1]])
    return float(numpy.sum(steps * (true + before) / 2) / (len(positive) * len(negative)))


def judge(batches):
    """Of (positive, negative) scores by batch: pooled, and the mean over batches."""
    positive, negative = (numpy.concatenate(parts) for parts in zip(*batches))
    return {
        "ap": average_precision(positive, negative),
        "auc": area(positive, negative),
        "ap_by_batch": float(numpy.mean([average_precision(*batch) for batch in batches])),
        "auc_by_batch": float(numpy.mean([area(*batch) for batch in batches])),
    }
