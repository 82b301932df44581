//! What holds for every model over events, whatever the stream.

mod golden_file;
mod stream_run;

use golden_file::{difference, scale};
use stream_run::prepare::Stream;
use stream_run::{StreamRun, plain};
use zoetrope_graph::random::Random;
use zoetrope_nn::memory::{Combine, VertexState};
use zoetrope_nn::stream::{
    Convention, EmbeddingKind, MessageKind, NAMES, StreamModel, StreamOptions, UpdaterKind,
};
use zoetrope_nn::{Builder, Parameters};

const FEATURES: usize = 5;
const BATCH: usize = 12;

/// Every model as its reference has it, and variants that use the other parts.
fn variants() -> Vec<(&'static str, &'static str, StreamOptions)> {
    let plain = plain(FEATURES, 8, 2);
    let pyg = StreamOptions { convention: Some(Convention::Pyg), ..plain };
    let mean = Some(Combine::Mean);
    let mlp = MessageKind::Mlp;
    let mut all: Vec<_> = NAMES.map(|name| (name, "plain", plain)).to_vec();
    all.extend([
        ("tgn", "pyg", pyg),
        ("tgn", "two layers", StreamOptions { layers: Some(2), ..plain }),
        ("tgn", "pyg, two layers", StreamOptions { layers: Some(2), ..pyg }),
        ("tgn", "mean", StreamOptions { combine: mean, ..plain }),
        ("tgn", "pyg, mean", StreamOptions { combine: mean, ..pyg }),
        ("tgn", "mlp", StreamOptions { message: mlp, ..plain }),
        ("tgn", "pyg, mean of mlp", StreamOptions { message: mlp, combine: mean, ..pyg }),
        ("tgn", "pyg, lstm", StreamOptions { updater: Some(UpdaterKind::Lstm), ..pyg }),
        ("tgn", "rnn", StreamOptions { updater: Some(UpdaterKind::Rnn), ..plain }),
        ("tgn", "sum", StreamOptions { embedding: Some(EmbeddingKind::Sum), ..plain }),
        ("tgn", "pyg, sum", StreamOptions { embedding: Some(EmbeddingKind::Sum), ..pyg }),
        ("tgn", "identity", StreamOptions { embedding: Some(EmbeddingKind::Identity), ..plain }),
        ("apan", "time", StreamOptions { embedding: Some(EmbeddingKind::Time), ..plain }),
        ("apan", "mean", StreamOptions { combine: mean, ..plain }),
        ("tgn", "narrow time", StreamOptions { time_width: Some(3), ..plain }),
        ("tgn", "pyg, narrow time", StreamOptions { time_width: Some(3), ..pyg }),
    ]);
    all
}

/// A stream over `vertices` vertices with loops, repeated pairs and equal times.
fn stream(vertices: usize, events: usize, start: i64, feature_width: usize) -> Stream {
    let random = Random::new(6, 2);
    let vertex = |index: usize| {
        let unit = random.unit(index as u64);
        ((unit * unit * vertices as f64) as u32).min(vertices as u32 - 1)
    };
    let value = |index: usize| random.normal((1 << 20) + index as u64) as f32;
    Stream {
        vertices,
        src: (0..events).map(|event| vertex(3 * event)).collect(),
        dst: (0..events).map(|event| vertex(3 * event + 1)).collect(),
        negative: (0..events).map(|event| vertex(3 * event + 2)).collect(),
        time: (0..events as i64).map(|event| start + event / 2 * 3).collect(),
        features: (0..events * feature_width).map(value).collect(),
        feature_width,
    }
}

/// Embeddings, gradients and memory after some batches.
struct Found {
    embeddings: Vec<f32>,
    gradients: Vec<f32>,
    memory: Vec<f32>,
}

fn found(run: &mut StreamRun, batches: std::ops::Range<usize>, batch: usize) -> Found {
    let mut embeddings = Vec::new();
    for at in batches {
        embeddings.extend(run.step(at * batch..(at + 1) * batch, at as u32).embeddings);
    }
    let gradients = run.parameters.iter().filter_map(|(id, _)| run.gradients.get(id));
    let gradients = gradients.flatten().copied().collect();
    let memory = run.state.as_ref().map_or_else(Vec::new, |state| {
        state.memory(&(0..state.vertices() as u32).collect::<Vec<_>>())
    });
    Found { embeddings, gradients, memory }
}

fn bits(found: &Found) -> Vec<u32> {
    let Found { embeddings, gradients, memory } = found;
    [embeddings, gradients, memory].into_iter().flatten().map(|value| value.to_bits()).collect()
}

fn finite(found: &Found) -> bool {
    bits(found).iter().all(|&bits| f32::from_bits(bits).is_finite())
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for (name, variant, options) in variants() {
        let options = StreamOptions { dropout: 0.2, ..options };
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut run = StreamRun::new(name, &options, stream(150, 360, 0, FEATURES), 0);
            pool.install(|| bits(&found(&mut run, 0..3, 120)))
        };
        let alone = with(1);
        for threads in [2, 8] {
            assert!(with(threads) == alone, "{name}, {variant}: {threads} threads differ");
        }
    }
}

#[test]
fn rows_listed_once_or_again_and_again_give_the_same() {
    for (name, variant, options) in variants() {
        let run = |unique| {
            let mut run = StreamRun::new(name, &options, stream(9, 60, 0, FEATURES), 0);
            run.rules.unique = unique;
            found(&mut run, 0..5, BATCH)
        };
        let (once, again) = (run(true), run(false));
        let same = |a: &[f32], b: &[f32]| difference(a, b) <= 2e-5 * scale(a).max(1e-3);
        assert!(same(&once.embeddings, &again.embeddings), "{name}, {variant}: embeddings");
        assert!(same(&once.gradients, &again.gradients), "{name}, {variant}: gradients");
        assert!(same(&once.memory, &again.memory), "{name}, {variant}: memory");
    }
}

#[test]
fn only_differences_of_times_matter_even_of_nanoseconds_since_1970() {
    for (name, variant, options) in variants() {
        let from = |start: i64| {
            let mut run = StreamRun::new(name, &options, stream(9, 60, start, FEATURES), start);
            bits(&found(&mut run, 0..5, BATCH))
        };
        // Steps of 3 ns: as f32, or as f64, all of these times would be the same.
        assert!(from(0) == from(1_700_000_000_000_000_001), "{name}, {variant}");
    }
}

#[test]
fn a_batch_may_be_one_vertex_and_a_vertex_may_have_no_neighbours() {
    for (name, variant, options) in variants() {
        let options = StreamOptions { event_features: 0, ..options };
        let mut run = StreamRun::new(name, &options, stream(1, 4, 7, 0), 7);
        let found = found(&mut run, 0..4, 1);
        assert_eq!(found.embeddings.len(), 4 * 3 * 8, "{name}, {variant}");
        assert!(finite(&found), "{name}, {variant}");
        // Questions about one vertex at one time have one answer.
        let (first, rest) = found.embeddings[..24].split_at(8);
        assert!(rest[..8] == *first && rest[8..] == *first, "{name}, {variant}");
    }
}

#[test]
fn the_second_pass_over_a_stream_asks_for_no_memory() {
    for (name, variant, options) in variants() {
        let mut run = StreamRun::new(name, &options, stream(9, 60, 0, FEATURES), 0);
        let mut pass = || {
            found(&mut run, 0..5, BATCH);
            if let Some(state) = &mut run.state {
                state.reset();
            }
            run.tape.allocated_bytes()
        };
        let first = pass();
        assert_eq!([pass(), pass()], [first; 2], "{name}, {variant}");
    }
}

#[test]
fn rows_of_memory_that_a_pass_keeps_are_those_that_it_would_compute_again() {
    for (name, variant, options) in variants() {
        // Evaluation, then training that changes the weights, then evaluation again.
        let scores = |keep: bool| {
            let mut run =
                StreamRun::new(name, &options, stream(12, 200, 0, options.event_features), 0);
            let mut scores = Vec::new();
            for round in 0..2 {
                for batch in 10 * round..10 * round + 5 {
                    run.step(10 * batch..10 * (batch + 1), 0);
                    run.update(1e-2);
                }
                let data = run.stream.data();
                run.state.iter_mut().for_each(|state| state.keep_mails(data));
                if keep {
                    run.model.begin_pass();
                }
                for batch in 10 * round + 5..10 * round + 10 {
                    scores.extend(run.judge(10 * batch..10 * (batch + 1)));
                }
            }
            scores
        };
        let apart = golden_file::difference(&scores(true), &scores(false));
        assert!(apart <= 1e-5, "{name}, {variant}: {apart}");
    }
}

#[test]
fn a_reset_state_is_a_new_one() {
    for (name, variant, options) in variants() {
        let mut run = StreamRun::new(name, &options, stream(9, 60, 3, FEATURES), 3);
        let first = bits(&found(&mut run, 0..5, BATCH));
        let Some(state) = &mut run.state else { continue };
        state.reset();
        let fresh = VertexState::new(state.options(), state.vertices(), 3);
        assert_eq!(state.save(), fresh.save(), "{name}, {variant}");
        assert!(bits(&found(&mut run, 0..5, BATCH)) == first, "{name}, {variant}");
    }
}

#[test]
fn a_saved_state_goes_on_with_the_same_bits() {
    let start = 1_700_000_000_000_000_001;
    for (name, variant, options) in variants() {
        let mut run = StreamRun::new(name, &options, stream(9, 60, start, FEATURES), start);
        found(&mut run, 0..3, BATCH);
        let Some(state) = &run.state else { continue };
        let saved = state.save();
        assert!(saved.iter().flat_map(|(_, _, values)| values).all(|value| value.is_finite()));
        let mut restored = VertexState::new(state.options(), state.vertices(), start);
        let find = |name: &str| {
            let entry = saved.iter().find(|(known, _, _)| known == name)?;
            Some((&entry.1[..], &entry.2[..]))
        };
        restored.restore(find).unwrap();
        assert_eq!(restored.save(), saved, "{name}, {variant}");
        let went_on = bits(&found(&mut run, 3..5, BATCH));
        run.state = Some(restored);
        assert!(bits(&found(&mut run, 3..5, BATCH)) == went_on, "{name}, {variant}");
    }
}

#[test]
fn a_saved_state_that_does_not_fit_is_named_and_leaves_nothing() {
    let tgl = plain(FEATURES, 8, 2);
    let pyg = StreamOptions { convention: Some(Convention::Pyg), ..tgl };
    let always = ["vertices", "memory", "last_update", "mail_events"];
    for (name, options, others) in [
        ("tgn", pyg, &["mail_count"][..]),
        ("tgn", tgl, &["mail_rows", "mail_next"]),
        ("apan", tgl, &["mail_rows", "mail_next"]),
    ] {
        let mut run = StreamRun::new(name, &options, stream(9, 60, 0, FEATURES), 0);
        found(&mut run, 0..3, BATCH);
        let mut state = run.state.take().unwrap();
        let saved = state.save();
        let empty = VertexState::new(state.options(), state.vertices(), 0).save();
        for &broken in always.iter().chain(others) {
            let find = |name: &str| {
                let entry = saved.iter().find(|(known, _, _)| known == name)?;
                let shorter = if name == broken { 1 } else { 0 };
                Some((&entry.1[..], &entry.2[shorter..]))
            };
            assert_eq!(state.restore(find), Err(broken.to_owned()));
            assert_eq!(state.save(), empty);
        }
        assert_eq!(state.restore(|_| None), Err("vertices".to_owned()));
    }
}

#[test]
fn options_that_do_not_fit_a_model_are_refused() {
    let plain = plain(FEATURES, 8, 2);
    let refused = |name: &str, options: StreamOptions| {
        let mut parameters = Parameters::default();
        let built = StreamModel::build(name, &mut Builder::new(&mut parameters, 0), &options);
        built.expect_err("an option that does not fit").to_string()
    };
    let (mails, convention) = (Some(UpdaterKind::Transformer), Some(Convention::Pyg));
    for (name, options, told) in [
        ("tgn", StreamOptions { heads: 3, ..plain }, "heads"),
        ("tgn", StreamOptions { dropout: 1.0, ..plain }, "dropout"),
        ("tgn", StreamOptions { mailbox: Some(2), ..plain }, "mailbox"),
        ("tgn", StreamOptions { layers: Some(0), ..plain }, "layers"),
        ("tgn", StreamOptions { updater: mails, convention, ..plain }, "convention"),
        ("tgn", StreamOptions { updater: mails, ..plain }, "embedding"),
        ("tgn", StreamOptions { time_width: Some(0), ..plain }, "time width"),
        ("jodie", StreamOptions { layers: Some(1), ..plain }, "layers"),
        ("jodie", StreamOptions { convention, ..plain }, "convention"),
        ("apan", StreamOptions { mailbox: Some(0), ..plain }, "mailbox"),
        ("apan", StreamOptions { message: MessageKind::Mlp, ..plain }, "message"),
        ("apan", StreamOptions { embedding: Some(EmbeddingKind::Sum), ..plain }, "embedding"),
        ("tgat", StreamOptions { updater: Some(UpdaterKind::Gru), ..plain }, "updater"),
        ("tgat", StreamOptions { combine: Some(Combine::Mean), ..plain }, "combine"),
        ("tgat", StreamOptions { embedding: Some(EmbeddingKind::Sum), ..plain }, "embedding"),
        ("tgatt", plain, "tgat"),
    ] {
        let error = refused(name, options);
        assert!(error.contains(told), "{name}: {error}");
    }
}
