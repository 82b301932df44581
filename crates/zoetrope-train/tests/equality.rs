//! However ranks share a run, it learns what one rank learns: every model, every task, every strategy.
//!
//! An ordinary run of the tests draws some cells of the matrix; `cargo xtask ranks` runs all of them.

// Each test program uses some of it.
#[allow(dead_code, unused_imports)]
mod equality_case;

use std::path::PathBuf;

use equality_case::{
    Case, Engine, Ledger, MODELS, OPTIMISERS, STRATEGIES, TASKS, Verdict, all_cases, run,
};
use zoetrope_testkit::emulator;

/// A number that follows from another one, well mixed.
fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// So many cells that are drawn: the same for the same matrix, so that a failure can be repeated.
fn drawn(mut all: Vec<Case>, count: usize) -> Vec<Case> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&at| mixed(at as u64));
    order.truncate(count);
    all = order.iter().map(|&at| all[at]).collect();
    all
}

#[test]
fn drawn_cells_by_threads_learn_what_one_rank_learns() {
    run(drawn(all_cases(Engine::Threads), 48));
}

#[test]
fn drawn_cells_on_gpus_learn_what_one_rank_with_a_gpu_learns() {
    let test = "drawn_cells_on_gpus_learn_what_one_rank_with_a_gpu_learns";
    if emulator::is_here(test, &[]) {
        let mut all = all_cases(Engine::Gpus);
        // More ranks take an emulated GPU too long.
        all.retain(|case| case.size == 2);
        run(drawn(all, 2));
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
    let all = MODELS.into_iter().enumerate().flat_map(of_model);
    run(all.filter(|case| case.strategy != "hybrid" || case.size == 4).collect());
}

#[test]
fn a_rank_without_a_vertex_evolves_the_weights_of_the_others() {
    // Of 19 vertices in eight parts one part has none.
    let of = |(model, strategy)| Case {
        model,
        task: TASKS[0],
        strategy,
        size: 8,
        blocks: 1,
        optimiser: OPTIMISERS[0],
        engine: Engine::Threads,
    };
    let models = ["evolvegcn-h", "evolvegcn-h model.variant=paper"];
    run(models.into_iter().zip(["vertex", "hypergraph"]).map(of).collect());
}

/// What `cargo xtask ranks` asks for: an engine, a part of its cells, and where what becomes of them is noted.
struct Asked {
    ledger: Ledger,
    cases: Vec<Case>,
    all: usize,
}

impl Asked {
    /// The cells of the part that are not noted yet, of that number of ranks if one is named.
    fn of(engine: Engine, size: Option<usize>) -> Self {
        let asked = |name: &str| std::env::var(format!("ZOETROPE_EQUALITY_{name}")).unwrap();
        let ledger = Ledger::open(&PathBuf::from(asked("LEDGER")));
        let (part, parts) = asked("PART")
            .split_once('/')
            .map(|(part, parts)| (part.parse::<usize>().unwrap(), parts.parse::<usize>().unwrap()))
            .unwrap();
        let mut cases = all_cases(engine);
        // What is compared with the same run of one rank is in one part.
        let mut of_part = Vec::new();
        for case in &cases {
            let configuration = (case.model, case.task, case.optimiser);
            if of_part.last() != Some(&configuration) {
                of_part.push(configuration);
            }
        }
        of_part = of_part.into_iter().skip(part - 1).step_by(parts).collect();
        cases.retain(|case| of_part.contains(&(case.model, case.task, case.optimiser)));
        cases.retain(|case| size.is_none_or(|size| size == case.size));
        let all = cases.len();
        cases.retain(|case| !ledger.has(case));
        Self { ledger, cases, all }
    }

    fn note(&mut self, case: &Case, verdict: &Verdict, left: usize) {
        self.ledger.add(case, verdict);
        let name = case.engine.name();
        if !verdict.is_right() {
            eprintln!("{name}: {case:?}: {verdict:?}");
        }
        if left.is_multiple_of(50) {
            eprintln!("{name}: {} of {} cells", self.all - left, self.all);
        }
    }

    fn run_by_threads(mut self) {
        for (at, case) in self.cases.clone().iter().enumerate() {
            let verdict = case.by_threads();
            self.note(case, &verdict, self.cases.len() - at - 1);
        }
    }
}

/// Not tests of their own: what `cargo xtask ranks` runs.
#[test]
#[ignore = "run by cargo xtask ranks"]
fn all_cells_by_threads() {
    Asked::of(Engine::Threads, None).run_by_threads();
}

#[test]
#[ignore = "run by cargo xtask ranks"]
fn all_cells_by_gpus() {
    Asked::of(Engine::Gpus, None).run_by_threads();
}

#[cfg(feature = "mpi")]
#[test]
#[ignore = "run by cargo xtask ranks, by a launcher"]
fn all_cells_by_processes() {
    use zoetrope_dist::{Timeouts, mpi};
    use zoetrope_train::TrainError;

    let ended = mpi::run(Timeouts::default(), |ranks| {
        let mut asked = Asked::of(Engine::Processes, Some(ranks.size()));
        // What one process found noted already, because it was faster, is run by all.
        ranks.barrier()?;
        for (at, case) in asked.cases.clone().iter().enumerate() {
            if let Some(verdict) = case.by_processes(&ranks)? {
                asked.note(case, &verdict, asked.cases.len() - at - 1);
            }
        }
        Ok::<_, TrainError>(())
    });
    ended.unwrap();
}
