//! Columns as a Parquet file.

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{
    Compression, LogicalType, Repetition, TimeUnit, TimestampType, Type, ZstdLevel,
};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type as SchemaType, TypePtr};
use zoetrope_graph::TimeUnit as Tick;

use super::columns::{Column, Values};
use crate::error::DataError;
use crate::sink::Sink;

/// Rows of a group, which is held in memory while it is written.
const GROUP_ROWS: usize = 1 << 20;

/// Writes `rows` rows.
pub(super) fn write(path: &Path, columns: &[Column], rows: usize) -> Result<(), DataError> {
    let fail = |error: ParquetError| DataError::io(path, std::io::Error::other(error));
    let fields = columns.iter().map(schema).collect::<Result<Vec<_>, _>>().map_err(fail)?;
    let schema = SchemaType::group_type_builder("rows").with_fields(fields).build();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).map_err(fail)?))
        .build();
    let sink = Sink::create_plain(path)?;
    let schema = Arc::new(schema.map_err(fail)?);
    let mut writer = SerializedFileWriter::new(sink, schema, Arc::new(properties)).map_err(fail)?;
    for start in (0..rows).step_by(GROUP_ROWS) {
        let end = rows.min(start + GROUP_ROWS);
        let mut group = writer.next_row_group().map_err(fail)?;
        for column in columns {
            write_column(&mut group, &column.values, start..end).map_err(fail)?;
        }
        group.close().map_err(fail)?;
    }
    writer.into_inner().map_err(fail)?.finish()
}

/// Ticks of a Parquet timestamp for one of ours: it knows no seconds.
fn timestamp_unit(tick: Tick) -> (TimeUnit, i64) {
    match tick {
        Tick::Second => (TimeUnit::MILLIS, 1000),
        Tick::Microsecond => (TimeUnit::MICROS, 1),
        Tick::Nanosecond => (TimeUnit::NANOS, 1),
        Tick::Millisecond | Tick::Step => (TimeUnit::MILLIS, 1),
    }
}

fn schema(column: &Column) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match &column.values {
        Values::Names { .. } => (Type::BYTE_ARRAY, Some(LogicalType::String)),
        Values::Whole(_) => (Type::INT64, None),
        Values::Dates { scale, .. } => {
            let (unit, _) = timestamp_unit(scale.unit);
            let stamp = TimestampType { is_adjusted_to_u_t_c: true, unit };
            (Type::INT64, Some(LogicalType::Timestamp(stamp)))
        }
        Values::Decimals { .. } => (Type::DOUBLE, None),
        Values::Numbers(_) => (Type::FLOAT, None),
    };
    let gaps = column.values.lacks_names();
    let repetition = if gaps { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    SchemaType::primitive_type_builder(&column.name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build()
        .map(Arc::new)
}

fn write_column<W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &Values,
    range: std::ops::Range<usize>,
) -> Result<(), ParquetError> {
    match values {
        Values::Names { names, rows } => {
            let names: Vec<ByteArray> =
                names.iter().map(|name| ByteArray::from(name.as_bytes().to_vec())).collect();
            let known = |row: &&u32| **row != Values::NO_NAME;
            let texts: Vec<ByteArray> = rows[range.clone()]
                .iter()
                .filter(known)
                .map(|&row| names[row as usize].clone())
                .collect();
            let levels: Vec<i16> = rows[range].iter().map(|row| i16::from(known(&row))).collect();
            put::<ByteArrayType, W>(group, &texts, values.lacks_names().then_some(&levels))
        }
        Values::Whole(values) => put::<Int64Type, W>(group, &values[range], None),
        Values::Dates { ticks, scale } => {
            let (_, factor) = timestamp_unit(scale.unit);
            let stamps: Vec<i64> =
                ticks[range].iter().map(|tick| tick.saturating_mul(factor)).collect();
            put::<Int64Type, W>(group, &stamps, None)
        }
        Values::Decimals { ticks, digits } => {
            let one = 10f64.powi(i32::from(*digits));
            let times: Vec<f64> = ticks[range].iter().map(|&ticks| ticks as f64 / one).collect();
            put::<DoubleType, W>(group, &times, None)
        }
        Values::Numbers(values) => put::<FloatType, W>(group, &values[range], None),
    }
}

/// Writes the next column of a row group; `levels` says 0 for each row without a value, if there are
/// such.
fn put<T: DataType, W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<&Vec<i16>>,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("the schema has fewer columns than the data".into()));
    };
    column.typed::<T>().write_batch(values, levels.map(Vec::as_slice), None)?;
    column.close()
}
