//! The edge-list writer: one event a line under a header.
//!
//! Columns: `src,dst,time` and, if the store has them, `weight`, `label`, `kind` and the
//! features by name or as `f0,f1,…`. Original identifiers are restored. Not held: vertices without
//! an event, constant features and labels of vertices.

use std::path::Path;

use hashbrown::HashSet;
use zoetrope_graph::EventStore;

use crate::error::DataError;
use crate::format::Format;
use crate::formats::text::rows::{Field, Rows, quote};
use crate::formats::text::times::{TimeFormat, TimeStyle};
use crate::progress::Progress;
use crate::sink::Sink;
use crate::source::bare_name;

/// What a caller may choose about an edge list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EdgeListStyle {
    /// The separator; a tab for `.tsv` and a comma otherwise if absent.
    pub delimiter: Option<u8>,
    /// How times are written.
    pub time: TimeStyle,
}

/// Writes an edge list, compressed if the name ends in `.gz`, `.zst` or `.xz`.
///
/// # Errors
/// [`DataError::Io`] if the disk is full or fails, [`DataError::CannotHold`] if a name has a
/// line break.
pub fn write(path: &Path, store: &EventStore, progress: &dyn Progress) -> Result<(), DataError> {
    write_styled(path, store, EdgeListStyle::default(), progress)
}

/// As [`write()`], in a chosen style.
///
/// # Errors
/// As [`write()`], and [`DataError::BadParameter`] if dates are asked for and the times do not
/// count from 1970.
pub fn write_styled(
    path: &Path,
    store: &EventStore,
    style: EdgeListStyle,
    progress: &dyn Progress,
) -> Result<(), DataError> {
    let by_suffix = if bare_name(path).ends_with(".tsv") { b'\t' } else { b',' };
    let delimiter = style.delimiter.unwrap_or(by_suffix);
    let time = TimeFormat::new(style.time, store.scale())?;
    // Two sides with identifiers of their own are users and items: readers number them apart.
    let mut names: Vec<&[u8]> = match store.names().second {
        Some(_) => vec![b"user_id", b"item_id", b"time"],
        None => vec![b"src", b"dst", b"time"],
    };
    let mut fields = vec![Field::SourceName, Field::DestinationName, Field::Time(time)];
    let optional: [(bool, &[u8], Field); 3] = [
        (store.weight().is_some(), b"weight", Field::Weight),
        (store.label().is_some(), b"label", Field::Label),
        (store.kind().is_some(), b"kind", Field::Kind),
    ];
    for (present, name, field) in optional {
        if present {
            names.push(name);
            fields.push(field);
        }
    }
    if store.feature_width() != 0 {
        fields.push(Field::Features);
    }
    let features = feature_names(store, &names);
    let rows = Rows::new(Format::EdgeList, store, delimiter, fields)?;
    let mut header = Vec::new();
    for (column, name) in
        names.iter().copied().chain(features.iter().map(Vec::as_slice)).enumerate()
    {
        if column != 0 {
            header.push(delimiter);
        }
        quote(name, delimiter, &mut header);
    }
    header.push(b'\n');
    let mut sink = Sink::create(path)?;
    sink.put(&header)?;
    rows.write(&mut sink, progress)?;
    sink.finish()
}

/// A name for each feature: its own, or `f0,f1,…` if it has none, has another's or breaks the
/// line.
pub(crate) fn feature_names(store: &EventStore, taken: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut taken: HashSet<Vec<u8>> = taken.iter().map(|name| name.to_vec()).collect();
    (0..store.feature_width())
        .map(|index| {
            let own = if index < store.feature_names.len() {
                store.feature_names.get(index).trim_ascii().to_vec()
            } else {
                Vec::new()
            };
            let usable = !own.is_empty()
                && !own.iter().any(u8::is_ascii_control)
                && std::str::from_utf8(&own).is_ok();
            let mut name = if usable { own } else { format!("f{index}").into_bytes() };
            while !taken.insert(name.clone()) {
                name = [b"f", index.to_string().as_bytes(), b"_", &name].concat();
            }
            name
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Quiet;
    use zoetrope_graph::events::EventColumns;
    use zoetrope_graph::{NameTable, TextTable, TimeScale, VertexNames};

    fn small() -> EventStore {
        let columns = EventColumns {
            weight: Some(vec![1.0, 0.1, -2.5].into()),
            kind: Some(vec![0, 1, 0].into()),
            features: Some(vec![1.0, 1e-9, f32::NAN, -0.0, 3.0, 4.0].into()),
            feature_width: 2,
            ..EventColumns::default()
        };
        let names: TextTable = ["a,b", "c", "d \"e\""].into_iter().collect();
        let names = VertexNames { first: NameTable::Text(names), second: None };
        EventStore::new(
            vec![0, 1, 2],
            vec![1, 2, 0],
            vec![0, 60, 1_388_507_958],
            columns,
            TimeScale::UNIX_SECONDS,
            names,
        )
        .unwrap()
    }

    #[test]
    fn an_edge_list_has_a_header_and_original_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        write(&path, &small(), &Quiet).unwrap();
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "src,dst,time,weight,kind,f0,f1\n\
             \"a,b\",c,0,1,add,1,1e-9\n\
             c,\"d \"\"e\"\"\",60,0.1,remove,nan,-0.0\n\
             \"d \"\"e\"\"\",\"a,b\",1388507958,-2.5,add,3,4\n"
        );
    }

    #[test]
    fn a_tsv_name_gives_tabs_and_dates_are_written_when_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tsv");
        let style = EdgeListStyle { time: TimeStyle::Iso, ..EdgeListStyle::default() };
        write_styled(&path, &small(), style, &Quiet).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let last = text.lines().last().unwrap();
        assert_eq!(last, "\"d \"\"e\"\"\"\ta,b\t2013-12-31T16:39:18Z\t-2.5\tadd\t3\t4");
    }

    #[test]
    fn a_name_with_a_line_break_is_refused_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let names: TextTable = ["a\nb", "c"].into_iter().collect();
        let names = VertexNames { first: NameTable::Text(names), second: None };
        let store = EventStore::new(
            vec![0],
            vec![1],
            vec![0],
            EventColumns::default(),
            TimeScale::STEPS,
            names,
        )
        .unwrap();
        let error = write(&folder.path().join("a.csv"), &store, &Quiet).unwrap_err();
        assert!(error.to_string().contains("line breaks"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_text_does_not_depend_on_the_number_of_threads() {
        let events = 100_000u32;
        let store = EventStore::new(
            (0..events).map(|event| event % 97).collect(),
            (0..events).map(|event| event % 89).collect(),
            (0..i64::from(events)).collect(),
            EventColumns::default(),
            TimeScale::SECONDS,
            VertexNames::identity(97),
        )
        .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut texts = Vec::new();
        for threads in [1, 2, 8] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let path = folder.path().join(format!("{threads}.csv"));
            pool.install(|| write(&path, &store, &Quiet)).unwrap();
            texts.push(std::fs::read(&path).unwrap());
        }
        assert!(texts[0] == texts[1] && texts[0] == texts[2]);
        assert_eq!(texts[0].iter().filter(|&&byte| byte == b'\n').count(), events as usize + 1);
    }

    #[test]
    fn features_that_share_a_name_are_told_apart() {
        let mut store = small();
        store.feature_names = ["time", "time"].into_iter().collect();
        let names = feature_names(&store, &[b"src", b"time"]);
        assert_eq!(names, [b"f0_time".to_vec(), b"f1_time".to_vec()]);
    }
}
