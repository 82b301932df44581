//! Files of computed numbers for other programs: arrays as `.npy`, vertices as `.parquet`.
//!
//! Owns what `predict` and `embed` write. Whole or not at all, like every file of ours.

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, FloatType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type as SchemaType;
use zoetrope_graph::VertexNames;

use crate::error::DataError;
use crate::npy::write_npy;
use crate::sink::Sink;

/// Writes an array of f32 as a NumPy file.
///
/// # Errors
/// [`DataError::Io`] where the disk is full or fails.
///
/// # Panics
/// Where `values` does not have as many elements as `shape` says.
pub fn write_array(path: &Path, shape: &[usize], values: &[f32]) -> Result<(), DataError> {
    let mut sink = Sink::create_plain(path)?;
    write_npy(&mut sink, shape, values).map_err(|error| DataError::io(path, error))?;
    sink.finish()
}

/// Writes one row a vertex: its original name in column `vertex`, its numbers in `e0`, `e1`, …
///
/// # Errors
/// [`DataError::Io`] where the disk is full or fails.
///
/// # Panics
/// Where there are not `width` values for each vertex.
pub fn write_vertices(
    path: &Path,
    names: &VertexNames,
    width: usize,
    values: &[f32],
) -> Result<(), DataError> {
    let vertices = names.len();
    assert_eq!(values.len(), vertices * width, "{width} numbers for each vertex");
    let fail = |error: ParquetError| DataError::io(path, std::io::Error::other(error));
    let schema = schema(width).map_err(fail)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).map_err(fail)?))
        .build();
    let sink = Sink::create_plain(path)?;
    let mut writer =
        SerializedFileWriter::new(sink, Arc::new(schema), Arc::new(properties)).map_err(fail)?;
    let mut group = writer.next_row_group().map_err(fail)?;
    let texts: Vec<ByteArray> = (0..vertices as u32)
        .map(|vertex| ByteArray::from(names.name(vertex).as_bytes().to_vec()))
        .collect();
    let mut place = group.next_column().map_err(fail)?.expect("the schema begins with the names");
    place.typed::<ByteArrayType>().write_batch(&texts, None, None).map_err(fail)?;
    place.close().map_err(fail)?;
    for column in 0..width {
        let numbers: Vec<f32> = values.iter().skip(column).step_by(width).copied().collect();
        let mut place = group.next_column().map_err(fail)?.expect("one column for each number");
        place.typed::<FloatType>().write_batch(&numbers, None, None).map_err(fail)?;
        place.close().map_err(fail)?;
    }
    group.close().map_err(fail)?;
    writer.into_inner().map_err(fail)?.finish()
}

fn schema(width: usize) -> Result<SchemaType, ParquetError> {
    let name = SchemaType::primitive_type_builder("vertex", Type::BYTE_ARRAY)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::String))
        .build()?;
    let number = |column: usize| {
        SchemaType::primitive_type_builder(&format!("e{column}"), Type::FLOAT)
            .with_repetition(Repetition::REQUIRED)
            .build()
            .map(Arc::new)
    };
    let mut fields = vec![Arc::new(name)];
    fields.extend((0..width).map(number).collect::<Result<Vec<_>, _>>()?);
    SchemaType::group_type_builder("vertices").with_fields(fields).build()
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;

    #[test]
    fn vertices_read_back_with_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vertices.parquet");
        write_vertices(&path, &VertexNames::identity(2), 3, &[1., 2., 3., 4., 5., 6.]).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].get_string(0).unwrap(), "1");
        assert_eq!(rows[1].get_float(3).unwrap(), 6.0);
    }
}
