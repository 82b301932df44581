//! Reads what a run left: metrics, summary, plan, checkpoint. Nothing here needs a trainer.
//!
//! `cargo run --example read_run -- runs/tgcn-demo-1`; without a folder it trains a small run first.

use std::error::Error;
use std::path::{Path, PathBuf};

use zoetrope::plan::Plan;
use zoetrope::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let own = tempfile::tempdir()?;
    let given = std::env::args().nth(1).map(PathBuf::from).filter(|path| path.is_dir());
    let root = match given {
        Some(root) => root,
        None => small_run(own.path())?,
    };

    let config = RunFolder::read_config(&root)?;
    println!(
        "{} on {}, to have {} epochs",
        config.model.name, config.data.path, config.train.epochs
    );

    println!("\nmetrics.jsonl");
    for line in read_metrics(&RunFolder::metrics_of(&root))? {
        let val = line.record.val.iter().map(|(name, value)| format!(" {name} {value:.4}"));
        let val: String = val.collect();
        println!("  epoch {}: loss {:.4},{val}", line.record.epoch, line.record.loss);
    }

    println!("\nsummary.json");
    match Summary::read(&root)? {
        None => println!("  none: the run has not come to its end"),
        Some(summary) => {
            println!("  {} vertices, {} snapshots", summary.data.vertices, summary.data.snapshots);
            println!("  test: {:?}", summary.test);
            if let Some(verdict) = summary.verdict {
                let word = if verdict.beats { "beats" } else { "does not beat" };
                println!("  by {} it {word} the rule `{}`", verdict.metric, verdict.rule);
            }
        }
    }

    println!("\nplan.json");
    let plan = Plan::from_json(&std::fs::read_to_string(RunFolder::plan_of(&root))?)?;
    println!("  made by the planner `{}`", plan.head().planner);
    plan.head().reasons.iter().for_each(|reason| println!("  because {reason}"));

    println!("\ncheckpoints");
    let store = CheckpointStore::new(RunFolder::checkpoints_of(&root), 1);
    let restored = store.load_latest()?.ok_or("there is none")?;
    println!("  {} with {} bytes", restored.path.display(), restored.bytes);
    println!("  state {}", restored.state_hash);
    for (name, tensor) in &restored.state.weights {
        println!("  {name} {:?}", tensor.dims());
    }
    Ok(())
}

fn small_run(folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let config = Config::builder()
        .set("data.path=synthetic:demo?vertices=20&steps=40")
        .set("model.hidden=4")
        .set("train.epochs=3")
        .set(&format!("output.dir={}", folder.join("run").display()))
        .build()?;
    Ok(train_unobserved(config)?.folder)
}

#[test]
fn it_runs_to_its_end() {
    main().unwrap();
}
