//! Trains on a CSV file of events, then uses the trained model: which pairs will meet next?
//!
//! `cargo run --example train_on_csv`

use std::error::Error;
use std::fmt::Write;
use std::fs;

use zoetrope::prelude::*;
use zoetrope::train::events::Candidate;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let rides = folder.path().join("rides.csv");
    fs::write(&rides, table()?)?;

    // The same settings as in a TOML file or after `--set` on the command line.
    let config = Config::builder()
        .set(&format!("data.path={}", rides.display()))
        .set(&format!("output.dir={}", folder.path().join("run").display()))
        .set("model.name=tgn")
        .set("model.hidden=16")
        .set("train.batch_size=50")
        .set("train.epochs=3")
        .set("train.lr=0.01")
        .build()?;
    let finished = train_unobserved(config)?;

    let summary = &finished.summary;
    println!("{} events of {} vertices", summary.data.events, summary.data.vertices);
    for epoch in &summary.epochs {
        println!(
            "epoch {}: loss {:.4}, validation AP {:.4}",
            epoch.epoch, epoch.loss, epoch.val["ap"]
        );
    }
    println!("test: AP {:.4}, AUC {:.4}", summary.test["ap"], summary.test["auc"]);
    for (rule, metrics) in &summary.baselines {
        println!("  the rule `{rule}`: AP {:.4}", metrics["ap"]);
    }

    // The folder has all that is needed to go on: settings, weights, the place of the data.
    let mut run = open_run(&finished.folder, &Quiet)?;
    let again = run.session_mut().evaluate(Part::Test)?;
    assert_eq!(again["ap"], summary.test["ap"]);

    let Run::Events(session) = &mut run else { unreachable!("TGN learns from events") };
    let names = session.vertex_names();
    let vertex = |name: &str| names.find_source(name).or_else(|| names.find_destination(name));
    let [rider, home, other] = ["rider3", "station3", "station6"].map(|name| vertex(name).unwrap());
    let time = 600;
    let pairs = [home, other].map(|station| Candidate { src: rider, dst: station, time });
    let scores = session.predict(&pairs, &[])?;
    println!("rider3 at time {time}: station3 {:.3}, station6 {:.3}", scores[0], scores[1]);
    Ok(())
}

/// Ten riders who mostly go to a station of their own.
fn table() -> Result<String, std::fmt::Error> {
    let mut text = "rider,station,time\n".to_owned();
    for time in 0..600 {
        let rider = (time * 7 + time / 10) % 10;
        let station = if time % 9 == 0 { (rider + time) % 10 } else { rider };
        writeln!(text, "rider{rider},station{station},{time}")?;
    }
    Ok(text)
}

#[test]
fn it_runs_to_its_end() {
    main().unwrap();
}
