//! What a model sees of an event besides its ends and its time.

use zoetrope_graph::EventStore;

use crate::config::Column;
use crate::error::TrainError;

/// Rows of numbers, one for each event.
#[derive(Debug)]
pub(super) enum EventFeatures {
    /// None.
    Absent,
    /// The columns of the store as they are.
    Stored(usize),
    /// Chosen columns, or the weights as a column.
    Own {
        /// Row by row.
        values: Vec<f32>,
        /// The width of a row.
        width: usize,
    },
}

impl EventFeatures {
    /// The features of a store without some columns; the weights are the features of a stream that
    /// has no others, unless they are what is to be predicted.
    pub(super) fn of(
        store: &EventStore,
        dropped: &[Column],
        hide_weights: bool,
    ) -> Result<Self, TrainError> {
        let width = store.feature_width();
        let columns = dropped
            .iter()
            .map(|name| column(store, width, name))
            .collect::<Result<Vec<usize>, TrainError>>()?;
        let kept: Vec<usize> = (0..width).filter(|column| !columns.contains(column)).collect();
        let found = match (store.features(), store.weight()) {
            (Some(_), _) if kept.len() == width && width > 0 => Self::Stored(width),
            (Some(_), _) if kept.is_empty() => Self::Absent,
            (Some(values), _) => {
                let rows = values.chunks_exact(width);
                let values = rows.flat_map(|row| kept.iter().map(|&column| row[column])).collect();
                Self::Own { values, width: kept.len() }
            }
            (None, Some(weights)) if !hide_weights => {
                Self::Own { values: weights.to_vec(), width: 1 }
            }
            (None, _) => Self::Absent,
        };
        let (values, width) = (found.values(store), found.width());
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(found),
            Some(at) => Err(TrainError::Unfit {
                what: format!(
                    "feature {} of event {} is {}",
                    at % width.max(1),
                    at / width.max(1),
                    values[at]
                ),
                advice: "mend the data, or leave the column out with data.drop_features".to_owned(),
            }),
        }
    }

    /// The names of the columns.
    pub(super) fn names(&self, store: &EventStore, dropped: &[Column]) -> Vec<String> {
        let width = store.feature_width();
        if width == 0 {
            return if self.width() > 0 { vec!["weight".to_owned()] } else { Vec::new() };
        }
        let gone =
            |at: usize| dropped.iter().any(|name| column(store, width, name).ok() == Some(at));
        let names = &store.feature_names;
        let name = |at: usize| match at < names.len() {
            true => String::from_utf8_lossy(names.get(at)).into_owned(),
            false => at.to_string(),
        };
        (0..width).filter(|&at| !gone(at)).map(name).collect()
    }

    /// The width of a row.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Stored(width) | Self::Own { width, .. } => *width,
        }
    }

    /// All rows.
    pub(super) fn values<'a>(&'a self, store: &'a EventStore) -> &'a [f32] {
        match self {
            Self::Absent => &[],
            Self::Stored(_) => store.features().unwrap_or_default(),
            Self::Own { values, .. } => values,
        }
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
            0 => "leave it out: these events have no features".to_owned(),
            _ => format!("use a name of the data or a number from 0 to {}", width - 1),
        },
    })
}
