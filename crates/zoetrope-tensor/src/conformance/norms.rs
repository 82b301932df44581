//! Normalisations, means and unit vectors.

use std::sync::Arc;

use crate::{SharedRows, TogetherWith};

use super::{List, plain};

pub(super) fn add(list: &mut List) {
    for (rows, cols) in [(1, 3), (2, 1), (5, 3), (33, 17), (0, 2)] {
        let shape = format!("{rows}x{cols}");
        let inputs = [plain(rows, cols), plain(1, cols), plain(1, cols)];
        list.add(format!("batch_norm/{shape}"), &inputs, |t, v| {
            t.batch_norm(v[0], v[1], v[2], 0.05)
        });
        // The rows of others are those of a known sum, mean and variance.
        let others = Arc::new(Others { rows: 3.0, mean: 0.5, variance: 0.25 });
        let rows = rows + 3;
        list.add(format!("shared_batch_norm/{shape}"), &inputs, move |t, v| {
            let ranks: Arc<dyn TogetherWith> = others.clone();
            t.shared_batch_norm(v[0], [v[1], v[2]], 0.05, SharedRows { ranks, rows })
        });
        let mean: Vec<f32> = (0..cols).map(|column| 0.25 * column as f32 - 0.5).collect();
        let variance: Vec<f32> = (0..cols).map(|column| 0.5 + 0.125 * column as f32).collect();
        list.add(format!("batch_norm_fixed/{shape}"), &inputs, move |t, v| {
            t.batch_norm_fixed(v[0], [v[1], v[2]], &mean, &variance, 0.05)
        });
    }
    for (rows, cols) in [(1, 1), (3, 2), (3, 5), (5, 17), (0, 3)] {
        let inputs = [plain(rows, cols), plain(1, cols), plain(1, cols)];
        list.add(format!("layer_norm/{rows}x{cols}"), &inputs, |t, v| {
            t.layer_norm(v[0], v[1], v[2], 0.05)
        });
    }
    list.add("layer_norm/same", &[plain(1, 5)], |t, v| t.layer_norm(v[0], v[0], v[0], 0.05));
    list.add("batch_norm/rows_of_one", &[plain(6, 3)], |t, v| {
        let (x, scale) = (t.rows(v[0], 0..4)?, t.rows(v[0], 4..5)?);
        let shift = t.rows(v[0], 5..6)?;
        t.batch_norm(x, scale, shift, 0.05)
    });
    for (rows, cols) in [(1, 1), (1, 5), (17, 1), (0, 1)] {
        let x = [plain(rows, cols)];
        list.add(format!("unit_vector/{rows}x{cols}"), &x, |t, v| t.unit_vector(v[0]));
    }
    for (rows, cols) in [(1, 1), (3, 5), (2, 17)] {
        list.add(format!("mean/{rows}x{cols}"), &[plain(rows, cols)], |t, v| Ok(t.mean(v[0])));
    }
}

/// Other ranks, all of whose columns are alike; no gradient reached their rows.
#[derive(Debug)]
struct Others {
    rows: f32,
    mean: f32,
    variance: f32,
}

impl TogetherWith for Others {
    fn all_gather(&self, own: &[f32]) -> Vec<f32> {
        let cols = own.len() / 2;
        let mut all = own.to_vec();
        if own.len().is_multiple_of(2) {
            all.extend(vec![0.0; own.len()]);
        } else {
            all.push(self.rows);
            all.extend(vec![self.mean; cols]);
            all.extend(vec![self.variance; cols]);
        }
        all
    }
}
