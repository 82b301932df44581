//! Smoothing against the definitions, computed on dense matrices.

mod sequences;

use proptest::prelude::*;
use sequences::{finite_weight, sequences};
use zoetrope_graph::smooth::{edge_life, m_product};
use zoetrope_graph::smooth_features::m_product_features;
use zoetrope_graph::{SnapshotSequence, VertexFeatures};

/// Dense matrix and presence of each entry of one snapshot.
fn dense(sequence: &SnapshotSequence, step: usize) -> (Vec<f64>, Vec<bool>) {
    let vertices = sequence.vertices() as usize;
    let (mut sums, mut there) = (vec![0.0; vertices * vertices], vec![false; vertices * vertices]);
    let view = sequence.at(step);
    for edge in 0..view.len() {
        let at = view.dst[edge] as usize * vertices + view.src[edge] as usize;
        sums[at] += f64::from(view.weight_of(edge));
        there[at] = true;
    }
    (sums, there)
}

/// Sum over the window `step - length + 1 ..= step`, and whether any of its snapshots has an edge.
fn window(sequence: &SnapshotSequence, step: usize, length: usize) -> (Vec<f64>, Vec<bool>) {
    let mut total = dense(sequence, step);
    for earlier in (step + 1).saturating_sub(length)..step {
        let (sums, there) = dense(sequence, earlier);
        total.0.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
        total.1.iter_mut().zip(there).for_each(|(total, there)| *total |= there);
    }
    total
}

fn check(
    smooth: &SnapshotSequence,
    step: usize,
    expected: &[f64],
    there: &[bool],
) -> Result<(), TestCaseError> {
    let (got, got_there) = dense(smooth, step);
    prop_assert_eq!(got_there, there);
    prop_assert_eq!(smooth.at(step).len(), there.iter().filter(|&&there| there).count());
    for (got, expected) in got.iter().zip(expected) {
        // One rounding to f32 of sums whose terms stay below 8 × 25 × 7.
        prop_assert!((got - expected).abs() <= 1e-6 * expected.abs() + 1e-9);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn edge_life_is_the_sum_of_the_window(
        sequence in sequences(finite_weight()), life in 1usize..10
    ) {
        let smooth = edge_life(&sequence, life).unwrap();
        for step in 0..sequence.steps() {
            let (sums, there) = window(&sequence, step, life);
            check(&smooth, step, &sums, &there)?;
        }
    }

    #[test]
    fn the_m_product_multiplies_with_the_banded_matrix(
        sequence in sequences(finite_weight()), w in 1usize..10
    ) {
        let smooth = m_product(&sequence, w).unwrap();
        for t in 1..=sequence.steps() {
            let (_, there) = window(&sequence, t - 1, w);
            let mut expected = vec![0.0; there.len()];
            for k in 1..=sequence.steps() {
                let inside = k <= t && k + w > t;
                let m = if inside { 1.0 / w.min(t) as f64 } else { 0.0 };
                let matrix = dense(&sequence, k - 1).0;
                expected.iter_mut().zip(matrix).for_each(|(sum, value)| *sum += m * value);
            }
            check(&smooth, t - 1, &expected, &there)?;
        }
    }

    #[test]
    fn features_are_multiplied_with_the_same_matrix(
        steps in 2usize..12, vertices in 1usize..5, width in 1usize..4, w in 1usize..14,
        seed in any::<u64>()
    ) {
        let random = zoetrope_graph::random::Random::new(seed, 0);
        let count = steps * vertices * width;
        let values = (0..count as u64).map(|at| random.normal(at) as f32).collect();
        let features = VertexFeatures::new(steps, vertices, width, values).unwrap();
        let smooth = m_product_features(&features, w).unwrap();
        for t in 1..=steps {
            for at in 0..vertices * width {
                let expected: f64 = (1..=t)
                    .filter(|k| k + w > t)
                    .map(|k| f64::from(features.at(k - 1)[at]) / w.min(t) as f64)
                    .sum();
                prop_assert!((f64::from(smooth.at(t - 1)[at]) - expected).abs() < 1e-6);
            }
        }
    }
}
