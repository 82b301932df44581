//! Training over snapshots on a GPU: every model against the processor, and what must not change a
//! bit of the result.
//!
//! On a real GPU if there is one, otherwise on the emulated one of the test kit.

use std::ops::ControlFlow;

use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_run::checkpoint::{SavedState, state_hash};
use zoetrope_run::{FailureKind, Timeline};
use zoetrope_tensor::Gpu;
use zoetrope_testkit::emulator;
use zoetrope_train::TrainError;
use zoetrope_train::conformance::{ModelCase, ModelComparison, model_cases};
use zoetrope_train::observer::{Observer, RunEvent};
use zoetrope_train::train::{Opened, Run};
use zoetrope_train::training_run::EpochEnd;

/// Whether this process has a GPU. If it has none, the calling test, `test`, has passed in
/// another one that finds the emulated GPU.
fn has_gpu(test: &str) -> bool {
    match Gpu::open(0) {
        Ok(_) => true,
        Err(_) if !emulator::is_pointed() => {
            emulator::rerun(test);
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// Seven frames an epoch: computed in the first, recorded in the second, launched as recorded from
/// the third on.
const USUAL: &str = "data.path=synthetic:demo?vertices=30&steps=14 data.split=none train.frame=4 \
                     train.epochs=4 train.stride=2 train.device=cuda";

fn start(settings: &str) -> Result<Run, TrainError> {
    // EvolveGCN of PyG-Temporal is as wide as the features.
    let width = if settings.contains("evolvegcn") { "" } else { "model.hidden=6" };
    let settings = [USUAL, width, settings].into_iter().flat_map(str::split_whitespace);
    let config = settings.fold(Config::builder(), |builder, setting| builder.set(setting));
    let mut config = config.build()?;
    Opened::open(&mut config, &Quiet)?.start(config, None, Timeline::new())
}

/// Stops after so many updates.
struct Updates(usize);

impl Observer for Updates {
    fn observe(&mut self, _: RunEvent<'_>) -> ControlFlow<()> {
        self.0 = self.0.saturating_sub(1);
        if self.0 > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// Trains to the end, or until it stops; returns everything that the run would go on from.
fn train(run: &mut Run, updates: usize) -> SavedState {
    let (session, mut watch) = (run.session_mut(), Updates(updates));
    while !session.is_over() {
        if session.epoch(&mut watch).unwrap() == EpochEnd::Interrupted {
            break;
        }
    }
    session.save()
}

fn hash(settings: &str) -> String {
    state_hash(&train(&mut start(settings).unwrap(), usize::MAX))
}

#[test]
fn every_model_of_snapshots_learns_on_a_gpu_what_it_learns_on_the_processor() {
    let test = "every_model_of_snapshots_learns_on_a_gpu_what_it_learns_on_the_processor";
    if !has_gpu(test) {
        return;
    }
    let differing = differing(|case| !case.is_of_events());
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn every_model_of_events_has_the_gradients_on_a_gpu_that_it_has_on_the_processor() {
    let test = "every_model_of_events_has_the_gradients_on_a_gpu_that_it_has_on_the_processor";
    if !has_gpu(test) {
        return;
    }
    let differing = differing(ModelCase::is_of_events);
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// What differs between this GPU and the processor in some cases.
fn differing(chosen: impl Fn(&ModelCase) -> bool) -> Vec<String> {
    let all = model_cases();
    let compared = all.iter().filter(|case| chosen(case)).map(|case| (case, case.compare("cuda")));
    let differs = |(case, found): (&ModelCase, Result<ModelComparison, TrainError>)| match found {
        Ok(found) if found.agrees() => None,
        Ok(found) => Some(format!("{}: {} by {:.1e}", found.name, found.of, found.difference)),
        Err(error) => Some(format!("{}: {error}", case.name)),
    };
    compared.filter_map(differs).collect()
}

/// The gradient of the frequencies of a time encoding, too small by a thousandth, which no loss shows while weights stand
/// still.
const WRONG_WEIGHT: (&str, &str) = (
    "ZOETROPE_EMULATED_MUTATION",
    "column - j.time_width] -= parts[threadIdx.x]=>\
     column - j.time_width] -= parts[threadIdx.x] * (is_weight ? 0.999f : 1.0f)",
);

#[test]
fn a_gradient_of_one_parameter_that_is_wrong_by_a_thousandth_is_reported() {
    let test = "a_gradient_of_one_parameter_that_is_wrong_by_a_thousandth_is_reported";
    if !emulator::is_here(test, &[WRONG_WEIGHT]) {
        return;
    }
    let all = model_cases();
    let case = all.iter().find(|case| case.name == "tgat tgl").unwrap();
    let found = case.compare("cuda").unwrap();
    assert!(!found.agrees(), "{found:?}");
    assert!((found.difference / 1e-3 - 1.0).abs() < 0.1, "{found:?}");
    assert!(found.of.contains("time_enc"), "{found:?}");
}

#[test]
fn repeating_recording_and_streaming_do_not_change_a_bit() {
    if !has_gpu("repeating_recording_and_streaming_do_not_change_a_bit") {
        return;
    }
    for model in ["tgcn", "evolvegcn-o", "gc-lstm"] {
        let model = format!("model.name={model}");
        let first = hash(&model);
        assert_eq!(first, hash(&model), "{model}: the same again");
        for setting in ["plan.record=false", "plan.residency=stream"] {
            assert_eq!(first, hash(&format!("{model} {setting}")), "{model}: {setting}");
        }
        for data in ["", "data.edge_life=3", "data.m_product=3 train.stride=2"] {
            let hash = |rule| {
                hash(&format!("{model} {data} plan.residency=stream plan.difference={rule}"))
            };
            let whole = hash("off");
            assert_eq!(whole, hash("on"), "{model} {data}: as differences");
            assert_eq!(whole, hash("auto"), "{model} {data}: as differences if that is faster");
        }
    }
}

#[test]
fn dropout_drops_the_same_recorded_or_not_and_on_the_processor() {
    if !has_gpu("dropout_drops_the_same_recorded_or_not_and_on_the_processor") {
        return;
    }
    // Of rows, of attention over time; two frames in one recording.
    for model in ["mpnn-lstm", "dysat model.heads=2", "mpnn-lstm train.batch_size=2"] {
        let model = format!("model.dropout=0.3 model.name={model}");
        let [recorded, computed, on_processor] =
            ["", "plan.record=false", "train.device=cpu"].map(|setting| {
                let mut run = start(&format!("{model} {setting}")).unwrap();
                let hash = state_hash(&train(&mut run, usize::MAX));
                (hash, run.session().learner().epochs().last().unwrap().loss)
            });
        assert_eq!(recorded, computed, "{model}");
        let difference = (recorded.1 - on_processor.1).abs() / on_processor.1;
        assert!(difference < 1e-4, "{model}: {} for {}", recorded.1, on_processor.1);
    }
}

#[test]
fn links_are_drawn_anew_for_recordings() {
    if !has_gpu("links_are_drawn_anew_for_recordings") {
        return;
    }
    // Ends that everybody asks about; scalar products; two frames in one recording.
    let hubs =
        "data.path=synthetic:power-law?vertices=60&steps=14&edges=800&features=2 task.theta=1";
    // Classes of edges are always the same.
    let classes = "task.name=edge-classification data.window=14parts \
                   data.path=synthetic:bipartite?users=20&items=20&events=900&features=3&labels=0.3";
    let weighted = format!("{classes} task.class_weights=balanced");
    let others = ["model.decoder=dot", "train.batch_size=2 train.loss=last", classes, &weighted];
    for rest in [hubs].into_iter().chain(others) {
        let settings = format!("task.name=link-prediction model.name=tgcn {rest}");
        let recorded = hash(&settings);
        assert_eq!(recorded, hash(&format!("{settings} plan.record=false")), "{settings}");
    }
}

#[test]
fn a_run_that_was_stopped_inside_an_epoch_goes_on_to_the_same_bits() {
    if !has_gpu("a_run_that_was_stopped_inside_an_epoch_goes_on_to_the_same_bits") {
        return;
    }
    let whole = hash("");
    // Before anything is recorded, while it is, and after.
    for updates in [3, 9, 15] {
        let saved = train(&mut start("").unwrap(), updates);
        let mut rest = start("").unwrap();
        rest.session_mut().restore(saved).unwrap();
        assert_eq!(whole, state_hash(&train(&mut rest, usize::MAX)), "after {updates} updates");
    }
}

#[test]
fn a_limit_that_is_too_low_for_the_run_is_a_missing_resource() {
    if !has_gpu("a_limit_that_is_too_low_for_the_run_is_a_missing_resource") {
        return;
    }
    let settings = "plan.memory_limit=64KiB data.path=synthetic:demo?vertices=600&steps=14";
    let failure = start(settings).and_then(|mut run| run.session_mut().epoch(&mut Updates(9)));
    assert_eq!(failure.unwrap_err().kind(), FailureKind::Resource);
}

#[test]
fn a_lower_precision_whose_first_loss_is_that_of_f32_is_taken() {
    if !has_gpu("a_lower_precision_whose_first_loss_is_that_of_f32_is_taken") {
        return;
    }
    for setting in ["train.precision=tf32", "train.precision=bf16 plan.residency=stream"] {
        let mut run = start(setting).unwrap();
        train(&mut run, 5);
        assert_eq!(run.session().device().gpu().unwrap().fault(), None, "{setting}");
    }
}
