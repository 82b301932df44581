//! Key by key from TGL's words to ours.

use std::path::Path;

use toml::Value;

use super::known::unknown;
use super::parts::Parts;
use super::reader::{self, Entry};
use crate::ModelName;
use crate::problem::{ConfigProblem, Origin};

/// A file in our words.
#[derive(Debug, Default)]
pub(crate) struct Translation {
    /// Section, key, value and line.
    pub(crate) wishes: Vec<(&'static str, &'static str, Value, usize)>,
    /// What is not needed here, and what a user of TGL should know.
    pub(crate) notes: Vec<String>,
    /// What cannot be translated.
    pub(crate) problems: Vec<ConfigProblem>,
}

/// Translates the text of a file; `path` is for messages.
pub(crate) fn translate(text: &str, path: &Path) -> Translation {
    let mut out = Translation::default();
    let entries = match reader::entries(text, path) {
        Ok(entries) => entries,
        Err(problem) => {
            out.problems.push(problem);
            return out;
        }
    };
    let origin = |entry: &Entry| Origin::File { path: path.into(), line: entry.line };
    let parts = Parts(&entries);
    for (section, key) in [("memory", "type"), ("gnn", "arch")] {
        if parts.get(section, key).is_none() {
            let reason =
                format!("{section}.{key} is missing, by which TGL's models are told apart");
            out.problems.push(ConfigProblem::Unreadable { path: path.into(), reason });
            return out;
        }
    }
    let whence = parts.get("memory", "memory_update").or_else(|| parts.get("memory", "type"));
    let line = whence.map_or(1, |entry| entry.line);
    out.wishes.push(("model", "name", Value::String(parts.model().name().into()), line));
    if let Some(embedding) = parts.embedding() {
        let line = parts.get("gnn", "arch").map_or(1, |entry| entry.line);
        out.wishes.push(("model", "embedding", Value::String(embedding.into()), line));
    }
    for entry in &entries {
        if let Some(problem) = unknown(entry, origin(entry)) {
            out.problems.push(problem);
            continue;
        }
        match meaning(entry, parts) {
            Meaning::Key(section, key, value) => {
                out.wishes.push((section, key, value, entry.line));
            }
            Meaning::Said => {}
            Meaning::NotNeeded(why) => out.notes.push(format!(
                "{}:{}: {}.{} is not needed: {why}",
                path.display(),
                entry.line,
                entry.section,
                entry.key
            )),
            Meaning::Refused(reason) => out.problems.push(ConfigProblem::Untranslatable {
                origin: origin(entry),
                key: format!("{}.{} = {}", entry.section, entry.key, entry.value),
                reason,
            }),
        }
    }
    out.notes.push(format!(
        "{}: TGL draws edges that did not happen from all vertices; `task.pool = \"all\"` does so, \
         the default draws from destinations",
        path.display()
    ));
    out.notes.push(format!(
        "{}: in TGL the memory of a question knows events of its own time in earlier batches; \
         `task.equal_times = \"batch\"` does so, the default does not",
        path.display()
    ));
    out
}

/// What a key of TGL's is to us.
enum Meaning {
    /// A key of ours.
    Key(&'static str, &'static str, Value),
    /// Part of what the model is, or what we do anyway.
    Said,
    /// Has no use here.
    NotNeeded(&'static str),
    /// Is not offered.
    Refused(String),
}

use Meaning::{Key, NotNeeded, Refused, Said};

fn meaning(entry: &Entry, parts: Parts<'_>) -> Meaning {
    match entry.section.as_str() {
        "sampling" => sampling(entry, parts),
        "memory" => memory(entry, parts),
        "gnn" => gnn(entry, parts),
        _ => train(entry, parts),
    }
}

fn refused(reason: &str) -> Meaning {
    Refused(reason.to_owned())
}

/// For a key of which we do only one value.
fn only(entry: &Entry, ours: &Value, reason: &str) -> Meaning {
    // 0 and 0.0 are the same duration.
    let number = |value: &Value| value.as_float().or(value.as_integer().map(|whole| whole as f64));
    let same =
        entry.value == *ours || (number(ours).is_some() && number(&entry.value) == number(ours));
    if same { Said } else { refused(reason) }
}

fn sampling(entry: &Entry, parts: Parts<'_>) -> Meaning {
    let value = entry.value.clone();
    let idle = "the model samples no neighbours";
    match entry.key.as_str() {
        "num_thread" => {
            NotNeeded("train.threads is for all of the work and does not change results")
        }
        "prop_time" => only(
            entry,
            &Value::Boolean(false),
            "neighbours of neighbours are asked at the time of their own event here",
        ),
        "history" => {
            only(entry, &Value::Integer(1), "that cuts the stream into snapshots; use dysat")
        }
        "duration" => {
            only(entry, &Value::Integer(0), "that cuts the stream into snapshots; use dysat")
        }
        "no_neg" if entry.value == Value::Boolean(false) || !parts.attends_to_neighbours() => Said,
        "no_neg" => refused("attention over neighbours needs those of negatives, too"),
        "no_sample" => match (entry.value.as_bool(), parts.samples()) {
            (Some(true), true) => refused("the model reads sampled neighbours"),
            (Some(_), _) => Said,
            (None, _) => refused("expected True or False"),
        },
        _ if !parts.samples() => NotNeeded(idle),
        "strategy" => Key("model", "sampling", value),
        "layer" => match (parts.attends_to_neighbours(), parts.value("gnn", "layer")) {
            (true, Some(layers)) if *layers != value => {
                refused("gnn.layer is another number, and each layer reads its own neighbours")
            }
            (true, _) => Key("model", "layers", value),
            (false, _) => only(entry, &Value::Integer(1), "mails are delivered one step far"),
        },
        _ => neighbours(entry, parts),
    }
}

/// A list with a number for each layer.
fn neighbours(entry: &Entry, parts: Parts<'_>) -> Meaning {
    let numbers = match &entry.value {
        Value::Array(numbers) => numbers.clone(),
        number => vec![number.clone()],
    };
    let layers = parts.value("sampling", "layer").and_then(Value::as_integer);
    if layers.is_some_and(|layers| layers != numbers.len() as i64) {
        return refused("expected one number for each of sampling.layer");
    }
    match numbers.split_first() {
        Some((first, others)) if others.iter().all(|other| other == first) => {
            Key("model", "neighbours", first.clone())
        }
        _ => refused("all layers sample the same number of neighbours here"),
    }
}

fn memory(entry: &Entry, parts: Parts<'_>) -> Meaning {
    let value = entry.value.clone();
    let text = entry.value.as_str();
    match (entry.key.as_str(), parts.has_memory()) {
        ("type", _) => match text {
            Some("node" | "none") => Said,
            _ => refused("expected 'node' or 'none'"),
        },
        ("dim_out", false) => only(entry, &Value::Integer(0), "there is no memory (memory.type)"),
        (_, false) => refused("there is no memory (memory.type)"),
        ("dim_out", true) => Key("model", "hidden", value),
        ("dim_time", true) => Key("model", "time_width", value),
        ("mail_combine", true) => Key("model", "combine", value),
        ("memory_update", true) => Key("model", "updater", value),
        ("mailbox_size", true) => Key("model", "mailbox", value),
        ("attention_head", true) if parts.attends_to_mails() => Key("model", "heads", value),
        ("attention_head", true) => refused("only memory_update: 'transformer' has heads"),
        ("deliver_to", true) => match (text, parts.attends_to_mails()) {
            (Some("self"), false) | (Some("neighbors"), true) => Said,
            (Some("self"), true) => {
                refused("attention over mails (apan) goes with delivery to neighbors")
            }
            (Some("neighbors"), false) => {
                refused("delivery to neighbors goes with memory_update: 'transformer' (apan)")
            }
            _ => refused("expected 'self' or 'neighbors'"),
        },
        // combine_node_feature
        _ => match (entry.value.as_bool(), parts.model()) {
            (Some(true), _) => Said,
            (Some(false), ModelName::Apan) => {
                NotNeeded("features of vertices join memory if the data has any")
            }
            _ => refused("features of vertices join memory if the data has any"),
        },
    }
}

fn gnn(entry: &Entry, parts: Parts<'_>) -> Meaning {
    let value = entry.value.clone();
    let differs = |key: &str, ours: &str| {
        let other = parts.value("memory", ours);
        let differs = parts.has_memory() && other.is_some_and(|other| *other != value);
        differs.then(|| Refused(format!("memory.{ours} is another number, and there is one {key}")))
    };
    match (entry.key.as_str(), parts.attends_to_neighbours()) {
        ("arch", true) if parts.attends_to_mails() => {
            refused("memory_update: 'transformer' goes with arch: 'identity' here")
        }
        ("arch", _) => match (entry.value.as_str(), parts.has_memory()) {
            (Some("transformer_attention"), _) | (Some("identity"), true) => Said,
            (Some("identity"), false) => refused("without memory there is nothing to pass on"),
            _ => refused("expected 'transformer_attention' or 'identity'"),
        },
        ("combine", _) => refused("that joins snapshots; use dysat"),
        ("time_transform", true) => refused("only arch: 'identity' projects memory in time"),
        ("time_transform", false) => {
            let expected = Value::String("JODIE".into());
            only(entry, &expected, "expected 'JODIE'")
        }
        (_, false) => NotNeeded("arch: 'identity' has no layer"),
        ("layer", true) => Key("model", "layers", value),
        ("att_head", true) => {
            differs("number of heads", "attention_head").unwrap_or(Key("model", "heads", value))
        }
        ("dim_time", true) => differs("width of time encodings", "dim_time").unwrap_or(Key(
            "model",
            "time_width",
            value,
        )),
        _ => differs("width of memory and embeddings", "dim_out")
            .unwrap_or(Key("model", "hidden", value)),
    }
}

fn train(entry: &Entry, parts: Parts<'_>) -> Meaning {
    let value = entry.value.clone();
    let drops = parts.attends_to_neighbours() || parts.attends_to_mails();
    match entry.key.as_str() {
        "epoch" => Key("train", "epochs", value),
        "batch_size" => Key("train", "batch_size", value),
        "reorder" => Key("train", "chunks", value),
        "lr" => Key("train", "lr", value),
        "all_on_gpu" => NotNeeded("data and memory are where the work is done (train.device)"),
        "dropout" | "att_dropout" if !drops => {
            NotNeeded("nothing attends, so there is nothing to drop")
        }
        "dropout" => Key("model", "dropout", value),
        // att_dropout
        _ => match parts.value("train", "dropout") {
            Some(dropout) if *dropout != value => {
                refused("train.dropout is another number, and there is one model.dropout")
            }
            _ => Key("model", "dropout", value),
        },
    }
}
