//! One door to every data set: a path or a `synthetic:` name in, a graph out.

use std::path::{Path, PathBuf};

use crate::dataset::Loaded;
use crate::error::{DataError, Location};
use crate::facts::facts_file;
use crate::format::Format;
use crate::formats::snapshot_folder::order::stem;
use crate::formats::{
    edge_list, jodie, ml_triple, npz, parquet, pygt_json, snapshot_folder, store, tgl, traffic,
};
use crate::given::{is_read_once, path_of};
use crate::options::{NO_FEATURES, ReadOptions};
use crate::parts::DatasetPart;
use crate::progress::Progress;
use crate::regular_file;
use crate::source::{Source, bare_name, is_table};
use crate::spool::Spool;
use crate::synthetic;

/// How a format is recognised and read. `recognises` sees the path and the first uncompressed
/// bytes (none for a folder) and tells why it fits.
struct Reader {
    format: Format,
    recognises: fn(&Path, &[u8]) -> Option<String>,
    read: fn(&Path, &ReadOptions, &dyn Progress) -> Result<Loaded, DataError>,
}

/// In the order in which they are asked: formats with a signature first, free text last.
const READERS: &[Reader] = &[
    Reader { format: Format::Store, recognises: store::recognises, read: store::read },
    Reader { format: Format::Npz, recognises: npz::recognises, read: npz::read },
    Reader { format: Format::Parquet, recognises: parquet::recognises, read: parquet::read },
    Reader { format: Format::PygtJson, recognises: pygt_json::recognises, read: pygt_json::read },
    Reader {
        format: Format::SnapshotFolder,
        recognises: snapshot_folder::recognises,
        read: snapshot_folder::read,
    },
    Reader { format: Format::Tgl, recognises: tgl::recognises, read: tgl::read },
    Reader { format: Format::MlTriple, recognises: ml_triple::recognises, read: ml_triple::read },
    Reader { format: Format::Traffic, recognises: traffic::recognises, read: traffic::read },
    Reader { format: Format::JodieCsv, recognises: jodie::recognises, read: jodie::read },
    Reader { format: Format::EdgeList, recognises: edge_list::recognises, read: edge_list::read },
];

/// How many bytes recognisers see.
const HEAD_BYTES: usize = 64 << 10;

/// Opens a data set: a file, a folder, `-` for standard input, a pipe, or `synthetic:NAME?k=v&…`.
///
/// # Errors
/// If the path does not exist, no format fits, or the content is wrong.
pub fn open(
    name: &str,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Loaded, DataError> {
    if let Some(path) = facts_file(name) {
        return Err(DataError::Unsupported {
            at: Location::file(path),
            what: "facts of a graph, of which only sizes are known,".to_owned(),
            advice: "simulate with them: `zoetrope sim --data facts:FILE`".to_owned(),
        });
    }
    if synthetic::is_synthetic(name) {
        refuse_columns(Path::new(name), Format::Synthetic, options)?;
        return synthetic::generate(name, progress);
    }
    let path = path_of(name);
    if is_read_once(name) {
        let spool = Spool::read(name, &options.limits, progress)?;
        let read = open_path(spool.path(), options, progress);
        let mut loaded = read.map_err(|error| spool.rename(error, name))?;
        // The file is about to go: the data is known by its contents.
        loaded.notes.files.clear();
        loaded.notes.piped = Some(spool.piped());
        return Ok(loaded);
    }
    open_path(&path, options, progress)
}

fn open_path(
    path: &Path,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Loaded, DataError> {
    let kind = std::fs::metadata(path).map_err(|error| DataError::io(path, error))?;
    if !kind.is_file() && !kind.is_dir() {
        return Err(DataError::invalid(
            Location::file(path),
            "a file or a folder",
            "a device or socket",
        ));
    }
    progress.begin("reading", kind.is_file().then_some(kind.len()));
    let (reader, path, reason, warning) = match options.format {
        Some(format) => (reader_of(format), path.to_owned(), None, None),
        None => detect(path, kind.is_dir(), options)?,
    };
    refuse_columns(&path, reader.format, options)?;
    let mut loaded = (reader.read)(&path, options, progress)?;
    if options.columns.flags().contains(&NO_FEATURES)
        && DatasetPart::EventFeatures.is_in(&loaded.dataset)
    {
        let wrong = |source| DataError::Graph { path: path.clone(), source };
        loaded.dataset = DatasetPart::EventFeatures.left_out(loaded.dataset).map_err(wrong)?;
    }
    let asked = || format!("--format {}", reader.format);
    let why = reason.unwrap_or_else(asked);
    let details = std::mem::take(&mut loaded.notes.reason);
    loaded.notes.reason =
        if details.is_empty() || details == why { why } else { format!("{why}; {details}") };
    loaded.notes.warnings.extend(warning);
    Ok(loaded)
}

/// Fails if the user names columns of a format whose parts are fixed.
fn refuse_columns(path: &Path, format: Format, options: &ReadOptions) -> Result<(), DataError> {
    let flags = options.columns.flags();
    let (refused, holds): (Vec<&str>, &str) = match format {
        Format::EdgeList | Format::JodieCsv | Format::Parquet | Format::SnapshotFolder => {
            return Ok(());
        }
        // A list of edges beside the table of sensors has columns.
        Format::Traffic => {
            let list = ["--src", "--dst", "--weight", "--no-weight"];
            (flags.into_iter().filter(|flag| !list.contains(flag)).collect(), "sensors")
        }
        Format::Store | Format::Tgl | Format::MlTriple => {
            (flags.into_iter().filter(|flag| *flag != NO_FEATURES).collect(), "events")
        }
        Format::Npz | Format::PygtJson | Format::Synthetic => (flags, "arrays of fixed meaning"),
    };
    if refused.is_empty() {
        Ok(())
    } else {
        Err(DataError::Unsupported {
            at: Location::file(path),
            what: format!("{} with the format {format}", refused.join(" ")),
            advice: format!(
                "it holds {holds}, not columns to choose from: leave these flags (keys of [data] in a \
                 configuration) out"
            ),
        })
    }
}

fn reader_of(format: Format) -> &'static Reader {
    READERS.iter().find(|reader| reader.format == format).expect("every format has a reader")
}

type Detected = (&'static Reader, PathBuf, Option<String>, Option<String>);

fn detect(path: &Path, is_folder: bool, options: &ReadOptions) -> Result<Detected, DataError> {
    let head = if is_folder { Vec::new() } else { read_head(path, options)? };
    if let Some((reader, reason)) = ask(path, &head) {
        if reader.format == Format::EdgeList {
            traffic::refuse_matrix(path, options)?;
        }
        return Ok((reader, path.to_owned(), Some(reason), None));
    }
    if is_folder { search_folder(path, options) } else { Err(unrecognised(path, &head)) }
}

fn ask(path: &Path, head: &[u8]) -> Option<(&'static Reader, String)> {
    READERS.iter().find_map(|reader| Some((reader, (reader.recognises)(path, head)?)))
}

fn read_head(path: &Path, options: &ReadOptions) -> Result<Vec<u8>, DataError> {
    let mut source = Source::open(path, &options.limits, &crate::progress::Quiet)?;
    let mut head = vec![0; HEAD_BYTES];
    let filled = source.fill(&mut head)?;
    head.truncate(filled);
    Ok(head)
}

/// A folder that is no format of its own may hold one data file among others: the first, by
/// name, that holds timed events or snapshots.
fn search_folder(folder: &Path, options: &ReadOptions) -> Result<Detected, DataError> {
    let mut files = Vec::new();
    let entries = std::fs::read_dir(folder).map_err(|error| DataError::io(folder, error))?;
    for entry in entries.take(options.limits.members) {
        let path = entry.map_err(|error| DataError::io(folder, error))?.path();
        if path.extension().is_some() && !bare_name(&path).starts_with('.') {
            regular_file::refuse_special(&path)?;
        }
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    let mut found: Vec<(&'static Reader, PathBuf, String)> = Vec::new();
    let (mut uncertain, mut unread) = (Vec::new(), Vec::new());
    for path in files {
        let Ok(head) = read_head(&path, options) else { continue };
        traffic::refuse_matrix(&path, options)?;
        let asked = ask(&path, &head);
        let timed = asked.as_ref().map(|(reader, _)| match reader.format {
            Format::EdgeList => edge_list::has_timed_edges(&path, &head),
            _ => Some(true),
        });
        match (asked, timed) {
            (Some((reader, reason)), Some(Some(true))) => found.push((reader, path, reason)),
            (Some((reader, reason)), Some(None)) => uncertain.push((reader, path, reason)),
            _ if is_table(&path) => unread.push(shown(&path)),
            _ => {}
        }
    }
    // What it is uncertain about is asked about if there is nothing else to read.
    if found.is_empty() {
        found = uncertain;
    } else {
        unread.extend(uncertain.iter().map(|(_, path, _)| shown(path)));
    }
    let alike = |pair: &[(&'static Reader, PathBuf, String)]| stem(&pair[0].1) == stem(&pair[1].1);
    if found.len() > 1 && found.windows(2).all(alike) {
        // One of them would be a part of the data passed off as all of it.
        return Err(DataError::Unsupported {
            at: Location::file(folder),
            what: format!("a folder of {} tables of events with alike names", found.len()),
            advice: "join them into one file, or name one of them".into(),
        });
    }
    let others: Vec<String> = found.iter().skip(1).map(|(_, path, _)| shown(path)).collect();
    let Some((reader, path, reason)) = found.into_iter().next() else {
        let reasons = vec!["no file in this folder holds timed events or snapshots".into()];
        return Err(DataError::Unrecognised { path: folder.to_owned(), reasons });
    };
    let name = shown(&path);
    let warning = match (others.is_empty(), unread.is_empty()) {
        (false, _) => Some(format!(
            "read {name}; {} could be read too: name the file to choose it",
            others.join(", ")
        )),
        (true, false) => Some(format!("read {name}; not read: {}", unread.join(", "))),
        (true, true) => None,
    };
    let reason = format!("{name} in the folder: {reason}");
    Ok((reader, path, Some(reason), warning))
}

fn shown(path: &Path) -> String {
    crate::error::shorten(&path.file_name().unwrap_or_default().to_string_lossy())
}

fn unrecognised(path: &Path, head: &[u8]) -> DataError {
    let seen = match head {
        [] => "the file is empty".to_owned(),
        head if head.contains(&0) => {
            let first: Vec<String> =
                head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            format!("binary content that starts with {}", first.join(" "))
        }
        head if matches!(head.trim_ascii_start().first(), Some(b'{' | b'[')) => {
            "JSON, but not an object with the keys of a PyG-Temporal data set".to_owned()
        }
        _ => "the rows do not split into equal columns".to_owned(),
    };
    DataError::Unrecognised { path: path.to_owned(), reasons: vec![seen] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::options::ColumnRef;
    use crate::progress::Quiet;

    #[test]
    fn columns_are_refused_where_the_format_has_none_to_choose_from() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let csv = file("a.csv");
        std::fs::write(&csv, "src,dst,time,x\n1,2,3,0.5\n2,3,4,1.5\n").unwrap();
        let mut options = ReadOptions::default();
        let loaded = open(&csv, &options, &Quiet).unwrap();
        let Dataset::Events(store) = &loaded.dataset else { panic!("events") };
        store::write(Path::new(&file("a.zoe")), store, &Quiet).unwrap();
        options.columns.features = Some(Vec::new());
        for name in [&csv, &file("a.zoe")] {
            let loaded = open(name, &options, &Quiet).unwrap();
            let Dataset::Events(store) = &loaded.dataset else { panic!("events") };
            assert_eq!(store.feature_width(), 0, "{name}");
        }
        options.columns.src = Some(ColumnRef::Name("dst".into()));
        for name in [&file("a.zoe"), "synthetic:demo?vertices=10&steps=5"] {
            let text = open(name, &options, &Quiet).unwrap_err().to_string();
            assert!(text.contains("--src"), "{text}");
        }
    }

    #[test]
    fn tables_that_are_not_read_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("events.csv", "src,dst,time\na,b,3\nb,c,4\n");
        write("people.csv", "name,age\na,30\nb,40\n");
        let name = folder.path().to_str().unwrap();
        let loaded = open(name, &ReadOptions::default(), &Quiet).unwrap();
        let said = loaded.notes.warnings.iter().any(|note| note.contains("not read: people.csv"));
        assert!(said, "{:?}", loaded.notes.warnings);
    }
}
