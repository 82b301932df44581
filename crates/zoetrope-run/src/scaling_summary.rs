//! What a run scaled and what was missing, as its summary says it in short.

use serde::{Deserialize, Serialize};

/// What was scaled and what was missing, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScalingSummary {
    /// The file of the run folder that holds the numbers.
    pub file: String,
    /// Where the numbers come from.
    pub fitted_on: String,
    /// The measured series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesSummary>,
    /// Columns of features of events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_features: Option<ColumnCounts>,
    /// Columns of features of vertices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vertex_features: Option<ColumnCounts>,
    /// Features of events and vertices that were missing and were filled.
    pub missing_features: u64,
    /// Whether `mae`, `mse` and the like are on the scaled values, and `own_mae` and the like in the
    /// data's own units. If not, there is only one kind.
    pub own_units: bool,
}

/// A measured series, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesSummary {
    /// `data.scaling`.
    pub rule: String,
    /// Over which values means were taken.
    pub by: String,
    /// Over how many steps, from the first.
    pub fitted_steps: usize,
    /// Missing values.
    pub missing: u64,
    /// All values.
    pub values: u64,
}

/// How many columns were scaled in which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ColumnCounts {
    /// As they are.
    pub none: usize,
    /// By mean and deviation.
    pub standard: usize,
    /// Their logarithms, by mean and deviation.
    pub log: usize,
    /// Columns that were added to say which values are missing.
    pub indicators: usize,
}

impl ScalingSummary {
    /// One line for people.
    pub fn line(&self) -> String {
        let mut parts = Vec::new();
        if let Some(series) = &self.series {
            let missing = match series.missing {
                0 => String::new(),
                missing => format!(", {missing} of {} values missing", series.values),
            };
            parts.push(match series.by.as_str() {
                "nothing" => format!("series as it is{missing}"),
                by => format!("series scaled by {by}{missing}"),
            });
        }
        for (what, counts) in [("event", self.event_features), ("vertex", self.vertex_features)] {
            let Some(ColumnCounts { none, standard, log, indicators }) = counts else { continue };
            let named = [
                (none, "as they are"),
                (standard, "standardised"),
                (log, "logarithmic"),
                (indicators, "added to mark missing values"),
            ];
            let counted = named.iter().filter(|(count, _)| *count > 0);
            let text: Vec<String> = counted.map(|(count, how)| format!("{count} {how}")).collect();
            parts.push(format!("{what} features: {}", text.join(", ")));
        }
        if self.missing_features > 0 {
            parts.push(format!("{} missing features filled", self.missing_features));
        }
        format!("{}; fitted on {} ({})", parts.join("; "), self.fitted_on, self.file)
    }
}
