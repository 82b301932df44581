//! What the columns of a Parquet file are, in the words of this crate.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit as ParquetUnit, Type};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use zoetrope_graph::TimeUnit;

use crate::roles::ColumnKind;
use crate::table::date::DateForm;

/// How a column's values are stored and meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stored {
    Bool,
    Signed,
    Unsigned,
    Real,
    Text,
    Timestamp(TimeUnit),
    /// Whole numbers of 10^-scale.
    Decimal {
        scale: i32,
    },
    /// Days since 1970-01-01.
    Date,
    /// Julian day and nanoseconds of the day, in 96 bits.
    Int96,
    /// A list of numbers per row.
    List,
    /// Something that has no use here, by name.
    Other(&'static str),
}

/// One leaf column.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    pub(crate) name: String,
    pub(crate) stored: Stored,
    /// How dates are written, if they are text or digits.
    pub(crate) form: Option<DateForm>,
}

impl Leaf {
    /// What the search for roles needs to know.
    pub(crate) fn kind(&self) -> ColumnKind {
        // Pandas stores its row numbers under this name.
        if self.name.starts_with("__index_level_") {
            return ColumnKind::Empty;
        }
        match self.stored {
            Stored::Bool | Stored::Signed | Stored::Unsigned => ColumnKind::Integer,
            Stored::Real | Stored::Decimal { .. } => ColumnKind::Decimal,
            Stored::Timestamp(_) | Stored::Date | Stored::Int96 => ColumnKind::Date(DateForm::Iso),
            Stored::List => ColumnKind::NumberList(0),
            Stored::Text | Stored::Other(_) => ColumnKind::Text,
        }
    }
}

/// The leaf columns of a schema. A list goes by the name of its column, a member of a struct by
/// the path to it.
pub(crate) fn leaves(schema: &SchemaDescriptor) -> Vec<Leaf> {
    let mut leaves_of_root = vec![0usize; schema.root_schema().get_fields().len()];
    for leaf in 0..schema.num_columns() {
        leaves_of_root[schema.get_column_root_idx(leaf)] += 1;
    }
    (0..schema.num_columns())
        .map(|index| {
            let column = schema.column(index);
            let single = leaves_of_root[schema.get_column_root_idx(index)] == 1;
            match column.max_rep_level() {
                0 => Leaf {
                    name: column.path().parts().join("."),
                    stored: stored(&column),
                    form: None,
                },
                _ => {
                    let name = schema.get_column_root(index).name().to_owned();
                    let listed = single && column.max_rep_level() == 1 && is_number(&column);
                    let stored =
                        if listed { Stored::List } else { Stored::Other("a nested column") };
                    Leaf { name, stored, form: None }
                }
            }
        })
        .collect()
}

fn is_number(column: &ColumnDescriptor) -> bool {
    matches!(stored(column), Stored::Bool | Stored::Signed | Stored::Unsigned | Stored::Real)
}

fn stored(column: &ColumnDescriptor) -> Stored {
    let logical = column.logical_type_ref();
    let converted = column.converted_type();
    match (logical, converted) {
        (Some(LogicalType::Decimal(decimal)), _) => {
            return Stored::Decimal { scale: decimal.scale };
        }
        (_, ConvertedType::DECIMAL) => return Stored::Decimal { scale: column.type_scale() },
        (Some(LogicalType::Time(_)), _)
        | (_, ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS) => {
            return Stored::Other("a time of day without a date");
        }
        _ => {}
    }
    match column.physical_type() {
        Type::BOOLEAN => Stored::Bool,
        Type::FLOAT | Type::DOUBLE => Stored::Real,
        Type::INT96 => Stored::Int96,
        Type::BYTE_ARRAY => Stored::Text,
        Type::FIXED_LEN_BYTE_ARRAY => Stored::Other("a column of fixed-length bytes"),
        Type::INT32 | Type::INT64 => match (logical, converted) {
            (Some(LogicalType::Timestamp(stamp)), _) => Stored::Timestamp(match stamp.unit {
                ParquetUnit::MILLIS => TimeUnit::Millisecond,
                ParquetUnit::MICROS => TimeUnit::Microsecond,
                ParquetUnit::NANOS => TimeUnit::Nanosecond,
            }),
            (_, ConvertedType::TIMESTAMP_MILLIS) => Stored::Timestamp(TimeUnit::Millisecond),
            (_, ConvertedType::TIMESTAMP_MICROS) => Stored::Timestamp(TimeUnit::Microsecond),
            (Some(LogicalType::Date), _) | (_, ConvertedType::DATE) => Stored::Date,
            (Some(LogicalType::Integer(integer)), _) if !integer.is_signed => Stored::Unsigned,
            (
                _,
                ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64,
            ) => Stored::Unsigned,
            _ => Stored::Signed,
        },
    }
}
