//! The first rows of a Parquet file as text, so that its columns are judged as those of a csv.

use rayon::prelude::*;

use crate::error::DataError;
use crate::formats::parquet::decode::{Values, Want};
use crate::formats::parquet::reader::Plan;
use crate::formats::parquet::schema::{Leaf, Stored};
use crate::progress::Quiet;
use crate::roles::{self, ColumnKind, Roles};
use crate::table::date::DateForm;

/// As many rows as are sampled of a text table.
pub(super) const SAMPLE_ROWS: usize = 2_048;

/// The first rows. A column that cannot be read shows nothing: reading it says what is wrong.
pub(super) fn rows(plan: &Plan<'_>) -> Vec<Vec<String>> {
    let groups = plan.opened.metadata.num_row_groups();
    let mut columns: Vec<Vec<String>> = vec![Vec::new(); plan.leaves.len()];
    for group in 0..groups {
        let have = columns.iter().map(Vec::len).max().unwrap_or(0);
        if have >= SAMPLE_ROWS {
            break;
        }
        let parts: Vec<Option<Vec<String>>> = (0..plan.wanted.len())
            .into_par_iter()
            .map(|column| match plan.decode(group, column, &Quiet).ok()?.values {
                Values::Shown(texts) => Some(texts),
                _ => None,
            })
            .collect();
        for (&(leaf, _), part) in plan.wanted.iter().zip(parts) {
            columns[leaf].resize(have, String::new());
            columns[leaf].extend(part.unwrap_or_default());
        }
    }
    let count = columns.iter().map(Vec::len).max().unwrap_or(0).min(SAMPLE_ROWS);
    let cell = |column: &Vec<String>, row: usize| column.get(row).cloned().unwrap_or_default();
    (0..count).map(|row| columns.iter().map(|column| cell(column, row)).collect()).collect()
}

/// The columns that a sample can show.
pub(super) fn wanted(leaves: &[Leaf]) -> Vec<(usize, Want)> {
    let shows = |leaf: &Leaf| !matches!(leaf.stored, Stored::List | Stored::Other(_));
    let shown = leaves.iter().enumerate().filter(|(_, leaf)| shows(leaf));
    shown.map(|(column, _)| (column, Want::Shown)).collect()
}

/// What the columns hold: their types, and dates if text is written like dates.
pub(super) fn kinds(leaves: &[Leaf], sample: &[Vec<String>]) -> Vec<ColumnKind> {
    let kind = |(column, leaf): (usize, &Leaf)| match leaf.kind() {
        ColumnKind::Text if leaf.stored == Stored::Text => {
            match ColumnKind::of(sample.iter().map(|row| row[column].as_str())) {
                date @ ColumnKind::Date(_) => date,
                _ => ColumnKind::Text,
            }
        }
        kind => kind,
    };
    leaves.iter().enumerate().map(kind).collect()
}

/// How the time is written, if it is text or digits.
///
/// # Errors
/// If nothing shows whether the day or the month comes first.
pub(super) fn date_form(
    path: &std::path::Path,
    roles: &Roles,
    leaves: &[Leaf],
    kinds: &[ColumnKind],
    sample: &[Vec<String>],
) -> Result<Option<DateForm>, DataError> {
    let Some(column) = roles.time else { return Ok(None) };
    let leaf = &leaves[column];
    match (&leaf.stored, kinds[column]) {
        (Stored::Text, ColumnKind::Date(DateForm::DayOrMonthFirst)) => {
            let shown = sample.first().map(|row| row[column].as_str()).unwrap_or_default();
            Err(crate::table::plan::day_or_month(path, &leaf.name, shown))
        }
        (Stored::Text, ColumnKind::Date(form)) => Ok(Some(form)),
        (Stored::Signed | Stored::Unsigned, _) => {
            let values = sample.iter().map(|row| row[column].as_bytes());
            Ok(roles::is_date_of_digits(Some(&leaf.name), values).then_some(DateForm::Digits))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use parquet::data_type::Int64Type;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use crate::dataset::{Dataset, Loaded};
    use crate::options::ReadOptions;
    use crate::progress::Quiet;

    /// A file of whole numbers: the name and type of each column, and its values.
    fn load(columns: &[(&str, Vec<i64>)]) -> Loaded {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let fields: String =
            columns.iter().map(|(name, _)| format!("required int64 {name};")).collect();
        let schema = Arc::new(parse_message_type(&format!("message m {{ {fields} }}")).unwrap());
        let file = std::fs::File::create(&path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        for (_, values) in columns {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(values, None, None).unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
        read(&path)
    }

    fn read(path: &Path) -> Loaded {
        super::super::read(path, &ReadOptions::default(), &Quiet).unwrap()
    }

    fn roles(loaded: &Loaded) -> Vec<&str> {
        loaded.notes.columns.iter().map(|column| column.role).collect()
    }

    fn draw(column: i64, below: i64) -> Vec<i64> {
        (0..300).map(|row| ((row * 31 + column * 17 + 7) * 7919 % 10_007) % below).collect()
    }

    #[test]
    fn columns_are_judged_by_their_values_as_those_of_a_csv() {
        let rows = || 0..300i64;
        let loaded = load(&[
            ("uid", rows().collect()),
            ("person1", draw(1, 30)),
            ("person2", draw(2, 30)),
            ("start", rows().map(|row| row / 2 * 60).collect()),
            ("end", rows().map(|row| row / 2 * 60 + row * 13 % 50).collect()),
        ]);
        assert_eq!(roles(&loaded), ["not used", "source", "destination", "time", "feature"]);
        assert!(loaded.notes.warnings.iter().any(|note| note == "columns not used: uid"));
        let loaded = load(&[
            ("year", vec![2013; 300]),
            ("month", rows().map(|row| 1 + row / 28).collect()),
            ("day", rows().map(|row| 1 + row % 28).collect()),
            ("origin", draw(1, 9)),
            ("dest", draw(2, 9)),
        ]);
        assert_eq!(roles(&loaded), ["time", "time", "time", "source", "destination"]);
        let Dataset::Events(store) = &loaded.dataset else { panic!("events") };
        assert_eq!((store.time()[0], store.time()[28]), (1_356_998_400, 1_359_676_800));
        assert!(loaded.notes.sorted && store.scale().unix);
    }

    #[test]
    fn decimals_and_dates_of_digits_are_read() {
        let loaded = load(&[
            ("src", draw(1, 30)),
            ("dst", draw(2, 30)),
            ("date", vec![20_210_131; 300]),
            ("amount (DECIMAL(10,2))", (0..300).map(|row| row * 7 % 1000).collect()),
        ]);
        let Dataset::Events(store) = &loaded.dataset else { panic!("events") };
        assert_eq!(store.time()[0], 1_612_051_200);
        assert_eq!(store.weight().unwrap()[3], 0.21);
    }
}
