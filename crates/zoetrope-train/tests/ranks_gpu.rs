//! Ranks that compute on a GPU, real or emulated, and share it: what one processor computes.

mod gpu;
mod shared_run;

use gpu::has_gpu;
use shared_run::{MODELS, expect_near, losses, session};
use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_dist::{Ranks, Timeouts, threads};
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
        // The time encoder of EvolveGCN works on weights: no rows move that others are computed beside.
        let snapshot = match model.contains("evolvegcn") {
            true => "plan.strategy=snapshot",
            false => "plan.strategy=snapshot plan.overlap=true",
        };
        for shared in [snapshot, "plan.strategy=hypergraph"] {
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
    for (model, more) in [
        (
            MODELS[0],
            "plan.strategy=snapshot plan.blocks=3 plan.residency=stream plan.difference=on",
        ),
        (MODELS[1], "plan.strategy=snapshot plan.overlap=true plan.residency=resident"),
        (MODELS[2], "plan.strategy=hypergraph plan.blocks=2"),
        // Statistics of the rows of all ranks go over the host between two parts.
        ("model.name=mpnn-lstm", "plan.strategy=snapshot plan.residency=stream"),
    ] {
        let (losses, launches) = recorded_by_ranks(2, &[model, more]);
        let (computed, all) = recorded_by_ranks(2, &[model, more, "plan.record=false"]);
        assert_eq!(losses, computed, "{model} {more}");
        assert!(2 * launches < all, "{model} {more}: {launches} of {all} launches");
    }
}

/// Batch norms see the rows of one frame; running statistics and losses of ranks stand in the order of frames.
#[test]
fn ranks_with_gpus_that_take_frames_of_their_own_keep_the_statistics_of_one() {
    if !has_gpu() {
        return;
    }
    let of = |settings: &'static [&'static str], ranks: Option<Ranks>| {
        let usual = ["model.name=mpnn-lstm train.batch_size=3 train.epochs=2 train.optimiser=sgd"];
        let mut session = session(&[&usual, settings].concat(), ranks);
        let shares = session.plan().sharing.is_some();
        for _ in 0..2 {
            session.epoch(&mut Unobserved).unwrap();
        }
        let losses: Vec<f64> = session.learner().epochs().iter().map(|epoch| epoch.loss).collect();
        let parameters = session.parameters().iter().map(|(_, one)| one);
        let values = parameters.flat_map(|one| one.matrix.as_slice().to_vec());
        (losses, values.map(f32::to_bits).collect::<Vec<u32>>(), shares)
    };
    let (alone, weights, _) = of(&["train.device=cuda"], None);
    let (processor, ..) = of(&[], None);
    expect_near(&processor, &alone, TOLERANCE, "one rank on a GPU");
    let found = threads::run(2, Timeouts::default(), move |ranks| {
        let frames = &["train.device=cuda plan.strategy=frames"];
        Ok::<_, TrainError>(of(frames, Some(ranks)))
    });
    let found = found.unwrap();
    assert!(found[0].2, "ranks share frames");
    assert_eq!(found[0], found[1], "ranks agree");
    expect_near(&alone, &found[0].0, 1e-5, "two ranks by frames");
    // Running statistics among them. Gradients of frames are added up in another order.
    let largest = weights.iter().fold(0.0_f32, |most, &one| most.max(f32::from_bits(one).abs()));
    for (one, other) in weights.iter().zip(&found[0].1) {
        let (one, other) = (f32::from_bits(*one), f32::from_bits(*other));
        assert!((one - other).abs() <= 1e-4 * largest, "{one} {other}");
    }
}

/// What differs if states between blocks wait on the host: the most memory that is in use, not the bits.
#[test]
fn states_between_blocks_that_wait_on_the_host_give_the_bits_of_those_that_stay() {
    if !has_gpu() {
        return;
    }
    for (model, shared) in [
        (MODELS[0], "plan.strategy=snapshot plan.blocks=5 plan.residency=stream"),
        (MODELS[1], "plan.strategy=hypergraph plan.blocks=4 train.batch_size=2"),
    ] {
        let of = |states: &str| epoch_of_two(&[model, shared, "plan.reuse=false", states]);
        let what = format!("{model} {shared}");
        let (staying, here, _) = of("plan.block_states=resident");
        let (waiting, there, _) = of("plan.block_states=stream");
        assert_eq!(staying.to_bits(), waiting.to_bits(), "{what}");
        for (here, there) in here.iter().zip(&there) {
            assert_eq!(there.predicted_bytes, Some(there.sent_bytes), "{what}");
            assert!(there.sent_bytes > here.sent_bytes, "{what}: {here:?} {there:?}");
        }
    }
    // Four epochs: computed, recorded, launched twice. The states of TM-GCN grow over the first blocks.
    for (model, blocks) in [(MODELS[0], 5), ("model.name=tm-gcn model.layers=2", 10)] {
        let waiting = format!(
            "train.stride=10 plan.strategy=snapshot plan.blocks={blocks} plan.block_states=stream"
        );
        let (losses, launches) = recorded_by_ranks(2, &[model, &waiting]);
        let (computed, all) = recorded_by_ranks(2, &[model, &waiting, "plan.record=false"]);
        assert_eq!(losses, computed, "{model}");
        assert!(2 * launches < all, "{model}: {launches} of {all} launches");
    }
}

/// One frame of sixteen snapshots with states as large as what computes them.
const STATES: &str = "data.path=synthetic:power-law?vertices=3000&steps=16&edges=3000&features=2&targets=random \
    data.split=none task.name=node-regression model.name=tgcn model.hidden=32 train.frame=all \
    train.epochs=2 train.device=cuda plan.reuse=false plan.blocks=16";

#[test]
fn a_gpu_has_room_for_more_blocks_if_their_states_wait_on_the_host() {
    if !has_gpu() {
        return;
    }
    let run = |more: &str| {
        let all = STATES.split_whitespace().chain(more.split_whitespace());
        let config = all.fold(Config::builder(), |b, s| b.set(s)).build().unwrap();
        let material = SnapshotInput::open(&config, &Quiet).unwrap();
        let mut session = Session::start(config, material, None, Timeline::new())?;
        session.epoch(&mut Unobserved)?;
        session.epoch(&mut Unobserved)?;
        let loss = session.learner().epochs()[1].loss.to_bits();
        Ok::<_, TrainError>((session.plan().gpu.unwrap(), session.devices().unwrap()[0], loss))
    };
    let state = 3000 * 32 * 4;
    let (staying, here, loss) = run("plan.block_states=resident").unwrap();
    let (waiting, there, same) = run("plan.block_states=stream").unwrap();
    assert_eq!(loss, same);
    assert!(staying.memory.checkpoints >= 16 * state, "{staying:?}");
    assert!(waiting.memory.checkpoints <= 4 * state, "{waiting:?}");
    assert!(there.peak_bytes + 11 * state < here.peak_bytes, "{here:?} {there:?}");
    // A limit that one way keeps to and the other does not: the planner takes the one that does.
    let between = (staying.memory.total() + waiting.memory.total()) / 2 - staying.memory.workspace;
    let limit = format!("plan.memory_limit={between}");
    let (chosen, device, again) = run(&limit).unwrap();
    assert_eq!((chosen.block_states, again), (Residency::Stream, loss));
    // Small products need nothing of libraries.
    let planned = chosen.memory.total() - chosen.memory.workspace;
    assert!(device.peak_bytes <= between && planned <= between, "{device:?}");
    let refused = run(&format!("{limit} plan.block_states=resident")).unwrap_err();
    assert_eq!(refused.kind().exit_code(), 4);
    assert!(refused.to_string().contains("plan.block_states"), "{refused}");
}

/// 9 MiB of features, beside the 32 MiB that libraries work with.
const LARGE: &str = "data.path=synthetic:power-law?vertices=600&steps=60&edges=900&features=64&targets=random \
    data.split=none task.name=node-regression model.name=tm-gcn model.hidden=4 train.frame=4 train.stride=28 \
    train.epochs=1 train.device=cuda plan.reuse=false plan.memory_limit=40MiB";

/// A run over it.
fn large(more: &str) -> (Config, SnapshotInput) {
    let all = LARGE.split_whitespace().chain(more.split_whitespace());
    let config = all.fold(Config::builder(), |b, s| b.set(s)).build().unwrap();
    let material = SnapshotInput::open(&config, &Quiet).unwrap();
    (config, material)
}

#[test]
fn a_timeline_larger_than_the_limit_of_a_gpu_is_streamed() {
    if !has_gpu() {
        return;
    }
    let (config, material) = large("");
    let mut session = Session::start(config, material, None, Timeline::new()).unwrap();
    session.epoch(&mut Unobserved).unwrap();
    let (planned, device) = (session.plan().gpu.unwrap(), session.devices().unwrap()[0]);
    assert_eq!(planned.residency, Residency::Stream);
    assert_eq!(device.limit_bytes, 40 << 20);
    assert!(device.peak_bytes <= device.limit_bytes, "{device:?}");
    assert!(planned.memory.total() <= device.limit_bytes, "{planned:?}");
    assert_eq!(device.predicted_bytes, Some(device.sent_bytes));
}

/// What an estimate says is refused before anything runs, with the key that helps.
#[test]
fn a_timeline_that_has_to_stay_on_a_gpu_too_small_for_it_is_refused_when_it_is_planned() {
    if !has_gpu() {
        return;
    }
    let (config, material) = large("plan.residency=resident plan.memory_limit=8MiB");
    let refused = Session::start(config, material, None, Timeline::new()).unwrap_err();
    assert_eq!(refused.kind().exit_code(), 4);
    let says = refused.to_string();
    assert!(says.contains("for features") && says.contains("plan.residency"), "{says}");
}

/// A saved plan is obeyed, whatever is thought of it: then the allocator keeps the limit.
#[test]
fn the_allocator_of_a_gpu_keeps_the_limit_if_a_plan_does_not() {
    if !has_gpu() {
        return;
    }
    let (config, material) = large("plan.residency=resident plan.memory_limit=1GiB");
    let plan = Session::start(config, material, None, Timeline::new()).unwrap().plan().clone();
    // Small products need nothing of libraries: less than the features alone is what does not fit.
    let (config, material) = large("plan.memory_limit=8MiB");
    let mut session = Session::start(config, material, Some(plan), Timeline::new()).unwrap();
    let refused = session.epoch(&mut Unobserved).map(drop).unwrap_err();
    assert_eq!(refused.kind().exit_code(), 4);
    let says = refused.to_string();
    assert!(says.contains("out of memory on the device"), "{says}");
    assert!(says.contains("features") && says.contains("plan.residency"), "{says}");
    assert!(session.devices().unwrap()[0].peak_bytes > 0);
}
