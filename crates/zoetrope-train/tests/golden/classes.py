"""Rare classes by scikit-learn: measures of baselines, balanced weights and weighted losses.

    python3 classes.py > classes.json

Needs scikit-learn and numpy. The labels are written out, so that the Rust side reads the same ones.
"""

import json

import numpy as np
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.utils.class_weight import compute_class_weight

VERTICES, STEPS, TRAINING = 12, 10, 6


def main():
    rng = np.random.default_rng(4)
    labels = (rng.random((STEPS, VERTICES)) < 0.15).astype(int)
    # Who was positive often stays so: persistence is better than chance.
    for step in range(1, STEPS):
        stay = rng.random(VERTICES) < 0.5
        labels[step, stay] = labels[step - 1, stay]
    test = labels[TRAINING:]
    majority = np.zeros_like(test)
    persistence = labels[TRAINING - 1 : -1]

    def measures(predicted):
        return {
            "ap": average_precision_score(test.ravel(), predicted.ravel()),
            "auc": roc_auc_score(test.ravel(), predicted.ravel()),
        }

    classes = rng.choice(3, size=40, p=[0.7, 0.2, 0.1])
    classes[:3] = [0, 1, 2]
    logits = rng.normal(size=(40, 3)).round(4)
    weights = compute_class_weight("balanced", classes=np.arange(3), y=classes)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    print(
        json.dumps(
            {
                "baselines": {
                    "vertices": VERTICES,
                    "training": TRAINING,
                    "labels": labels.tolist(),
                    "majority_class": measures(majority),
                    "persistence": measures(persistence),
                },
                "loss": {
                    "classes": classes.tolist(),
                    "logits": logits.tolist(),
                    "balanced": weights.tolist(),
                    "plain": log_loss(classes, probabilities),
                    "weighted": log_loss(classes, probabilities, sample_weight=weights[classes]),
                },
            }
        )
    )


main()
