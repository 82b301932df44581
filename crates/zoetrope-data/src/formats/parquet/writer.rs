//! The Parquet writer.
//!
//! Columns: `src`, `dst`, `time` and, if the store has them, `weight`, `label`, `kind` (`add`
//! or `remove`) and one column per feature, by name or as `f0`, `f1`, … Original identifiers are
//! restored, as 64-bit integers or text. Unix times finer than seconds carry the timestamp type;
//! other times are plain integers. What Parquet has no words for stands in a note under the key
//! `zoetrope`, so that our own files read back as the same store. Zstandard compression.
//!
//! Not held: constant features and labels of vertices.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{
    Compression, Encoding, LogicalType, Repetition, TimeUnit as ParquetUnit, TimestampType, Type,
    ZstdLevel,
};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, FloatType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type as SchemaType, TypePtr};
use zoetrope_graph::{EventStore, NameTable, TimeUnit, VertexId};

use crate::error::DataError;
use crate::format::Format;
use crate::formats::parquet::footer::{NOTE_KEY, Note};
use crate::formats::text::edge_list_writer::feature_names;
use crate::progress::Progress;
use crate::sink::Sink;

/// Rows in a row group: the unit of parallel reading.
const GROUP_ROWS: usize = 256 << 10;

/// Writes a Parquet file.
///
/// # Errors
/// [`DataError::Io`] if the disk is full or fails, [`DataError::CannotHold`] if the two sides
/// of bipartite data are mixed.
pub fn write(path: &Path, store: &EventStore, progress: &dyn Progress) -> Result<(), DataError> {
    check_sides(store)?;
    progress.begin("writing", Some(store.len() as u64));
    let fail = |error: ParquetError| match error {
        ParquetError::External(source) => DataError::io(path, std::io::Error::other(source)),
        other => DataError::io(path, std::io::Error::other(other)),
    };
    let columns = columns(store);
    let schema = schema(store, &columns).map_err(fail)?;
    let properties = properties(store, &columns).map_err(fail)?;
    let sink = Sink::create_plain(path)?;
    let mut writer = SerializedFileWriter::new(sink, schema, Arc::new(properties)).map_err(fail)?;
    for start in (0..store.len()).step_by(GROUP_ROWS) {
        let rows = start..store.len().min(start + GROUP_ROWS);
        let mut group = writer.next_row_group().map_err(fail)?;
        for column in &columns {
            write_column(&mut group, store, column, rows.clone()).map_err(fail)?;
        }
        group.close().map_err(fail)?;
        progress.advance(rows.len() as u64);
    }
    writer.into_inner().map_err(fail)?.finish()
}

/// A column of the file and what it holds.
struct Column {
    name: String,
    holds: Holds,
}

enum Holds {
    /// The names of the vertices in a column of the store.
    Names(Side),
    Time(Option<ParquetUnit>),
    Weight,
    Label,
    TextLabel,
    Kind,
    Feature(usize),
}

#[derive(Clone, Copy)]
enum Side {
    Source,
    Destination,
}

fn columns(store: &EventStore) -> Vec<Column> {
    let stamp = match (store.scale().unix, store.scale().unit) {
        (true, TimeUnit::Millisecond) => Some(ParquetUnit::MILLIS),
        (true, TimeUnit::Microsecond) => Some(ParquetUnit::MICROS),
        (true, TimeUnit::Nanosecond) => Some(ParquetUnit::NANOS),
        // Parquet has no timestamp in seconds.
        _ => None,
    };
    let label = if store.label_names.is_empty() { Holds::Label } else { Holds::TextLabel };
    let fixed = [
        (true, "src", Holds::Names(Side::Source)),
        (true, "dst", Holds::Names(Side::Destination)),
        (true, "time", Holds::Time(stamp)),
        (store.weight().is_some(), "weight", Holds::Weight),
        (store.label().is_some(), "label", label),
        (store.kind().is_some(), "kind", Holds::Kind),
    ];
    let mut columns: Vec<Column> = fixed
        .into_iter()
        .filter(|(present, ..)| *present)
        .map(|(_, name, holds)| Column { name: name.into(), holds })
        .collect();
    let taken: Vec<&[u8]> =
        ["src", "dst", "time", "weight", "label", "kind"].map(str::as_bytes).to_vec();
    let features = feature_names(store, &taken).into_iter().enumerate();
    columns.extend(features.map(|(index, name)| Column {
        name: String::from_utf8_lossy(&name).into_owned(),
        holds: Holds::Feature(index),
    }));
    columns
}

fn names_of(store: &EventStore, side: Side) -> (&NameTable, VertexId) {
    let names = store.names();
    match (side, &names.second) {
        (Side::Destination, Some(second)) => (second, names.first.len() as VertexId),
        _ => (&names.first, 0),
    }
}

/// If the two sides have names of their own, every event must lead from the first to the
/// second.
fn check_sides(store: &EventStore) -> Result<(), DataError> {
    let Some(_) = &store.names().second else { return Ok(()) };
    let boundary = store.names().first.len() as VertexId;
    let crosses = |(&src, &dst): (&VertexId, &VertexId)| src < boundary && dst >= boundary;
    if store.src().iter().zip(store.dst()).all(crosses) {
        Ok(())
    } else {
        Err(DataError::CannotHold {
            format: Format::Parquet,
            what: "two-sided data with an event inside one side",
            advice: "write the store format",
        })
    }
}

fn schema(store: &EventStore, columns: &[Column]) -> Result<TypePtr, ParquetError> {
    let fields: Result<Vec<TypePtr>, ParquetError> =
        columns.iter().map(|column| field(store, column).map(Arc::new)).collect();
    Ok(Arc::new(SchemaType::group_type_builder("events").with_fields(fields?).build()?))
}

fn field(store: &EventStore, column: &Column) -> Result<SchemaType, ParquetError> {
    let is_text = |side| matches!(names_of(store, side).0, NameTable::Text(_));
    let (physical, logical) = match column.holds {
        Holds::Names(side) if is_text(side) => (Type::BYTE_ARRAY, Some(LogicalType::String)),
        Holds::Names(_) => (Type::INT64, None),
        Holds::Time(unit) => (
            Type::INT64,
            unit.map(|unit| {
                LogicalType::Timestamp(TimestampType { is_adjusted_to_u_t_c: true, unit })
            }),
        ),
        Holds::TextLabel | Holds::Kind => (Type::BYTE_ARRAY, Some(LogicalType::String)),
        Holds::Weight | Holds::Label | Holds::Feature(_) => (Type::FLOAT, None),
    };
    // A text label may be absent; NaN stands for that among numbers.
    let repetition = match column.holds {
        Holds::TextLabel => Repetition::OPTIONAL,
        _ => Repetition::REQUIRED,
    };
    SchemaType::primitive_type_builder(&column.name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build()
}

fn properties(store: &EventStore, columns: &[Column]) -> Result<WriterProperties, ParquetError> {
    let names = store.names();
    let identity = |table: &NameTable| match table {
        NameTable::Identity(count) => Some(*count),
        _ => None,
    };
    let identity = match &names.second {
        None => identity(&names.first).map(|first| (first, None)),
        Some(second) => identity(&names.first).zip(identity(second)).map(|(a, b)| (a, Some(b))),
    };
    let note = Note {
        version: 1,
        scale: store.scale(),
        bipartite: names.second.is_some(),
        identity,
        named_features: !store.feature_names.is_empty(),
    };
    let note =
        serde_json::to_string(&note).map_err(|error| ParquetError::External(Box::new(error)))?;
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_created_by(concat!("zoetrope ", env!("CARGO_PKG_VERSION")).into())
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_key_value_metadata(Some(vec![KeyValue::new(NOTE_KEY.into(), note)]));
    for column in columns {
        // Times and measured values hardly repeat: a dictionary of them only costs.
        if matches!(column.holds, Holds::Time(_) | Holds::Weight | Holds::Feature(_)) {
            let path = ColumnPath::new(vec![column.name.clone()]);
            properties = properties.set_column_dictionary_enabled(path.clone(), false);
            if matches!(column.holds, Holds::Time(_)) {
                properties = properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
            }
        }
    }
    Ok(properties.build())
}

fn write_column<W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    store: &EventStore,
    column: &Column,
    rows: Range<usize>,
) -> Result<(), ParquetError> {
    match column.holds {
        Holds::Names(side) => {
            let vertices = match side {
                Side::Source => &store.src()[rows],
                Side::Destination => &store.dst()[rows],
            };
            write_names(group, names_of(store, side), vertices)
        }
        Holds::Time(_) => put::<Int64Type, W>(group, &store.time()[rows], None),
        Holds::Weight => {
            put::<FloatType, W>(group, &store.weight().unwrap_or_default()[rows], None)
        }
        Holds::Label => put::<FloatType, W>(group, &store.label().unwrap_or_default()[rows], None),
        Holds::TextLabel => {
            let names: Vec<ByteArray> = store.label_names.iter().map(byte_array).collect();
            let labels = &store.label().unwrap_or_default()[rows];
            let name = |label: &f32| names.get(*label as usize).filter(|_| *label >= 0.0);
            let levels: Vec<i16> =
                labels.iter().map(|label| i16::from(name(label).is_some())).collect();
            let texts: Vec<ByteArray> = labels.iter().filter_map(name).cloned().collect();
            put::<ByteArrayType, W>(group, &texts, Some(&levels))
        }
        Holds::Kind => {
            let names = [byte_array(b"add"), byte_array(b"remove")];
            let kinds = &store.kind().unwrap_or_default()[rows];
            let texts: Vec<ByteArray> =
                kinds.iter().map(|&kind| names[usize::from(kind != 0)].clone()).collect();
            put::<ByteArrayType, W>(group, &texts, None)
        }
        Holds::Feature(index) => {
            let width = store.feature_width();
            let features = store.features().unwrap_or_default();
            let values: Vec<f32> = rows.map(|row| features[row * width + index]).collect();
            put::<FloatType, W>(group, &values, None)
        }
    }
}

fn write_names<W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    (names, shift): (&NameTable, VertexId),
    vertices: &[VertexId],
) -> Result<(), ParquetError> {
    match names {
        NameTable::Text(names) => {
            let texts: Vec<ByteArray> = vertices
                .iter()
                .map(|vertex| byte_array(names.get((vertex - shift) as usize)))
                .collect();
            put::<ByteArrayType, W>(group, &texts, None)
        }
        NameTable::Integers(names) => {
            let ids: Vec<i64> =
                vertices.iter().map(|vertex| names[(vertex - shift) as usize]).collect();
            put::<Int64Type, W>(group, &ids, None)
        }
        NameTable::Identity(_) => {
            let ids: Vec<i64> = vertices.iter().map(|vertex| i64::from(vertex - shift)).collect();
            put::<Int64Type, W>(group, &ids, None)
        }
    }
}

fn byte_array(text: &[u8]) -> ByteArray {
    ByteArray::from(text.to_vec())
}

/// Writes the next column of a row group.
fn put<T: DataType, W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("the schema has fewer columns than the data".into()));
    };
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}
