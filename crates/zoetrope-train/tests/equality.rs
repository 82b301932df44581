//! However ranks share a run, it learns what one rank learns: every model, every task, every strategy.
//!
//! An ordinary run of the tests draws some cells of the matrix; `cargo xtask ranks` runs all of them.

// Each test program uses some of it.
#[allow(dead_code)]
mod equality_case;

use equality_case::{Case, Engine, MODELS, OPTIMISERS, STRATEGIES, TASKS, all_cases, run};
use zoetrope_testkit::emulator;

/// Set by `cargo xtask ranks`: all cells are run, and what became of them is added to that file.
const TABLE: &str = "ZOETROPE_EQUALITY_TABLE";

/// A number that follows from another one, well mixed.
fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// All cells of an engine if they are asked for, otherwise so many that are drawn.
fn cells(engine: Engine, drawn: usize) -> Vec<Case> {
    let mut all: Vec<Case> = all_cases().filter(|case| case.engine == engine).collect();
    if std::env::var_os(TABLE).is_none() {
        // The same draw for the same matrix: a failure can be repeated.
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|&at| mixed(at as u64));
        all = order.iter().take(drawn).map(|&at| all[at]).collect();
    }
    all
}

fn run_cells(engine: Engine, drawn: usize) {
    run(cells(engine, drawn), std::env::var_os(TABLE).as_deref());
}

#[test]
fn drawn_cells_by_threads_learn_what_one_rank_learns() {
    run_cells(Engine::Threads, 40);
}

#[test]
fn drawn_cells_on_gpus_learn_what_one_rank_with_a_gpu_learns() {
    let test = "drawn_cells_on_gpus_learn_what_one_rank_with_a_gpu_learns";
    if emulator::is_here(test, &[]) {
        run_cells(Engine::Gpus, 2);
    }
}

#[test]
fn every_model_is_shared_by_snapshot_vertex_and_hybrid() {
    let of_model = |(number, model)| {
        let of = move |(at, strategy)| {
            [2, 3, 4].map(|size| Case {
                model,
                task: TASKS[0],
                strategy,
                size,
                blocks: 1,
                optimiser: OPTIMISERS[(number + at + size) % 2],
                engine: Engine::Threads,
            })
        };
        STRATEGIES.into_iter().enumerate().flat_map(of)
    };
    let all = MODELS.into_iter().enumerate().flat_map(of_model).filter(Case::is_possible);
    run(all.collect(), None);
}
