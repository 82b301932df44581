//! One, two or eight threads give the same bits, on graphs large enough to be cut into blocks.

use zoetrope_graph::change::{changes, overlap_rates};
use zoetrope_graph::degree::{Degree, degree_features};
use zoetrope_graph::lag::{STANDARD_EPSILON, StandardOver, lagged, standardise};
use zoetrope_graph::normalise::{GcnOptions, gcn, mean, row};
use zoetrope_graph::random::Random;
use zoetrope_graph::smooth::{edge_life, m_product};
use zoetrope_graph::smooth_features::m_product_features;
use zoetrope_graph::{Csr, Difference, MatrixRows, Overlap, Presence, SnapshotSequence};

/// Snapshots that share most of their edges, with repeats, hubs and weights that round.
fn evolving(steps: u64, vertices: u32, edges: u64) -> SnapshotSequence {
    let random = Random::new(11, 1);
    let (mut src, mut dst, mut weight, mut offsets) = (vec![], vec![], vec![], vec![0]);
    for step in 0..steps {
        for edge in 0..edges {
            // A tenth of the edges is drawn anew at each step.
            let index = if edge % 10 == step % 10 { edge + (step + 1) * edges } else { edge };
            let skew = random.unit(3 * index).powi(3);
            src.push((skew * f64::from(vertices)) as u32);
            dst.push(random.below(3 * index + 1, u64::from(vertices)) as u32);
            weight.push(random.unit(3 * index + 2) as f32 + step as f32 * 0.1);
        }
        offsets.push(src.len() as u64);
    }
    SnapshotSequence::new(vertices, offsets, src, dst, Some(weight)).unwrap()
}

/// Runs `work` with 1, 2 and 8 threads and requires equal results.
fn same_on_any_number_of_threads<T: PartialEq + Send>(name: &str, work: impl Fn() -> T + Sync) {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(&work)
    };
    let single = on(1);
    for threads in [2, 8] {
        assert!(on(threads) == single, "{name} with {threads} threads");
    }
}

#[test]
fn structures_do_not_depend_on_the_number_of_threads() {
    let sequence = evolving(3, 40_000, 300_000);
    let views: Vec<_> = sequence.iter().collect();
    let bits = |matrix: Csr| {
        let (offsets, indices, values) = matrix.into_arrays();
        [offsets, indices, values.into_iter().map(f32::to_bits).collect()].concat()
    };
    same_on_any_number_of_threads("matrix", || bits(Csr::from_view(views[0]).unwrap()));
    same_on_any_number_of_threads("transpose", || {
        bits(Csr::from_view(views[0]).unwrap().transpose())
    });
    same_on_any_number_of_threads("gcn", || bits(gcn(views[1], GcnOptions::default()).unwrap()));
    same_on_any_number_of_threads("row", || bits(row(Csr::from_view(views[1]).unwrap())));
    same_on_any_number_of_threads("mean", || bits(mean(Csr::from_view(views[1]).unwrap())));
    let matrices: Vec<Csr> = views.iter().map(|view| Csr::from_view(*view).unwrap()).collect();
    let rows: Vec<MatrixRows<'_>> = matrices.iter().map(MatrixRows::of).collect();
    same_on_any_number_of_threads("difference", || {
        Difference::new(Some(rows[0]), &rows[1..]).unwrap()
    });
    same_on_any_number_of_threads("overlap", || Overlap::of(&rows).unwrap());
}

#[test]
fn statistics_and_smoothing_do_not_depend_on_the_number_of_threads() {
    let sequence = evolving(6, 5_000, 60_000);
    same_on_any_number_of_threads("changes", || changes(&sequence));
    same_on_any_number_of_threads("overlap rates", || overlap_rates(&sequence, 3, 1).unwrap());
    same_on_any_number_of_threads("presence", || Presence::of(&sequence));
    same_on_any_number_of_threads("edge-life", || edge_life(&sequence, 3).unwrap());
    same_on_any_number_of_threads("M-product", || m_product(&sequence, 4).unwrap());
    let degrees = degree_features(&sequence, Degree::Weights).unwrap();
    same_on_any_number_of_threads("degrees", || {
        degree_features(&sequence, Degree::Weights).unwrap()
    });
    same_on_any_number_of_threads("features", || m_product_features(&degrees, 3).unwrap());
    same_on_any_number_of_threads("lags", || {
        lagged(&standardise(degrees.clone(), StandardOver::Time, STANDARD_EPSILON), 2, 0).unwrap()
    });
}
