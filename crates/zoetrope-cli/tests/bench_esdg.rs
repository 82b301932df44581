//! `zoetrope bench paper esdg`: figures beside those of the paper.

mod binary;

use binary::Folder;

#[test]
fn the_paper_of_esdg_is_re_run_beside_its_printed_values() {
    let folder = Folder::new();
    let asked = ["bench", "paper", "esdg", "--model", "evolvegcn-o", "--dataset", "amlsim"];
    let found =
        folder.json(&[&asked[..], &["--ranks-max", "4", "--out", "esdg", "--json"]].concat());
    assert_eq!(found["calibrated"], false);
    let row = &found["table2"][0];
    assert_eq!(row["printed"]["snapshot_ms"], 4185.0);
    assert!(row["snapshot"]["seconds"].as_f64().unwrap() > 0.0);
    // Weights evolve on every rank: nothing but gradients moves.
    assert!(row["snapshot"]["sent_bytes"].as_u64().unwrap() < 1_000_000);
    let strong = &found["strong"][0];
    let seconds = |kind: &str, at: usize| strong[kind][at]["seconds"].as_f64().unwrap();
    assert!(seconds("differences", 0) <= seconds("base", 0));
    let report = String::from_utf8(folder.bytes("esdg/esdg.md")).unwrap();
    for expected in ["evolvegcn-o on amlsim", "4185 / DNR", "not calibrated", "charts"] {
        assert!(report.contains(expected), "{expected}: {report}");
    }
    assert!(String::from_utf8(folder.bytes("esdg/esdg.svg")).unwrap().starts_with("<svg"));
    let again = folder.run(&[&asked[..], &["--ranks-max", "4", "--out", "esdg"]].concat());
    assert_eq!(again.code(), Some(2), "files are not replaced without --force");
}

#[test]
fn a_machine_without_gpus_is_refused() {
    let folder = Folder::new();
    let outcome = folder.run(&["bench", "paper", "esdg", "--machine", "laptop"]);
    assert_eq!(outcome.code(), Some(2));
    assert!(outcome.stderr_text().contains("no GPUs"), "{}", outcome.stderr_text());
}
