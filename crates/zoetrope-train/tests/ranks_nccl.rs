//! Ranks with an emulated GPU each: what goes from GPU to GPU gives the losses, to the bit, and moves
//! the bytes of what goes by way of the host.

mod shared_run;

use shared_run::{MODELS, losses, session};
use zoetrope_dist::{Ranks, Timeouts, Traffic, threads};
use zoetrope_plan::strategy::Row;
use zoetrope_testkit::emulator;
use zoetrope_train::TrainError;
use zoetrope_train::observer::Unobserved;
use zoetrope_train::snapshots::session::plan_for_ranks;
use zoetrope_train::training_run::TrainingRun;
use zoetrope_train::training_run::{EpochEnd, Epochs};

const GPUS: &[(&str, &str)] = &[("ZOETROPE_EMULATED_DEVICES", "3")];

const GPU: &str = "train.device=cuda";

/// Losses of all ranks, which are the same, by one way or the other.
fn losses_by(size: usize, transport: &str, settings: &[&str]) -> Vec<u64> {
    let transport = format!("plan.device_transport={transport}");
    let settings: Vec<String> = [GPU, "train.epochs=1 train.stride=6", &transport]
        .iter()
        .chain(settings)
        .map(|&text| text.to_owned())
        .collect();
    let found = threads::run(size, Timeouts::default(), move |ranks| {
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        Ok::<_, TrainError>(losses(&settings, Some(ranks)))
    });
    let found = found.unwrap();
    assert!(found.iter().all(|losses| *losses == found[0]), "{found:?}");
    found[0].iter().map(|loss| loss.to_bits()).collect()
}

#[test]
fn losses_are_those_of_the_way_by_the_host_to_the_bit() {
    if !emulator::is_here("losses_are_those_of_the_way_by_the_host_to_the_bit", GPUS) {
        return;
    }
    let shared = [
        (2, "plan.strategy=snapshot"),
        (3, "plan.strategy=snapshot plan.overlap=true plan.blocks=2"),
        (2, "plan.strategy=hypergraph"),
        (3, "plan.strategy=hypergraph"),
    ];
    for model in MODELS {
        let moves = |shared: &str| !(model.contains("evolvegcn") && shared.contains("overlap"));
        for (size, shared) in shared.into_iter().filter(|(_, shared)| moves(shared)) {
            let [host, nccl] = ["host", "nccl"].map(|by| losses_by(size, by, &[model, shared]));
            assert_eq!(host, nccl, "{size} ranks, {model} {shared}");
        }
    }
}

/// What one update of all ranks moves, and what comes from the GPU to the host meanwhile.
fn moved(ranks: &Ranks, settings: &[&str]) -> (Traffic, u64) {
    let mut session = session(settings, Some(ranks.clone()));
    let downloaded = |session: &zoetrope_train::snapshots::session::Session| {
        session.device().gpu().unwrap().copied_bytes()[1]
    };
    // The first epoch also sends what is sent once.
    assert!(matches!(session.epoch(&mut Unobserved).unwrap(), EpochEnd::Finished(_)));
    let before = (ranks.traffic(), downloaded(&session));
    assert!(matches!(session.epoch(&mut Unobserved).unwrap(), EpochEnd::Finished(_)));
    (ranks.traffic().since(&before.0), downloaded(&session) - before.1)
}

#[test]
fn as_many_bytes_move_as_by_the_host_and_as_predicted_but_not_through_it() {
    let test = "as_many_bytes_move_as_by_the_host_and_as_predicted_but_not_through_it";
    if !emulator::is_here(test, GPUS) {
        return;
    }
    let (size, frame) = (3, "train.epochs=2 train.frame=all model.hidden=9 plan.reuse=false");
    for model in ["model.name=cd-gcn", "model.name=tgcn"] {
        for shared in ["plan.strategy=snapshot", "plan.strategy=hypergraph"] {
            let ways = ["host", "nccl"].map(|by| {
                let by = format!("plan.device_transport={by}");
                let found = threads::run(size, Timeouts::default(), move |ranks| {
                    Ok::<_, TrainError>(moved(&ranks, &[model, GPU, frame, shared, &by]))
                });
                found.unwrap()
            });
            let [host, nccl] = &ways;
            for (host, nccl) in host.iter().zip(nccl) {
                let bytes = |traffic: &Traffic| {
                    let costs = [traffic.all_to_all, traffic.all_reduce, traffic.all_gather];
                    costs.map(|cost| (cost.calls, cost.bytes))
                };
                assert_eq!(bytes(&host.0), bytes(&nccl.0), "{model} {shared}");
                // Weights, the optimiser's state and losses are read once an epoch.
                let moved = nccl.0.all_to_all.bytes + nccl.0.all_reduce.bytes;
                assert!(host.1 > nccl.1 + moved / 2, "{model} {shared}: {} {}", host.1, nccl.1);
            }
            let ranks = format!("train.ranks={size}");
            let config = shared_run::config(&[model, GPU, frame, shared, &ranks]);
            let material = zoetrope_train::snapshots::material::SnapshotInput::open(
                &config,
                &zoetrope_data::Quiet,
            )
            .unwrap();
            let plan = plan_for_ranks(config, &material, None, false).unwrap();
            assert_eq!(plan.frames.len(), 1);
            let taken = plan.head.candidates.iter().find(|candidate| candidate.taken).unwrap();
            let row: &Row = taken.cells.as_ref().unwrap();
            let rows: u64 = nccl.iter().map(|one| one.0.all_to_all.bytes).sum();
            assert_eq!(rows, row.row_bytes(), "{model} {shared}");
            let sums: u64 = nccl.iter().map(|one| one.0.all_reduce.bytes).sum();
            // Besides the gradients there are numbers of 8 bytes: the loss, and whether anybody wants
            // to stop.
            let calls = nccl[0].0.all_reduce.calls;
            let numbers = (calls - 1) * 8 * (size * (size - 1)) as u64;
            assert_eq!(sums, row.reduced_bytes + numbers, "{model} {shared}");
        }
    }
}

#[test]
fn the_way_is_chosen_by_what_ranks_have_and_told() {
    if !emulator::is_here("the_way_is_chosen_by_what_ranks_have_and_told", GPUS) {
        return;
    }
    let told = |size: usize, settings: &'static str| {
        let found = threads::run(size, Timeouts::default(), move |ranks| {
            let session = session(&["model.name=tgcn train.device=cuda", settings], Some(ranks));
            Ok::<_, TrainError>(session.device_transport().cloned().unwrap())
        });
        let found = found.unwrap();
        assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
        (found[0].name.clone(), found[0].reason.clone())
    };
    let own = "every rank has a GPU of its own";
    assert_eq!(told(3, ""), ("nccl".to_owned(), own.to_owned()));
    assert_eq!(told(2, "plan.device_transport=host"), ("host".to_owned(), "as asked".to_owned()));
    let shared = "ranks 0 and 3 share a GPU, and NCCL links one GPU for each rank";
    assert_eq!(told(4, ""), ("host".to_owned(), shared.to_owned()));
}
