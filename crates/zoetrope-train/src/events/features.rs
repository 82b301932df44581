//! What a model sees of an event besides its ends and its time.

use std::borrow::Cow;

use zoetrope_config::{Column, DataConfig};
use zoetrope_graph::EventStore;

use crate::error::TrainError;
use crate::scaling::columns::{ScaledTable, Table};
use crate::scaling::{FittedColumns, Scaled};

/// The name of the column that holds the weights of events.
const WEIGHT: &str = "weight";

/// The columns that a model may see.
#[derive(Debug)]
pub(super) struct ChosenColumns {
    /// Of the store's features.
    kept: Vec<usize>,
    /// Whether the weights are one more.
    weighted: bool,
    names: Vec<String>,
}

/// Rows of numbers, one for each event.
#[derive(Debug)]
pub(super) struct EventFeatures {
    chosen: ChosenColumns,
    /// The names of the columns.
    names: Vec<String>,
    /// Row by row; None if they are the columns of the store as they are.
    values: Option<Vec<f32>>,
}

impl EventFeatures {
    /// The chosen columns, scaled by the numbers of a run, or by numbers that are fitted on the
    /// events for which `training` is true.
    pub(super) fn of(
        store: &EventStore,
        chosen: ChosenColumns,
        config: &DataConfig,
        saved: Option<&FittedColumns>,
        training: impl Fn(usize) -> bool + Sync,
        (scaled, warnings): (&mut Scaled, &mut Vec<String>),
    ) -> Result<Self, TrainError> {
        if chosen.names.is_empty() {
            Table::absent("event", saved)?;
            return Ok(Self { chosen, names: Vec::new(), values: None });
        }
        let values = chosen.values(store);
        let table = Table { values: &values, names: &chosen.names, row: "event" };
        let ScaledTable { fitted, of_run, values: made, missing } =
            table.scale(config, saved, training, warnings)?;
        let names = fitted.names();
        scaled.of_run |= of_run;
        scaled.missing_features += missing;
        scaled.fitted.event_features = Some(fitted);
        let owned = match values {
            Cow::Borrowed(_) => None,
            Cow::Owned(values) => Some(values),
        };
        let found = Self { chosen, names, values: made.or(owned) };
        let (values, width) = (found.values(store), found.width());
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(found),
            Some(at) => Err(TrainError::Unfit {
                what: format!(
                    "feature {} of event {} is {}",
                    found.names[at % width],
                    at / width,
                    values[at]
                ),
                advice: "mend the data, or leave the column out with data.drop_features".to_owned(),
            }),
        }
    }

    /// The names of the columns as they were read.
    pub(super) fn columns_as_read(&self) -> &[String] {
        &self.chosen.names
    }

    /// All rows as they were read: what tells whether two streams are the same.
    pub(super) fn as_read<'a>(&self, store: &'a EventStore) -> Cow<'a, [f32]> {
        self.chosen.values(store)
    }

    /// The width of a row.
    pub(super) fn width(&self) -> usize {
        self.names.len()
    }

    /// The names of the columns.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// All rows.
    pub(super) fn values<'a>(&'a self, store: &'a EventStore) -> &'a [f32] {
        match &self.values {
            Some(values) => values,
            None if self.names.is_empty() => &[],
            None => store.features().unwrap_or_default(),
        }
    }
}

impl ChosenColumns {
    /// The features of a store without some columns, and the weights unless they are what is to be
    /// predicted.
    ///
    /// # Errors
    /// If a column that is to be left out is not there.
    pub(super) fn of(
        store: &EventStore,
        dropped: &[Column],
        hide_weights: bool,
    ) -> Result<Self, TrainError> {
        let width = store.feature_width();
        let mut weighted = store.weight().is_some() && !hide_weights;
        let mut columns = Vec::with_capacity(dropped.len());
        for name in dropped {
            match column(store, width, name) {
                Ok(found) => columns.push(found),
                // The weights have no number among the features.
                Err(_) if *name == Column::Name(WEIGHT.into()) && store.weight().is_some() => {
                    weighted = false;
                }
                Err(error) => return Err(error),
            }
        }
        let kept: Vec<usize> = (0..width).filter(|column| !columns.contains(column)).collect();
        let mut names: Vec<String> = kept.iter().map(|&column| name_of(store, column)).collect();
        names.extend(weighted.then(|| WEIGHT.to_owned()));
        Ok(Self { kept, weighted, names })
    }

    /// Their values as read, row by row.
    pub(super) fn values<'a>(&self, store: &'a EventStore) -> Cow<'a, [f32]> {
        let (width, values) = (store.feature_width(), store.features().unwrap_or_default());
        let weights = store.weight().filter(|_| self.weighted);
        if weights.is_none() && self.kept.len() == width {
            return Cow::Borrowed(values);
        }
        let mut made = Vec::with_capacity(store.len() * self.names.len());
        for event in 0..store.len() {
            made.extend(self.kept.iter().map(|&column| values[event * width + column]));
            made.extend(weights.map(|weights| weights[event]));
        }
        Cow::Owned(made)
    }
}

/// The name of a column in the data; its number if it has none.
fn name_of(store: &EventStore, column: usize) -> String {
    let names = &store.feature_names;
    if column < names.len() && !names.get(column).is_empty() {
        String::from_utf8_lossy(names.get(column)).into_owned()
    } else {
        column.to_string()
    }
}

/// The column of that name or number.
fn column(store: &EventStore, width: usize, name: &Column) -> Result<usize, TrainError> {
    let found = match name {
        Column::Number(number) => Some(*number).filter(|&column| column < width),
        Column::Name(name) => {
            let names = &store.feature_names;
            (0..names.len().min(width)).find(|&at| names.get(at) == name.as_bytes())
        }
    };
    found.ok_or_else(|| TrainError::Unfit {
        what: format!("data.drop_features names \"{name}\", but events have no such feature"),
        advice: match width {
            _ if store.weight().is_some() => format!(
                "use \"{WEIGHT}\" for the column that was read as the weight{}",
                if width > 0 { ", or a name of the other columns" } else { "" }
            ),
            0 => "leave it out: these events have no features".to_owned(),
            _ => format!("use a name of the data or a number from 0 to {}", width - 1),
        },
    })
}
