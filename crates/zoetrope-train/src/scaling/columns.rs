//! Columns of features, each scaled by what it holds in the training part.
//!
//! | `data.feature_scaling` | a value `x` becomes |
//! | --- | --- |
//! | `none` | `x` |
//! | `standard` | `(x - mean) / deviation` |
//! | `log` | the same of `sign(x) · ln(1 + |x|)` |
//! | `auto` | one of these, as `shape` decides |
//!
//! A missing value becomes the training mean: 0 after scaling. With `mask` every column that lacks
//! values in the training part gets a second one behind all the others, which is 1 if the value
//! is missing.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use zoetrope_config::{DataConfig, FeatureScaling, MissingFeatures};
use zoetrope_data::scaling::rounded;
use zoetrope_run::ColumnCounts;

use super::shape::{Shape, choose, signed_log};
use crate::error::TrainError;

/// How one column is scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnScale {
    /// As it is.
    None,
    /// By mean and deviation.
    Standard,
    /// Its signed logarithm, by mean and deviation.
    Log,
}

/// One column with its numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedColumn {
    /// Its name in the data, or its number.
    pub name: String,
    /// How it is scaled.
    pub scale: ColumnScale,
    /// The mean of the training part, of logarithms for [`ColumnScale::Log`].
    pub mean: f64,
    /// What is divided by; 1 if the training part does not change.
    pub deviation: f64,
    /// Whether a further column says which values are missing.
    pub indicator: bool,
}

/// The columns of a table of features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedColumns {
    /// `data.feature_scaling`.
    pub rule: String,
    /// `data.missing_features`.
    pub missing: String,
    /// The columns of the data, in its order.
    pub columns: Vec<FittedColumn>,
}

/// A table of features as read: rows of `names.len()` numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) names: &'a [String],
    /// What a row is, for messages: "event" or "vertex".
    pub(crate) row: &'static str,
}

/// The first names of a list, for messages.
fn listed<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    const NAMES_MAX: usize = 12;
    let more = names.len().saturating_sub(NAMES_MAX);
    let shown: Vec<String> = names.take(NAMES_MAX).map(|name| format!("`{name}`")).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &more
}

/// A scaled table, if anything of it changed.
#[derive(Debug)]
pub(crate) struct ScaledTable {
    pub(crate) fitted: FittedColumns,
    /// Whether the numbers are those of a run.
    pub(crate) of_run: bool,
    /// None if the table is as it was.
    pub(crate) values: Option<Vec<f32>>,
    /// Missing values.
    pub(crate) missing: u64,
}

impl Table<'_> {
    fn width(&self) -> usize {
        self.names.len()
    }

    /// Scales the table by the numbers of a run, or by numbers that are fitted on the rows for which
    /// `training` is true.
    ///
    /// # Errors
    /// If the run's columns are not those of the table, or a value is missing and may not be.
    pub(crate) fn scale(
        &self,
        config: &DataConfig,
        saved: Option<&FittedColumns>,
        training: impl Fn(usize) -> bool + Sync,
        warnings: &mut Vec<String>,
    ) -> Result<ScaledTable, TrainError> {
        let (rule, lacking) = (config.feature_scaling, config.missing_features);
        let missing = self.values.par_iter().filter(|value| value.is_nan()).count() as u64;
        if let (MissingFeatures::Refuse, true) = (lacking, missing > 0) {
            return Err(self.refused());
        }
        let same =
            |saved: &&FittedColumns| saved.rule == rule.name() && saved.missing == lacking.name();
        let of_run = saved.is_some_and(|saved| same(&saved));
        let fitted = match saved.filter(same) {
            Some(saved) => self.checked(saved)?.clone(),
            None => {
                if saved.is_some() {
                    warnings.push(format!(
                        "data.feature_scaling or data.missing_features is not that of the run: the \
                         features of each {} are scaled by numbers fitted on this data",
                        self.row
                    ));
                }
                self.fit(rule, lacking, training)
            }
        };
        let plain = fitted.columns.iter().all(|column| column.scale == ColumnScale::None);
        let values =
            (!plain || missing > 0 || fitted.indicators() > 0).then(|| fitted.applied(self.values));
        Ok(ScaledTable { fitted, of_run, values, missing })
    }

    fn refused(&self) -> TrainError {
        let at = self.values.iter().position(|value| value.is_nan()).unwrap_or(0);
        let (row, column) = (at / self.width(), at % self.width());
        TrainError::Unfit {
            what: format!("feature {} of {} {row} is missing", self.names[column], self.row),
            advice: "mend the data, or set data.missing_features to impute or mask".to_owned(),
        }
    }

    /// Fails if a run has columns of a table that this data does not have at all.
    ///
    /// # Errors
    /// [`TrainError::Unfit`] that names the columns.
    pub(crate) fn absent(
        row: &'static str,
        saved: Option<&FittedColumns>,
    ) -> Result<(), TrainError> {
        match saved {
            None => Ok(()),
            Some(saved) => Table { values: &[], names: &[], row }.checked(saved).map(|_| ()),
        }
    }

    /// The run's columns, if they are those of the table.
    fn checked<'s>(&self, saved: &'s FittedColumns) -> Result<&'s FittedColumns, TrainError> {
        let unfit = |what: String| TrainError::Unfit {
            what,
            advice: format!(
                "give data with the columns that the run was trained on: {}",
                listed(saved.columns.iter().map(|column| column.name.as_str()))
            ),
        };
        let named = |name: &str| name.parse::<usize>().is_err();
        let absent: Vec<&str> = saved.columns.iter().map(|column| column.name.as_str()).collect();
        let there = |name: &str| self.names.iter().any(|own| own == name);
        let absent = absent.into_iter().filter(|name| named(name) && !there(name));
        let absent: Vec<&str> = absent.collect();
        // Without names of its own the data may still have them all.
        let comparable = self.names.is_empty() || self.names.iter().any(|name| named(name));
        if comparable && !absent.is_empty() {
            return Err(unfit(format!(
                "this data has no {} {}, which the run was trained with",
                if absent.len() == 1 { "column" } else { "columns" },
                listed(absent.into_iter())
            )));
        }
        if saved.columns.len() != self.width() {
            return Err(unfit(format!(
                "the run was trained with {} features of each {}, but this data has {}",
                saved.columns.len(),
                self.row,
                self.width()
            )));
        }
        for (column, name) in saved.columns.iter().zip(self.names) {
            if column.name != *name && named(&column.name) && named(name) {
                return Err(unfit(format!(
                    "the run has feature {}, this data has {name} in its place",
                    column.name
                )));
            }
        }
        Ok(saved)
    }

    /// Looks at every column of the training rows, one row after the other, so that the number of
    /// threads does not matter; a few columns at a time, which lie in one line of the cache.
    fn fit(
        &self,
        rule: FeatureScaling,
        lacking: MissingFeatures,
        training: impl Fn(usize) -> bool + Sync,
    ) -> FittedColumns {
        const AT_ONCE: usize = 16;
        let group = |(group, names): (usize, &[String])| {
            let columns = group * AT_ONCE..group * AT_ONCE + names.len();
            let rows = self.values.chunks_exact(self.width()).enumerate();
            let rows = rows.filter(|(row, _)| training(*row)).map(|(_, row)| &row[columns.clone()]);
            let plain = Shape::of(rows.clone(), names.len(), |value| value);
            let scales: Vec<ColumnScale> = match rule {
                FeatureScaling::None => vec![ColumnScale::None; names.len()],
                FeatureScaling::Standard => vec![ColumnScale::Standard; names.len()],
                FeatureScaling::Log => vec![ColumnScale::Log; names.len()],
                FeatureScaling::Auto => plain.iter().map(choose).collect(),
            };
            let logarithms = if scales.contains(&ColumnScale::Log) {
                Shape::of(rows, names.len(), signed_log)
            } else {
                Vec::new()
            };
            let one = |(at, name): (usize, &String)| {
                let scale = scales[at];
                let shape = if scale == ColumnScale::Log { logarithms[at] } else { plain[at] };
                let changes = shape.deviation > 1e-6 * shape.mean.abs();
                FittedColumn {
                    name: name.clone(),
                    scale,
                    mean: rounded(shape.mean),
                    deviation: if changes { rounded(shape.deviation) } else { 1.0 },
                    indicator: lacking == MissingFeatures::Mask && shape.gaps,
                }
            };
            names.iter().enumerate().map(one).collect::<Vec<FittedColumn>>()
        };
        let columns = self.names.par_chunks(AT_ONCE).enumerate().flat_map_iter(group).collect();
        let (rule, missing) = (rule.name().to_owned(), lacking.name().to_owned());
        FittedColumns { rule, missing, columns }
    }
}

impl FittedColumn {
    /// A value on the column's scale; the training mean for a missing one.
    fn scaled(&self, value: f32) -> f32 {
        let scale = |value: f64| ((value - self.mean) / self.deviation) as f32;
        match (self.scale, value.is_nan()) {
            (ColumnScale::None, false) => value,
            (ColumnScale::None, true) => self.mean as f32,
            (_, true) => 0.0,
            (ColumnScale::Standard, false) => scale(f64::from(value)),
            (ColumnScale::Log, false) => scale(signed_log(f64::from(value))),
        }
    }
}

impl FittedColumns {
    fn indicators(&self) -> usize {
        self.columns.iter().filter(|column| column.indicator).count()
    }

    /// Rows of the columns of the data, scaled.
    pub(crate) fn applied(&self, rows: &[f32]) -> Vec<f32> {
        let (width, wide) = (self.columns.len(), self.width());
        let marked: Vec<usize> =
            (0..width).filter(|&column| self.columns[column].indicator).collect();
        let mut made = vec![0.0; rows.len() / width * wide];
        let rows = rows.par_chunks_exact(width);
        made.par_chunks_exact_mut(wide).zip(rows).for_each(|(made, row)| {
            for ((made, &value), column) in made.iter_mut().zip(row).zip(&self.columns) {
                *made = column.scaled(value);
            }
            for (made, &column) in made[width..].iter_mut().zip(&marked) {
                *made = f32::from(u8::from(row[column].is_nan()));
            }
        });
        made
    }

    /// The width of a scaled row.
    pub(crate) fn width(&self) -> usize {
        self.columns.len() + self.indicators()
    }

    /// The names of the columns of a scaled row.
    pub(crate) fn names(&self) -> Vec<String> {
        let marked = self.columns.iter().filter(|column| column.indicator);
        let own = self.columns.iter().map(|column| column.name.clone());
        own.chain(marked.map(|column| format!("{} is missing", column.name))).collect()
    }

    pub(super) fn is_sound(&self) -> bool {
        self.columns.iter().all(|column| {
            column.mean.is_finite() && column.deviation.is_finite() && column.deviation != 0.0
        })
    }

    pub(super) fn counts(&self) -> ColumnCounts {
        let of = |scale| self.columns.iter().filter(|column| column.scale == scale).count();
        ColumnCounts {
            none: of(ColumnScale::None),
            standard: of(ColumnScale::Standard),
            log: of(ColumnScale::Log),
            indicators: self.indicators(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zoetrope_config::Config;

    fn config(settings: &[&str]) -> DataConfig {
        let builder = settings.iter().fold(Config::builder(), |builder, set| builder.set(set));
        builder.build().unwrap().data
    }

    fn names(width: usize) -> Vec<String> {
        (0..width).map(|column| column.to_string()).collect()
    }

    fn scale(values: &[f32], width: usize, settings: &[&str], training: usize) -> ScaledTable {
        let names = names(width);
        let table = Table { values, names: &names, row: "event" };
        table.scale(&config(settings), None, |row| row < training, &mut Vec::new()).unwrap()
    }

    #[test]
    fn each_column_is_scaled_by_what_it_holds() {
        // A flag, miles, a small number, an amount with a heavy tail.
        let rows = 200;
        let values: Vec<f32> = (0..rows)
            .flat_map(|row| {
                let tail = if row == 7 { 1e6 } else { 20.0 + (row % 9) as f32 };
                [(row % 2) as f32, 500.0 + (row % 50) as f32 * 10.0, (row % 5) as f32 / 2.0, tail]
            })
            .collect();
        let found = scale(&values, 4, &[], rows);
        let scales: Vec<ColumnScale> =
            found.fitted.columns.iter().map(|column| column.scale).collect();
        use ColumnScale::{Log, None, Standard};
        assert_eq!(scales, [None, Standard, None, Log]);
        let made = found.values.unwrap();
        assert!(made.iter().all(|value| value.abs() < 20.0));
        assert_eq!((made[0], made[4], made[2]), (0.0, 1.0, 0.0));
    }

    #[test]
    fn later_rows_do_not_move_the_numbers() {
        let now: Vec<f32> = (0..20).map(|at| at as f32 * 100.0).collect();
        let mut other = now.clone();
        other[10..].iter_mut().for_each(|value| *value = -3e7);
        assert_eq!(scale(&now, 1, &[], 10).fitted, scale(&other, 1, &[], 10).fitted);
        assert_ne!(scale(&now, 1, &[], 11).fitted, scale(&other, 1, &[], 11).fitted);
    }

    #[test]
    fn missing_values_are_the_training_mean_or_marked_or_refused() {
        let nan = f32::NAN;
        let values = [100., 1., nan, 2., 300., nan, nan, 5.];
        let imputed = scale(&values, 2, &["data.feature_scaling=none"], 2);
        assert_eq!(imputed.values.unwrap(), [100., 1., 100., 2., 300., 1.5, 100., 5.]);
        assert_eq!(imputed.missing, 3);
        // Column 1 lacks nothing in training, so no column is added for it.
        let settings = ["data.feature_scaling=none", "data.missing_features=mask"];
        let masked = scale(&values, 2, &settings, 2);
        let expected = [100., 1., 0., 100., 2., 1., 300., 1.5, 0., 100., 5., 1.];
        assert_eq!(masked.values.unwrap(), expected);
        assert_eq!(masked.fitted.names(), ["0", "1", "0 is missing"]);
        let names = names(2);
        let table = Table { values: &values, names: &names, row: "event" };
        let refuse = config(&["data.missing_features=refuse"]);
        let error = table.scale(&refuse, None, |_| true, &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("feature 0 of event 1"), "{error}");
    }

    #[test]
    fn a_table_that_needs_nothing_is_not_copied() {
        let values: Vec<f32> = (0..30).map(|at| (at % 3) as f32 - 1.0).collect();
        assert!(scale(&values, 2, &[], 5).values.is_none());
        assert!(
            scale(&[5.0; 4], 1, &["data.feature_scaling=standard"], 4).values.unwrap() == [0.; 4]
        );
    }

    #[test]
    fn the_numbers_of_a_run_are_applied_as_they_are_and_to_its_columns_only() {
        let fitted = scale(&[100., 200., 300., 400.], 1, &[], 4).fitted;
        let text = serde_json::to_string(&fitted).unwrap();
        assert_eq!(serde_json::from_str::<FittedColumns>(&text).unwrap(), fitted);
        let (one, two) = (names(1), names(2));
        let apply = |values: &[f32], names: &[String]| {
            let table = Table { values, names, row: "event" };
            table.scale(&config(&[]), Some(&fitted), |_| true, &mut Vec::new())
        };
        let found = apply(&[250., 1e6], &one).unwrap();
        assert!(found.of_run && found.fitted == fitted && found.values.unwrap()[0] == 0.0);
        let error = apply(&[1., 2.], &two).unwrap_err().to_string();
        assert!(error.contains("trained with 1 features"), "{error}");
    }
}
