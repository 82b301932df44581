//! Honest inputs of every kind, each in a folder of its own, made by the program itself if it can.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::random::Random;

/// What an input is to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Data to read.
    Data,
    /// A run folder.
    Run,
    /// Weights for a model.
    Weights,
    /// A configuration file.
    Config,
    /// A plan file.
    Plan,
    /// Pairs to predict.
    Pairs,
    /// Fixed negatives for evaluation.
    Negatives,
}

/// An honest input.
#[derive(Debug, Clone)]
pub(super) struct Honest {
    /// What kind it is, for the table.
    pub(super) kind: String,
    pub(super) role: Role,
    /// Where it lies, with all that it needs.
    pub(super) folder: PathBuf,
    /// What is named on the command line, from the folder.
    pub(super) entry: String,
    /// Arguments that it needs to be read.
    pub(super) arguments: Vec<String>,
    /// The files that an attack changes, from the folder.
    pub(super) files: Vec<PathBuf>,
}

/// A configuration in the words of TGL.
const TGL_CONFIG: &str = "\
sampling:
  - layer: 1
    neighbor:
      - 5
    strategy: 'recent'
    history: 1
    num_thread: 2
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
    lr: 0.001
";

/// Makes honest inputs of every kind under `bed`.
///
/// # Errors
/// The command that failed, and what it said.
pub(super) fn make(program: &Path, bed: &Path, corpus: &Path) -> Result<Vec<Honest>, String> {
    let maker = Maker { program: program.to_owned(), bed: bed.to_owned() };
    let mut all = maker.data()?;
    all.extend(from_corpus(corpus));
    all.extend(maker.runs()?);
    all.extend(maker.settings()?);
    Ok(all)
}

struct Maker {
    program: PathBuf,
    bed: PathBuf,
}

impl Maker {
    /// Runs the program in a folder.
    fn run(&self, folder: &Path, arguments: &str) -> Result<(), String> {
        let mut command = Command::new(&self.program);
        command.args(arguments.split_whitespace()).current_dir(folder);
        let output = command.output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr);
        output.status.success().then_some(()).ok_or(format!("{arguments}: {said}"))
    }

    /// A fresh folder with files in it.
    fn folder(&self, name: &str, files: &[(&str, &str)]) -> Result<PathBuf, String> {
        let folder = self.bed.join(name);
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        for (file, text) in files {
            fs::write(folder.join(file), text).map_err(|error| error.to_string())?;
        }
        Ok(folder)
    }

    /// Data of every format that can be written, and those that can only be read.
    fn data(&self) -> Result<Vec<Honest>, String> {
        let events = events("", 160);
        let mut made = Vec::new();
        for name in ["e.tsv", "e.txt", "e.csv.gz", "e.csv.zst", "e.csv.xz", "e.parquet", "e.zoe"] {
            let folder = self.folder(&format!("data-{name}"), &[("source.csv", &events)])?;
            self.run(&folder, &format!("data convert source.csv {name} --drop -q"))?;
            made.push((name, folder, name, Vec::new()));
        }
        for name in ["csv", "csv-text"] {
            let text = self::events(if name == "csv" { "" } else { "v" }, 160);
            let folder = self.folder(&format!("data-{name}"), &[("e.csv", &text)])?;
            made.push((name, folder, "e.csv", Vec::new()));
        }
        for (format, out) in [
            ("jodie-csv", "e.csv"),
            ("ml-triple", "ml_e.csv"),
            ("tgl", "e"),
            ("snapshot-folder", "e"),
            ("npz", "e.npz"),
        ] {
            let folder = self.folder(&format!("data-{format}"), &[("source.csv", &events)])?;
            let window =
                if matches!(format, "snapshot-folder" | "npz") { "--window 1d" } else { "" };
            let to = format!("data convert source.csv {out} --to {format} --drop {window} -q");
            self.run(&folder, &to)?;
            made.push((format, folder, out, Vec::new()));
        }
        let folder = self.folder("data-npz-features", &[])?;
        self.run(&folder, "data generate demo vertices=24 steps=20 --out e.npz -q")?;
        made.push(("npz-features", folder, "e.npz", Vec::new()));
        let folder = self.folder("data-json", &[("e.json", &series())])?;
        made.push(("json", folder, "e.json", Vec::new()));
        let folder = self.folder("data-traffic", &[])?;
        let inner =
            self.folder("data-traffic/e", &[("x_adj.csv", &matrix()), ("x_speed.csv", &speeds())])?;
        drop(inner);
        made.push(("traffic", folder, "e", vec!["--format".to_owned(), "traffic".to_owned()]));
        let data = made.into_iter().map(|(kind, folder, entry, arguments)| {
            let _ = fs::remove_file(folder.join("source.csv"));
            let files = files_below(&folder);
            let (kind, entry) = (kind.trim_start_matches("e.").to_owned(), entry.to_owned());
            Honest { kind, role: Role::Data, folder, entry, arguments, files }
        });
        Ok(data.collect())
    }

    /// Run folders of snapshot and event models, beside the data that they were trained on.
    fn runs(&self) -> Result<Vec<Honest>, String> {
        let mut made = Vec::new();
        for (name, data) in [
            ("run-tgcn", "--data e.npz --model tgcn"),
            ("run-tgn", "--data e.csv --model tgn"),
            ("run-tgn-classes", "--data e.csv --model jodie --task edge-classification"),
            (
                "run-learned",
                "--data e.csv --model evolvegcn-o --task link-prediction --set data.features=learned",
            ),
        ] {
            let folder = self.folder(name, &[("e.csv", &events("v", 160))])?;
            if data.contains("npz") {
                self.run(&folder, "data generate demo vertices=24 steps=20 --out e.npz -q")?;
            }
            let train = format!(
                "train {data} --hidden 4 --epochs 2 --checkpoint-every 1 --out run -q \
                         --set train.checkpoint_share=none"
            );
            self.run(&folder, &train)?;
            let files = files_below(&folder.join("run"));
            let files = files.into_iter().map(|file| Path::new("run").join(file)).collect();
            let entry = "run".to_owned();
            made.push(Honest {
                kind: name.into(),
                role: Role::Run,
                folder,
                entry,
                arguments: Vec::new(),
                files,
            });
        }
        Ok(made)
    }

    /// Weights, configurations, plans, pairs and negatives.
    fn settings(&self) -> Result<Vec<Honest>, String> {
        let mut made = Vec::new();
        let mut add = |kind: &str, role, folder: PathBuf, entry: &str, arguments: &str| {
            let arguments = arguments.split_whitespace().map(str::to_owned).collect();
            let files = vec![PathBuf::from(entry)];
            let (kind, entry) = (kind.to_owned(), entry.to_owned());
            made.push(Honest { kind, role, folder, entry, arguments, files });
        };
        for (kind, run, shape) in [
            ("weights-tgcn", "run-tgcn", "--data e.npz --model tgcn --hidden 4"),
            ("weights-tgn", "run-tgn", "--data e.csv --model tgn --hidden 4"),
        ] {
            let folder = self.folder(kind, &[])?;
            let data = shape.split_whitespace().nth(1).unwrap_or_default();
            for (from, to) in [("run/weights.safetensors", "w.safetensors"), (data, data)] {
                fs::copy(self.bed.join(run).join(from), folder.join(to))
                    .map_err(|error| format!("{from}: {error}"))?;
            }
            add(kind, Role::Weights, folder, "w.safetensors", shape);
        }
        for run in ["run-tgcn", "run-tgn", "run-learned"] {
            let config = fs::read_to_string(self.bed.join(run).join("run/config.toml"))
                .map_err(|error| error.to_string())?;
            let folder = self.folder(
                &format!("config-{run}"),
                &[("job.toml", &config), ("e.csv", &events("v", 160))],
            )?;
            if run == "run-tgcn" {
                self.run(&folder, "data generate demo vertices=24 steps=20 --out e.npz -q")?;
            }
            add("config-toml", Role::Config, folder, "job.toml", "");
        }
        let files = [("job.yml", TGL_CONFIG), ("e.csv", &events("", 160))];
        let folder = self.folder("config-yml", &files)?;
        add("config-yml", Role::Config, folder, "job.yml", "--data e.csv");
        for ranks in [1, 3] {
            let folder = self.folder(&format!("plan-{ranks}"), &[])?;
            self.run(&folder, "data generate demo vertices=24 steps=20 --out e.npz -q")?;
            let shape = format!("--data e.npz --model tgcn --hidden 4 --ranks {ranks}");
            self.run(&folder, &format!("plan {shape} --out plan.json -q"))?;
            add("plan", Role::Plan, folder, "plan.json", &shape);
        }
        for run in ["run-tgn", "run-learned"] {
            let pairs =
                "src,dst,time,weight\nv1,v25,1300000,1\nv3,v22,1300500,0.5\nv19,v31,1301000,2\n";
            let folder = self.folder(&format!("pairs-{run}"), &[("pairs.csv", pairs)])?;
            copy_folder(&self.bed.join(run), &folder).map_err(|error| error.to_string())?;
            add("pairs", Role::Pairs, folder, "pairs.csv", "");
        }
        let folder = self.folder("negatives", &[("e.csv", &events("", 160))])?;
        self.run(&folder, "data negatives e.csv --out n.npz -q")?;
        add("negatives", Role::Negatives, folder, "n.npz", "");
        Ok(made)
    }
}

/// The files of the committed corpus, hostile ones too: neighbours of a known attack are good guesses.
fn from_corpus(corpus: &Path) -> Vec<Honest> {
    let Ok(table) = fs::read_to_string(corpus.join("EXPECTED.tsv")) else { return Vec::new() };
    let rows = table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let path = corpus.join("files").join(fields.first()?);
        let own_folder = path.is_dir();
        let folder = path.parent()?.to_owned();
        let entry = path.file_name()?.to_string_lossy().into_owned();
        let beside = !own_folder && folder.parent()? != corpus.join("files");
        let files = match (own_folder, beside) {
            (true, _) => {
                files_below(&path).iter().map(|file| Path::new(&entry).join(file)).collect()
            }
            (_, true) => files_below(&folder),
            _ => vec![PathBuf::from(&entry)],
        };
        let arguments = fields.get(3)?.split_whitespace().map(str::to_owned).collect();
        let kind = format!("corpus-{}", fields[0].split('/').next()?);
        let short = files.iter().all(|file: &PathBuf| {
            fs::metadata(folder.join(file)).is_ok_and(|meta| meta.len() < 64 << 10)
        });
        let there = short && path.exists() && !files.is_empty();
        there.then_some(Honest { kind, role: Role::Data, folder, entry, arguments, files })
    });
    rows.collect()
}

/// All plain files below a folder, by their paths from there, in order.
pub(super) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder.join(&inner)) else { continue };
        for entry in entries.flatten() {
            let path = inner.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() => found.push(path),
                _ => {}
            }
        }
    }
    // Event files of TensorBoard carry the time and are never read.
    found.retain(|path| !path.to_string_lossy().contains("tfevents"));
    found.sort();
    found
}

/// Copies a folder with what is in it.
pub(super) fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    for file in files_below(from) {
        let target = to.join(&file);
        target.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::copy(from.join(&file), target)?;
    }
    Ok(())
}

/// A table of events between 20 sources and 12 destinations.
fn events(prefix: &str, rows: usize) -> String {
    let mut random = Random::new(1, 0);
    let mut text = "src,dst,time,weight,label\n".to_owned();
    let mut time = 1_000_000;
    for _ in 0..rows {
        time += 1 + random.below(4000);
        let (src, dst) = (random.below(20), 20 + random.below(12));
        let (weight, label) = (random.below(9) as f32 / 4.0, 3 + 4 * random.below(2));
        let _ = writeln!(text, "{prefix}{src},{prefix}{dst},{time},{weight},{label}");
    }
    text
}

/// A series of eight vertices on a ring, in the form of PyG-Temporal.
fn series() -> String {
    let mut random = Random::new(2, 0);
    let edges: Vec<[usize; 2]> = (0..8).map(|vertex| [vertex, (vertex + 1) % 8]).collect();
    let step = |random: &mut Random| -> Vec<f64> {
        (0..8).map(|_| random.below(100) as f64 / 10.0).collect()
    };
    let values: Vec<Vec<f64>> = (0..30).map(|_| step(&mut random)).collect();
    serde_json::json!({"edges": edges, "weights": vec![1.0; 8], "X": values}).to_string()
}

/// The adjacency of four sensors.
fn matrix() -> String {
    "0,1,0,0.5\n1,0,1,0\n0,1,0,1\n0.5,0,1,0\n".to_owned()
}

/// The speeds at four sensors over thirty steps.
fn speeds() -> String {
    let mut random = Random::new(3, 0);
    let mut text = "a,b,c,d\n".to_owned();
    for _ in 0..30 {
        let row: Vec<String> = (0..4).map(|_| (30 + random.below(40)).to_string()).collect();
        let _ = writeln!(text, "{}", row.join(","));
    }
    text
}
