//! Sizes, repeats, tastes, labels and chunks of the bipartite stream.

use crate::synthetic::stream;
use crate::synthetic::tests::events_of;

#[test]
fn the_default_has_the_size_of_wikipedia() {
    let store = events_of("synthetic:bipartite");
    assert_eq!((store.len(), store.vertices(), store.feature_width()), (157_474, 9227, 16));
    assert!(store.src().iter().all(|&src| src < 8227));
    assert!(store.dst().iter().all(|&dst| (8227..9227).contains(&dst)));
    assert!(store.time().iter().all(|time| (0..31 * 86_400).contains(time)));
}

#[test]
fn users_repeat_as_often_as_asked() {
    for (repeat, tolerance) in [(0.0, 0.2), (0.8, 0.05), (1.0, 0.0)] {
        let name = format!("synthetic:bipartite?users=500&events=40k&features=0&repeat={repeat}");
        let store = events_of(&name);
        let mut last = vec![None; 500];
        let (mut again, mut chances) = (0.0, 0.0);
        for (&src, &dst) in store.src().iter().zip(store.dst()) {
            if let Some(before) = last[src as usize].replace(dst) {
                chances += 1.0;
                again += f64::from(u8::from(before == dst));
            }
        }
        // A fresh item equals the last one by chance, most often a popular one: never fewer
        // repeats than asked, and a few more.
        let excess = again / chances - repeat;
        assert!((-0.01..=tolerance).contains(&excess), "{repeat} {excess}");
    }
}

#[test]
fn activity_is_heavy_tailed() {
    let store = events_of("synthetic:bipartite?users=10k&events=100k&features=0");
    let mut counts = vec![0u32; 10_000];
    store.src().iter().for_each(|&src| counts[src as usize] += 1);
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let top: u32 = counts[..100].iter().sum();
    // ∫x^-0.8 over the first hundredth: (101^0.2 - 1)/(10001^0.2 - 1) = 28.5 %.
    assert!((24_000..33_000).contains(&top), "{top}");
}

#[test]
fn tastes_drift_but_hold_for_a_while() {
    let name = "synthetic:bipartite?users=50&items=1000&events=100k&features=0&repeat=0\
                &focus=1&drift=5&days=20&tastes=10&activity=0";
    let store = events_of(name);
    let taste = |event: usize| (store.dst()[event] - 50) % 10;
    let of_user: Vec<usize> = (0..store.len()).filter(|&e| store.src()[e] == 7).collect();
    let changes = of_user.windows(2).filter(|pair| taste(pair[0]) != taste(pair[1])).count();
    // 20 days at 5 days each: 4 or 5 changes at most, some of them to the same taste.
    assert!((1..=5).contains(&changes), "{changes} in {} events", of_user.len());
}

#[test]
fn labels_are_as_rare_as_asked_and_announced_by_the_features() {
    let name = "synthetic:bipartite?users=5000&events=200k&features=4&labels=0.01&activity=0\
                &tastes=1";
    let store = events_of(name);
    let labels = store.label().unwrap();
    let ones = labels.iter().filter(|&&label| label == 1.0).count() as f64 / 200_000.0;
    // About 3,100 disturbed half-days of 1.3 events each: standard error 0.0002.
    assert!((0.008..0.012).contains(&ones), "{ones}");
    let mean = |wanted: f32| {
        let rows = store.features().unwrap().chunks(4).zip(labels);
        let chosen: Vec<_> = rows.filter(|(_, label)| **label == wanted).collect();
        let sum = chosen
            .iter()
            .fold([0.0; 4], |sum, (row, _)| std::array::from_fn(|at| sum[at] + f64::from(row[at])));
        sum.map(|value| value / chosen.len() as f64)
    };
    let (quiet, disturbed) = (mean(0.0), mean(1.0));
    let distance: f64 =
        quiet.iter().zip(disturbed).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    assert!(distance > 0.5, "the shift of the noise deviation or more: {distance}");
}

#[test]
fn a_store_written_in_chunks_holds_the_same_events() {
    let name = "synthetic:bipartite?users=300&events=300k&features=2";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.zoe");
    stream(name).unwrap().write_store(&path, &crate::Quiet).unwrap();
    let read = crate::formats::store::read(&path, &Default::default(), &crate::Quiet).unwrap();
    assert!(read.dataset == crate::synthetic::generate(name, &crate::Quiet).unwrap().dataset);
}

#[test]
fn chunks_concatenate_to_the_whole() {
    let name = "synthetic:bipartite?users=300&events=600k&features=2";
    let store = events_of(name);
    let chunks = stream(name).unwrap();
    assert_eq!((chunks.events, chunks.feature_width), (600_000, 2));
    let (mut at, mut count) = (0, 0);
    for chunk in chunks {
        let range = at..at + chunk.time.len();
        assert_eq!(store.src()[range.clone()], chunk.src);
        assert_eq!(store.dst()[range.clone()], chunk.dst);
        assert_eq!(store.time()[range.clone()], chunk.time);
        assert_eq!(store.label().unwrap()[range.clone()], chunk.label);
        assert_eq!(store.features().unwrap()[2 * range.start..2 * range.end], chunk.features);
        at = range.end;
        count += 1;
    }
    assert_eq!((at, count), (600_000, 3));
}
