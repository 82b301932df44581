//! Ranks that compute on a GPU, real or emulated, and share it: what one processor computes.

mod gpu;
mod shared_run;

use gpu::has_gpu;
use shared_run::{MODELS, expect_near, losses, session};
use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_dist::{Timeouts, threads};
use zoetrope_plan::Residency;
use zoetrope_run::{DeviceUse, Timeline};
use zoetrope_train::TrainError;
use zoetrope_train::observer::Unobserved;
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::Session;
use zoetrope_train::training_run::{Collectives, Epochs, TrainingRun};

/// How far an epoch may take losses of two devices apart.
const TOLERANCE: f64 = 1e-4;

/// ESDG §3.2 inside of §3.1: what differs from snapshot to snapshot is sent block by block.
#[test]
fn blocks_that_are_sent_as_differences_give_the_bits_of_blocks_that_stay_on_the_gpu() {
    if !has_gpu() {
        return;
    }
    for model in MODELS {
        let of = |more: &str| {
            losses(&[model, "plan.blocks=5 train.device=cuda train.epochs=1", more], None)
        };
        let resident = of("plan.residency=resident");
        for sent in ["plan.difference=off", "plan.difference=on"] {
            let sent = format!("plan.residency=stream {sent}");
            assert_eq!(resident, of(&sent), "{model} {sent}");
        }
    }
}

#[test]
fn a_gpu_computes_blocks_and_shares_of_ranks_as_the_processor_does() {
    if !has_gpu() {
        return;
    }
    for model in MODELS {
        let alone = losses(&[model, "train.epochs=1"], None);
        let blocks = "plan.blocks=2";
        let found = losses(&[model, blocks, "train.device=cuda train.epochs=1"], None);
        expect_near(&alone, &found, TOLERANCE, &format!("{model} {blocks} on a GPU"));
        for shared in ["plan.strategy=snapshot plan.overlap=true", "plan.strategy=hypergraph"] {
            let found = threads::run(2, Timeouts::default(), move |ranks| {
                let settings = [model, shared, "plan.blocks=2 train.device=cuda train.epochs=1"];
                Ok::<_, TrainError>(losses(&settings, Some(ranks)))
            });
            let found = found.unwrap();
            let what = format!("{model} {shared}, two ranks on a GPU");
            expect_near(&alone, &found[0], TOLERANCE, &what);
            assert_eq!(found[0], found[1], "{what}");
        }
    }
}

/// The loss of an epoch by two ranks on a GPU, what each of them had there, and the bytes that went there in all.
fn epoch_of_two(settings: &[&str]) -> (f64, Vec<DeviceUse>, u64) {
    let settings: Vec<String> = ["train.device=cuda train.epochs=1"]
        .iter()
        .chain(settings)
        .map(|&text| text.to_owned())
        .collect();
    let found = threads::run(2, Timeouts::default(), move |ranks| {
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let mut session = session(&settings, Some(ranks));
        session.epoch(&mut Unobserved)?;
        let uploaded = session.device().gpu().unwrap().copied_bytes()[0];
        Ok::<_, TrainError>((session.learner().epochs()[0].loss, session.devices()?, uploaded))
    });
    let mut found = found.unwrap();
    assert_eq!(found[0].0.to_bits(), found[1].0.to_bits(), "ranks agree");
    found.swap_remove(0)
}

#[test]
fn ranks_that_stream_their_snapshots_give_the_bits_of_ranks_that_keep_them() {
    if !has_gpu() {
        return;
    }
    for (model, shared) in MODELS.into_iter().zip([
        "plan.strategy=snapshot plan.blocks=3",
        "plan.strategy=snapshot plan.blocks=3 plan.recompute=false plan.reuse=false",
        "plan.strategy=hypergraph plan.blocks=2",
    ]) {
        let of = |more: &str| epoch_of_two(&[model, shared, more]);
        let what = format!("{model} {shared}");
        // Blocks that are kept are sent again in the backward pass, as often as it asks for them.
        let is_predicted = !shared.contains("recompute=false");
        let (resident, ..) = of("plan.residency=resident");
        let mut ways = vec!["plan.residency=stream plan.difference=off"];
        if !shared.contains("hypergraph") {
            ways.push("plan.residency=stream plan.difference=on");
            ways.push("plan.residency=resident plan.difference=on");
        }
        for way in ways {
            let (loss, devices, _) = of(way);
            assert_eq!(resident.to_bits(), loss.to_bits(), "{what} {way}");
            for device in devices.iter().filter(|_| is_predicted) {
                assert!(device.sent_bytes > 0, "{what} {way}");
                assert_eq!(device.predicted_bytes, Some(device.sent_bytes), "{what} {way}");
            }
        }
    }
}

/// Wide features, in frames that follow each other: one snapshot of each block of two for each rank.
const WIDE: &str = "data.path=synthetic:power-law?vertices=60&steps=20&edges=150&features=64&change=0.2&targets=random \
    data.split=none task.name=node-regression model.name=tm-gcn model.hidden=4 train.frame=10 train.stride=10 \
    train.epochs=1 train.device=cuda plan.strategy=snapshot plan.blocks=5 plan.reuse=false";

#[test]
fn a_rank_gets_the_features_of_its_own_cells_block_by_block() {
    if !has_gpu() {
        return;
    }
    for residency in ["plan.residency=resident", "plan.residency=stream plan.difference=off"] {
        let found = threads::run(2, Timeouts::default(), move |ranks| {
            let all = WIDE.split_whitespace().chain(residency.split_whitespace());
            let config = all.fold(Config::builder(), |b, s| b.set(s)).build().unwrap();
            let material = SnapshotInput::open(&config, &Quiet)?;
            let timeline = Timeline::new();
            let mut session = Session::start_shared(config, material, None, timeline, Some(ranks))?;
            session.epoch(&mut Unobserved)?;
            let gpu = session.device().gpu().unwrap();
            Ok::<_, TrainError>((session.devices()?, gpu.copied_bytes()[0]))
        });
        let (devices, uploaded) = found.unwrap().swap_remove(0);
        let snapshot = 64 * 60 * size_of::<f32>() as u64;
        // Two frames: forward in five blocks, and again in four of them.
        let features = 2 * 9 * snapshot;
        for device in &devices {
            assert_eq!(device.predicted_bytes, Some(device.sent_bytes), "{residency}");
            assert!(device.sent_bytes >= features, "{residency}: {devices:?}");
        }
        // The features of all 20 snapshots would be more than that.
        let other = uploaded - devices[0].sent_bytes;
        assert!(other < 16 * snapshot, "{residency}: {other} bytes beside {devices:?}");
    }
}

/// The losses of some epochs of one rank on a GPU, and the kernels that its host launched in the last of them.
fn recorded(settings: &[&str]) -> (Vec<u64>, u64) {
    let gpu = "train.device=cuda train.epochs=4";
    let mut session = session(&[&[gpu], settings].concat(), None);
    let mut launches = 0;
    for _ in 0..4 {
        let before = session.device().gpu().unwrap().launches();
        session.epoch(&mut Unobserved).unwrap();
        launches = session.device().gpu().unwrap().launches() - before;
    }
    let losses = session.learner().epochs().iter().map(|epoch| epoch.loss.to_bits()).collect();
    (losses, launches)
}

#[test]
fn updates_in_blocks_that_are_recorded_give_the_bits_of_those_that_are_computed() {
    if !has_gpu() {
        return;
    }
    for (model, more) in [
        (MODELS[0], "plan.blocks=3"),
        (MODELS[0], "plan.blocks=3 plan.residency=stream plan.difference=on plan.reuse=false"),
        (MODELS[1], "plan.blocks=2 plan.recompute=false"),
        (MODELS[2], "train.batch_size=2 plan.residency=stream plan.reuse=false"),
    ] {
        // Recordings of a graph that is streamed are launched in parts, between which it is sent.
        let (losses, launches) = recorded(&[model, more]);
        let (computed, all) = recorded(&[model, more, "plan.record=false"]);
        assert_eq!(losses, computed, "{model} {more}");
        assert!(2 * launches < all, "{model} {more}: {launches} of {all} launches");
    }
}

/// The same of several ranks that share the GPU.
fn recorded_by_ranks(size: usize, settings: &[&str]) -> (Vec<u64>, u64) {
    let settings: Vec<String> = ["train.device=cuda train.epochs=4"]
        .iter()
        .chain(settings)
        .map(|&text| text.to_owned())
        .collect();
    let found = threads::run(size, Timeouts::default(), move |ranks| {
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let (mut session, mut launches) = (session(&settings, Some(ranks)), 0);
        for _ in 0..4 {
            let before = session.device().gpu().unwrap().launches();
            session.epoch(&mut Unobserved)?;
            launches = session.device().gpu().unwrap().launches() - before;
        }
        let losses = session.learner().epochs().iter().map(|epoch| epoch.loss.to_bits());
        Ok::<_, TrainError>((losses.collect::<Vec<_>>(), launches))
    });
    let mut found = found.unwrap();
    assert!(found.iter().all(|(losses, _)| *losses == found[0].0), "ranks agree");
    found.swap_remove(0)
}

#[test]
fn updates_of_ranks_that_are_recorded_give_the_bits_of_those_that_are_computed() {
    if !has_gpu() {
        return;
    }
    for (model, more) in MODELS.into_iter().zip([
        "plan.strategy=snapshot plan.blocks=3 plan.residency=stream plan.difference=on",
        "plan.strategy=snapshot plan.overlap=true plan.residency=resident",
        "plan.strategy=hypergraph plan.blocks=2",
    ]) {
        let (losses, launches) = recorded_by_ranks(2, &[model, more]);
        let (computed, all) = recorded_by_ranks(2, &[model, more, "plan.record=false"]);
        assert_eq!(losses, computed, "{model} {more}");
        assert!(2 * launches < all, "{model} {more}: {launches} of {all} launches");
    }
}

/// 9 MiB of features, beside the 32 MiB that libraries work with.
const LARGE: &str = "data.path=synthetic:power-law?vertices=600&steps=60&edges=900&features=64&targets=random \
    data.split=none task.name=node-regression model.name=tm-gcn model.hidden=4 train.frame=4 train.stride=28 \
    train.epochs=1 train.device=cuda plan.reuse=false plan.memory_limit=40MiB";

#[test]
fn a_timeline_larger_than_the_limit_of_a_gpu_is_streamed_and_refused_if_it_has_to_stay() {
    if !has_gpu() {
        return;
    }
    let run = |more: &str| {
        let all = LARGE.split_whitespace().chain(more.split_whitespace());
        let config = all.fold(Config::builder(), |b, s| b.set(s)).build().unwrap();
        let material = SnapshotInput::open(&config, &Quiet).unwrap();
        let mut session = Session::start(config, material, None, Timeline::new()).unwrap();
        let ran = session.epoch(&mut Unobserved).map(drop);
        (session.plan().gpu.unwrap(), session.devices().unwrap()[0], ran)
    };
    let (planned, device, ran) = run("");
    ran.unwrap();
    assert_eq!(planned.residency, Residency::Stream);
    assert_eq!(device.limit_bytes, 40 << 20);
    assert!(device.peak_bytes <= device.limit_bytes, "{device:?}");
    assert!(planned.memory.total() <= device.limit_bytes, "{planned:?}");
    assert_eq!(device.predicted_bytes, Some(device.sent_bytes));
    // Small products need nothing of libraries: less than the features alone is what does not fit.
    let (_, _, refused) = run("plan.residency=resident plan.memory_limit=8MiB");
    let says = refused.unwrap_err().to_string();
    assert!(says.contains("features") && says.contains("plan.residency"), "{says}");
}
