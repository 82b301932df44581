//! What a wrong run says and how it exits, from outside.

mod binary;

use binary::Folder;
use serde_json::Value;

/// A job of less than a second, in settings over which flags win.
const DATA: &[&str] = &[
    "--set",
    "data.path=synthetic:demo?vertices=20&steps=30",
    "--set",
    "model.hidden=4",
    "--set",
    "train.epochs=1",
    "--quiet",
];

/// Runs `train` with more arguments and expects a code and words on standard error.
fn refused(folder: &Folder, more: &[&str], code: i32, words: &[&str]) {
    let outcome = folder.run(&[&["train"], DATA, more].concat());
    let error = outcome.stderr_text();
    assert_eq!(outcome.code(), Some(code), "{more:?}: {error}");
    for word in words {
        assert!(error.contains(word), "{more:?}: no {word:?} in {error}");
    }
    assert_eq!(outcome.stdout_text(), "", "{more:?}");
}

#[test]
fn wrong_flags_and_keys_name_what_is_meant() {
    let folder = Folder::new();
    for (more, words) in [
        (&["--model", "tcgn"][..], &["tcgn", "tgcn"][..]),
        (&["--task", "node-regresion"], &["node-regression"]),
        (&["--lr", "-1"], &["--lr"]),
        (&["--lr", "nan"], &["--lr"]),
        (&["--epochs", "0"], &["--epochs"]),
        (&["--epochs", "many"], &["--epochs", "many"]),
        (&["--frame", "0"], &["--frame"]),
        (&["--stride", "0"], &["--stride"]),
        (&["--frame", "1000"], &["1000", "snapshots"]),
        (&["--set", "train.epoch=3"], &["train.epoch", "epochs"]),
        (&["--set", "trian.lr=3"], &["trian", "train"]),
        (&["--set", "train.lr"], &["train.lr"]),
        (&["--set", "model.heads=3"], &["model.heads", "dysat"]),
        (
            &["--set", "train.carry_state=true", "--set", "train.shuffle=true"],
            &["carry_state", "shuffle"],
        ),
        (&["--set", "data.split=1/2/3/4"], &["data.split"]),
        (&["--set", "data.split=80/20", "--set", "train.patience=3"], &["patience", "validation"]),
        (&["--plan", "no-such-planner"], &["no-such-planner", "auto"]),
        (&["--data", "synthetic:dmeo"], &["demo"]),
        (&["--task", "node-classification"], &["no class"]),
        (&["--set", "model.decoder=dot"], &["decoder"]),
        (&["--frames", "3"], &["--frame"]),
        (&["--set", "data.window=1d"], &["data.window"]),
    ] {
        refused(&folder, more, 2, words);
    }
}

#[test]
fn a_missing_device_is_a_missing_resource() {
    let folder = Folder::new();
    // No machine has a GPU of that number.
    refused(&folder, &["--device", "cuda:999"], 4, &["--device cpu"]);
}

#[test]
fn a_configuration_file_is_refused_with_line_and_nearest_key() {
    let folder = Folder::new();
    folder.write("job.toml", "[train]\nepochs = 3\nlearning_rate = 0.1\n");
    refused(&folder, &["job.toml"], 2, &["job.toml:3", "learning_rate"]);
    folder.write("bad.toml", "[train\nepochs = 3\n");
    refused(&folder, &["bad.toml"], 2, &["bad.toml"]);
    refused(&folder, &["absent.toml"], 2, &["absent.toml"]);
    folder.write("good.toml", "[train]\nepochs = 2\n[model]\nhidden = 4\n");
    let outcome = folder.run(&["train", "good.toml", "--set", DATA[1], "--quiet", "--json"]);
    let summary: Value = serde_json::from_slice(&outcome.stdout).unwrap();
    assert_eq!(summary["epochs"].as_array().unwrap().len(), 2);
}

/// A configuration in TGL's words: TGN with a small memory.
const TGL: &str = "\
sampling:
  - layer: 1
    neighbor:
      - 5
    strategy: 'recent'
    history: 1
    num_thread: 32
memory:
  - type: 'node'
    dim_time: 8
    deliver_to: 'self'
    mail_combine: 'last'
    memory_update: 'gru'
    mailbox_size: 1
    dim_out: 8
gnn:
  - arch: 'transformer_attention'
    layer: 1
    att_head: 2
    dim_time: 8
    dim_out: 8
train:
  - epoch: 1
    batch_size: 50
    reorder: 5
    lr: 0.001
    dropout: 0.1
    att_dropout: 0.1
";

#[test]
fn a_configuration_of_tgl_trains_or_is_refused_with_line_and_reason() {
    let folder = Folder::new();
    let events = (0..400).map(|at| format!("{} {} {}\n", at % 13, 13 + at * 7 % 11, at / 2));
    folder.write("events.txt", &events.collect::<String>());
    folder.write("TGN.yml", TGL);
    let outcome = folder.run(&["train", "TGN.yml", "--data", "events.txt", "--json"]);
    let error = outcome.stderr_text();
    assert_eq!(outcome.code(), Some(0), "{error}");
    assert!(error.contains("TGN.yml:7: sampling.num_thread is not needed"), "{error}");
    let summary: Value = serde_json::from_slice(&outcome.stdout).unwrap();
    assert_eq!(summary["model"], "tgn");
    assert_eq!(summary["protocol"]["neighbours"]["rule"], "per-event");
    assert_eq!(summary["protocol"]["memory"]["batch_size"], 50);

    folder.write("snapshots.yml", &TGL.replace("history: 1", "history: 3"));
    refused(&folder, &["snapshots.yml"], 2, &["snapshots.yml:6", "sampling.history", "dysat"]);
}

#[test]
fn weights_that_do_not_fit_are_bad_input() {
    let folder = Folder::new();
    let run = [&["train"], DATA, &["--out", "run"]].concat();
    assert_eq!(folder.run(&run).code(), Some(0));
    let weights = "run/weights.safetensors";
    refused(&folder, &["--weights", weights, "--hidden", "5"], 3, &["weights.safetensors", "5"]);
    let other = [&["eval"], DATA, &["--weights", weights, "--hidden", "5"]].concat();
    let hint = folder.run(&other).stderr_text();
    assert!(hint.contains("--run run uses the settings"), "{hint}");
    refused(&folder, &["--weights", weights, "--model", "gc-lstm"], 3, &["recurrent."]);
    folder.write("broken.safetensors", "not a safetensors file");
    refused(&folder, &["--weights", "broken.safetensors"], 3, &["broken.safetensors"]);
    refused(&folder, &["--weights", "absent.safetensors"], 2, &["absent.safetensors"]);
    // Features that do not match: the same weights on data with another number of lags.
    refused(&folder, &["--weights", weights, "--set", "data.lags=3"], 3, &["weights.safetensors"]);
}

#[test]
fn numbers_that_are_not_finite_are_bad_input_with_their_place() {
    let folder = Folder::new();
    for (name, value) in [("nan", "NaN"), ("infinite", "Infinity")] {
        let signal = format!("[[1, 2], [3, {value}], [5, 6], [7, 8], [9, 10], [11, 12]]");
        let text = format!("{{\"edges\": [[0, 1]], \"weights\": [1], \"FX\": {signal}}}");
        folder.write(&format!("{name}.json"), &text);
    }
    write_npz(&folder.path("gap.npz"), f32::NAN);
    write_npz(&folder.path("bad.npz"), f32::INFINITY);
    let refuse = ["--set", "data.missing_features=refuse"];
    for (data, more) in [("bad.npz", &[][..]), ("gap.npz", &refuse[..])] {
        let train = ["train", "--data", data, "--frame", "2", "--quiet"];
        let outcome = folder.run(&[&train[..], more].concat());
        let error = outcome.stderr_text();
        assert_eq!(outcome.code(), Some(3), "{error}");
        assert!(
            error.contains("feature") && error.contains("vertex 1") && error.contains("step 2"),
            "{error}"
        );
    }
    let train = ["train", "--data", "gap.npz", "--frame", "2", "--epochs", "1", "--json"];
    assert_eq!(folder.json(&train)["scaling"]["missing_features"], 1);
}

/// Five snapshots of three vertices with a feature that is no number at step 2, vertex 1.
fn write_npz(path: &std::path::Path, value: f32) {
    let mut features = vec![0.5f32; 15];
    features[2 * 3 + 1] = value;
    let mut archive = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    let mut put = |name: &str, descr: &str, shape: &str, bytes: &[u8]| {
        use std::io::Write;
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        let padded = header.len() + (64 - (10 + header.len() + 1) % 64) % 64;
        archive.write_all(b"\x93NUMPY\x01\x00").unwrap();
        archive.write_all(&(padded as u16 + 1).to_le_bytes()).unwrap();
        archive.write_all(format!("{header:<padded$}\n").as_bytes()).unwrap();
        archive.write_all(bytes).unwrap();
    };
    let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let offsets: Vec<u8> = (0..=5u64).flat_map(u64::to_le_bytes).collect();
    put("edge_offsets.npy", "<u8", "(6,)", &offsets);
    put("edge_src.npy", "<u4", "(5,)", &[0u32; 5].map(u32::to_le_bytes).concat());
    put("edge_dst.npy", "<u4", "(5,)", &[1u32; 5].map(u32::to_le_bytes).concat());
    put("features.npy", "<f4", "(5, 3, 1)", &bytes(&features));
    put("targets.npy", "<f4", "(5, 3)", &bytes(&[0.0; 15]));
    archive.finish().unwrap();
}

#[test]
fn a_run_that_diverges_says_so_and_stores_nothing_bad() {
    let folder = Folder::new();
    let more = ["--lr", "1e30", "--epochs", "5", "--out", "run", "--set", "train.optimiser=sgd"];
    let outcome = folder.run(&[&["train"], DATA, &more[..]].concat());
    assert_eq!(outcome.code(), Some(1), "{}", outcome.stderr_text());
    assert!(outcome.stderr_text().contains("train.lr"), "{}", outcome.stderr_text());
}

#[test]
fn an_occupied_folder_is_not_overwritten() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("mine")).unwrap();
    folder.write("mine/diary.txt", "dear diary");
    refused(&folder, &["--out", "mine"], 2, &["mine"]);
    assert_eq!(folder.bytes("mine/diary.txt"), b"dear diary");
    refused(&folder, &["--resume", "mine"], 2, &["mine", "config.toml"]);
}
