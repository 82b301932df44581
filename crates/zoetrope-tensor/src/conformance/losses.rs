//! Losses with and without weights.

use std::sync::Arc;

use crate::Loss;

use super::{List, constant, mask, plain, weight};

pub(super) fn add(list: &mut List) {
    let weighted_bce = Loss::BinaryCrossEntropy { positive_weight: 2.5 };
    let bce = Loss::BinaryCrossEntropy { positive_weight: 1.0 };
    for (name, loss) in
        [("mse", Loss::Mse), ("mae", Loss::Mae), ("bce", bce), ("bce_positive", weighted_bce)]
    {
        for (rows, cols) in [(1, 1), (3, 5), (4, 17)] {
            let target = match loss {
                Loss::BinaryCrossEntropy { .. } => mask(rows, cols),
                _ => constant(rows, cols),
            };
            let shape = format!("{rows}x{cols}");
            let inputs = [plain(rows, cols), target];
            list.add(format!("loss/{name}/{shape}"), &inputs, move |t, v| {
                t.loss(loss, v[0], v[1], None)
            });
            for (kind, factor) in [("weight", weight(rows, cols)), ("mask", mask(rows, cols))] {
                let inputs = [inputs[0], inputs[1], factor];
                list.add(format!("loss/{name}/{kind}/{shape}"), &inputs, move |t, v| {
                    t.loss(loss, v[0], v[1], Some(v[2]))
                });
            }
        }
    }
    for (rows, classes) in [(1, 1), (3, 2), (5, 3), (4, 17)] {
        let shape = format!("{rows}x{classes}");
        let labels = labels(rows, classes);
        list.add(format!("cross_entropy/{shape}"), &[plain(rows, classes)], {
            let labels = Arc::clone(&labels);
            move |t, v| t.cross_entropy(v[0], &labels, 2, None)
        });
        let inputs = [plain(rows, classes), weight(rows, 1)];
        list.add(format!("cross_entropy/weight/{shape}"), &inputs, move |t, v| {
            t.cross_entropy(v[0], &labels, 2, Some(v[1]))
        });
    }
}

/// Labels of which the first two belong to other rows.
pub(super) fn labels(rows: usize, classes: usize) -> Arc<Vec<u32>> {
    Arc::new((0..rows as u32 + 2).map(|row| (7 * row + 1) % classes as u32).collect())
}
