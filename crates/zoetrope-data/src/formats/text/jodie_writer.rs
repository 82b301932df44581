//! The JODIE writer: `user_id,item_id,timestamp,state_label,comma_separated_list_of_features`.
//!
//! For bipartite data: sources are users, destinations are items, each numbered on its own.
//! Times are seconds (steps as they are), with decimals if the unit is finer; the label is 0
//! if events have none.

use std::path::Path;

use zoetrope_graph::EventStore;

use crate::error::DataError;
use crate::format::Format;
use crate::formats::text::rows::{Field, Rows};
use crate::formats::text::times::{TimeFormat, TimeStyle};
use crate::progress::Progress;
use crate::sink::Sink;

/// Writes a JODIE table, compressed if the name ends in `.gz`, `.zst` or `.xz`.
///
/// # Errors
/// [`DataError::CannotHold`] if the data is not bipartite, has weights or has removals;
/// [`DataError::Io`] if the disk is full or fails.
pub fn write(path: &Path, store: &EventStore, progress: &dyn Progress) -> Result<(), DataError> {
    check(store)?;
    let time = TimeFormat::new(TimeStyle::Seconds, store.scale())?;
    let mut fields =
        vec![Field::SourceName, Field::DestinationName, Field::Time(time), Field::Label];
    if store.feature_width() != 0 {
        fields.push(Field::Features);
    }
    let rows = Rows::new(Format::JodieCsv, store, b',', fields)?;
    let mut sink = Sink::create(path)?;
    // The reference files name all features with one header field, however many follow.
    sink.put(b"user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n")?;
    rows.write(&mut sink, progress)?;
    sink.finish()
}

fn check(store: &EventStore) -> Result<(), DataError> {
    let refuse =
        |what, advice| Err(DataError::CannotHold { format: Format::JodieCsv, what, advice });
    if !is_bipartite(store) {
        return refuse(
            "a vertex that is both source and destination",
            "it holds bipartite data only; write edge-list or parquet",
        );
    }
    if store.weight().is_some() {
        return refuse("weights", "write edge-list or parquet");
    }
    if store.kind().is_some_and(|kind| kind.iter().any(|&kind| kind != 0)) {
        return refuse("removals", "write edge-list or parquet");
    }
    Ok(())
}

/// Whether no vertex is both a source and a destination.
pub(crate) fn is_bipartite(store: &EventStore) -> bool {
    if store.names().second.is_some() {
        return true;
    }
    let mut is_source = vec![false; store.vertices() as usize];
    for &vertex in store.src() {
        is_source[vertex as usize] = true;
    }
    !store.dst().iter().any(|&vertex| is_source[vertex as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Quiet;
    use zoetrope_graph::events::EventColumns;
    use zoetrope_graph::{NameTable, TimeScale, TimeUnit, VertexNames};

    fn store(src: Vec<u32>, dst: Vec<u32>, names: VertexNames) -> EventStore {
        let events = src.len();
        let columns = EventColumns {
            features: Some(
                (0..2 * events).map(|value| value as f32 / 4.0).collect::<Vec<_>>().into(),
            ),
            feature_width: 2,
            ..EventColumns::default()
        };
        let time = (0..events as i64).map(|event| event * 1_500).collect();
        let scale = TimeScale { unit: TimeUnit::Millisecond, unix: false };
        EventStore::new(src, dst, time, columns, scale, names).unwrap()
    }

    #[test]
    fn users_and_items_keep_their_own_numbers() {
        let names =
            VertexNames { first: NameTable::Identity(2), second: Some(NameTable::Identity(1)) };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        write(&path, &store(vec![0, 1], vec![2, 2], names), &Quiet).unwrap();
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n\
             0,0,0.000,0,0,0.25\n1,0,1.500,0,0.5,0.75\n"
        );
    }

    #[test]
    fn data_that_is_not_bipartite_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let cyclic = store(vec![0, 1], vec![1, 0], VertexNames::identity(2));
        let error = write(&path, &cyclic, &Quiet).unwrap_err();
        assert!(error.to_string().starts_with("jodie-csv cannot hold"), "{error}");
        assert!(!path.exists());
        let acyclic = store(vec![0, 0], vec![1, 1], VertexNames::identity(2));
        write(&path, &acyclic, &Quiet).unwrap();
    }
}
