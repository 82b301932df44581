//! Run folders from others: a link in every place, and nothing outside is written, emptied or deleted.
#![cfg(unix)]

mod binary;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use binary::{Folder, command};

const TRAIN: &[&str] = &[
    "train",
    "--model",
    "tgcn",
    "--data",
    "synthetic:demo?vertices=20&steps=24",
    "--hidden",
    "4",
    "--checkpoint-every",
    "1",
    "--trace",
    "--quiet",
];

const RESUME: &[&str] = &["train", "--resume", "run", "--epochs", "4", "--trace", "--quiet"];

/// Everything below a folder: of files the content, of links the target, by path.
fn everything(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let kind = path.symlink_metadata().unwrap().file_type();
        let content = if kind.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else if kind.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        found.insert(path, content);
    }
    found
}

/// The names below a run folder, those of its checkpoints included.
fn names(folder: &Folder, run: &str) -> Vec<String> {
    let root = folder.path(run);
    let paths = everything(&root).into_keys().filter(|path| *path != root);
    paths.map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned()).collect()
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::copy(from, to).unwrap();
    }
}

/// Uses a run in every way that writes, and in some that read.
fn use_run(folder: &Folder) {
    let again = &["train", "--resume", "run", "--quiet"][..];
    for arguments in [again, RESUME, &["checkpoint", "verify", "run"], &["eval", "--run", "run"]] {
        let outcome = folder.run(arguments);
        let said = outcome.stderr_text();
        assert!(matches!(outcome.code(), Some(0..=4)), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn a_link_in_every_place_leads_nowhere() {
    let folder = Folder::new();
    folder.text(&[TRAIN, &["--epochs", "2", "--out", "begun"]].concat());
    folder.text(&[TRAIN, &["--epochs", "4", "--out", "whole"]].concat());
    let mut places = names(&folder, "begun");
    for name in names(&folder, "whole") {
        // What comes to be, and on its way there.
        if !name.contains("tfevents") && !places.contains(&name) {
            places.push(name.clone());
        }
        if name.starts_with("checkpoints/step-") && name.matches('/').count() == 1 {
            places.extend(["tmp", "old", "replaced"].map(|end| format!("{name}.{end}")));
        }
    }
    places.push("checkpoints/latest.tmp".to_owned());
    places.retain(|name| !name.contains("tfevents"));
    assert!(places.len() > 20, "{places:?}");
    for name in &places {
        let outside = folder.path("outside");
        for is_folder in [false, true] {
            for made in ["run", "outside"] {
                let _ = fs::remove_dir_all(folder.path(made));
            }
            copy(&folder.path("begun"), &folder.path("run"));
            fs::create_dir(&outside).unwrap();
            let (victim, place) = (outside.join("victim"), folder.path("run").join(name));
            if place.parent().is_none_or(|parent| !parent.is_dir()) {
                continue;
            }
            // What stood there stands outside now; or something else does.
            match (place.is_dir(), is_folder) {
                (true, true) | (false, false) if place.exists() => {
                    fs::rename(&place, &victim).unwrap()
                }
                (_, true) => {
                    fs::create_dir_all(victim.join("step-00000000")).unwrap();
                    fs::write(victim.join("step-00000000/work"), "years").unwrap();
                }
                (_, false) => fs::write(&victim, "years of work").unwrap(),
            }
            let _ = fs::remove_dir_all(&place);
            let _ = fs::remove_file(&place);
            symlink(&victim, &place).unwrap();
            let before = everything(&outside);
            use_run(&folder);
            assert_eq!(everything(&outside), before, "{name}, folder {is_folder}");
        }
    }
}

#[test]
fn a_file_that_has_another_name_elsewhere_stays_what_it_is() {
    let folder = Folder::new();
    folder.text(&[TRAIN, &["--epochs", "2", "--out", "run"]].concat());
    fs::create_dir(folder.path("outside")).unwrap();
    for (number, name) in names(&folder, "run").iter().enumerate() {
        let path = folder.path("run").join(name);
        if path.is_file() {
            fs::hard_link(&path, folder.path("outside").join(number.to_string())).unwrap();
        }
    }
    let before = everything(&folder.path("outside"));
    use_run(&folder);
    assert_eq!(everything(&folder.path("outside")), before);
}

#[test]
fn folders_have_the_permissions_of_their_user() {
    let folder = Folder::new();
    for (mask, expected) in [("022", 0o755), ("077", 0o700), ("002", 0o775)] {
        let out = format!("runs-{mask}/a/run");
        let arguments = [TRAIN, &["--epochs", "1", "--out", &out]].concat();
        let plain = command(&folder.path(""), &arguments);
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(format!("umask {mask}; exec \"$0\" \"$@\"")).arg(plain.get_program());
        shell.args(&arguments).current_dir(folder.path(""));
        assert!(shell.status().unwrap().success());
        let root = folder.path(&format!("runs-{mask}"));
        for path in everything(&root).into_keys() {
            let found = fs::metadata(&path).unwrap();
            let mode = found.permissions().mode() & 0o777;
            let expected = if found.is_dir() { expected } else { expected & 0o666 };
            assert_eq!(mode, expected, "{}: {mode:o}", path.display());
            assert_eq!(found.uid(), fs::metadata(folder.path("")).unwrap().uid());
        }
    }
}
