//! `[data]`: what is learned from, and how it is cut.

use toml::Value;
use zoetrope_data::Format;
use zoetrope_data::split::Fractions;
use zoetrope_graph::{Merge, TimeUnit, Windowing};

use super::columns::{Column, Columns};
use super::names::names;
use super::numbers::Numbers;
use super::reading::{Delimiter, RoleColumn};
use super::rule::{Below, Filled, Whole};
use super::section::section;
use super::setting::Setting;

section! {
    /// What is learned from.
    DataConfig = "data" {
        /// File, folder, `-` for standard input, or `synthetic:NAME?key=value&…`.
        path: String = "synthetic:demo?vertices=100&steps=200".into(),
            Filled("a file, a folder or synthetic:NAME?key=value&…");
        /// Format of the input; detected if not set.
        format: Option<Format> = None;
        /// Column of the source vertex; chosen by names and values if not set.
        src: Option<Column> = None;
        /// Column of the destination vertex; chosen by names and values if not set.
        dst: Option<Column> = None;
        /// Column of the time; chosen by names and values if not set; `false` for none.
        time: Option<RoleColumn> = None;
        /// Column of the weight (`weights` says what becomes of its values); chosen by names if
        /// not set; `false` for none.
        weight: Option<RoleColumn> = None;
        /// Column of the label; chosen by names if not set; `false` for none.
        label: Option<RoleColumn> = None;
        /// Column that says whether an event adds or removes its edge.
        kind: Option<Column> = None;
        /// Columns of an event's features (`features` says what the features of vertices are); all
        /// other columns of numbers if not set, none for `[]`.
        feature: Option<Columns> = None;
        /// Field separator of text tables; detected if not set.
        delimiter: Option<Delimiter> = None;
        /// Whether the first row names the columns; detected if not set.
        header: Option<bool> = None;
        /// Unit of integer times; guessed from their size if not set.
        time_unit: Option<TimeUnit> = None;
        /// Whether source and destination number their vertices separately; detected if not set.
        bipartite: Option<bool> = None;
        /// Whether vertex identifiers are text; detected if not set.
        text_ids: Option<bool> = None;
        /// Whether bad rows are skipped and counted instead of failing.
        lenient: bool = false;
        /// Problems of a file that are listed before it is given up.
        max_problems: usize = 20, Whole(1, 1 << 20);
        /// How many steps of a measured series are the features; as the reference loader of the
        /// data has it if not set.
        lags: Option<usize> = None, Whole(1, 1 << 20);
        /// Which snapshots or events train, validate and test, in this order of time.
        split: SplitRule = SplitRule::Shares { train: 70.0, validation: 15.0, test: 15.0 };
        /// How events are cut into snapshots; a width that suits the data if not set.
        window: Option<Windowing> = None;
        /// What becomes of several events of one pair in one snapshot.
        merge: MergeRule = MergeRule::Sum;
        /// Whether edges live on after their window until an event removes them.
        until_removed: bool = false;
        /// Whether each event also makes the reverse edge.
        undirected: bool = false;
        /// What becomes of the weights of edges.
        weights: WeightRule = WeightRule::Auto;
        /// Lets each edge live for so many snapshots (ESDG §5.4, as EvolveGCN does); what is
        /// predicted stays as it happened.
        edge_life: Option<usize> = None, Whole(1, 1 << 30);
        /// Replaces snapshots and their features by the mean of the last so many (ESDG §5.3, as
        /// TM-GCN does); what is predicted stays as it happened.
        m_product: Option<usize> = None, Whole(1, 1 << 30);
        /// Where the features of vertices come from: the data (auto), a row for each vertex that is
        /// trained (learned), the vertex's own column (one-hot), degrees (snapshot models) or ones.
        features: FeatureRule = FeatureRule::Auto;
        /// The width of learned features; as wide as the hidden layer if none is given, narrower if
        /// there are very many vertices.
        learned_width: Option<usize> = None, Whole(1, 1 << 16);
        /// How a measured series is scaled before lags are taken. The numbers are fitted on the
        /// training part, saved in the run's `scaling.json` and applied to new data.
        scaling: Scaling = Scaling::Auto;
        /// Values of a measured series that mean "missing", for example 0 for sensors that report
        /// nothing.
        missing: Numbers = Numbers(Vec::new());
        /// How the features of events and of vertices are scaled, column by column. The numbers are
        /// fitted on the training part, saved in the run's `scaling.json` and applied to new data.
        /// `auto` leaves the features of snapshots as they are given, as the references do.
        feature_scaling: FeatureScaling = FeatureScaling::Auto;
        /// What becomes of missing features of events and of vertices.
        missing_features: MissingFeatures = MissingFeatures::Impute;
        /// Features of events that the model must not see, for example because the target was made
        /// from them (event models).
        drop_features: Columns = Columns(Vec::new());
        /// Share of the vertices that training does not see, so that it can be asked about new ones
        /// (event models; TGN's protocol has 0.1).
        inductive: f64 = 0.0, Below(0.0, 1.0);
    }
}

/// The most values of learned features: an update goes through all of them.
const LEARNED_VALUES_MAX: usize = 1 << 21;

impl FeatureRule {
    /// Whether weights depend on which vertex is which.
    pub fn is_by_vertex(self) -> bool {
        matches!(self, Self::Learned | Self::OneHot)
    }
}

impl DataConfig {
    /// The width of learned features of so many vertices.
    pub fn learned_width_for(&self, hidden: usize, vertices: usize) -> usize {
        let fits = || (LEARNED_VALUES_MAX / vertices.max(1)).clamp(4, hidden.max(4));
        self.learned_width.unwrap_or_else(fits)
    }
}

names! {
    /// What becomes of several events of one pair in one snapshot.
    MergeRule {
        /// One edge, weights added.
        Sum = "sum",
        /// One edge, weights averaged.
        Mean = "mean",
        /// One edge, the latest weight.
        Last = "last",
        /// One edge that weighs as many as there were events.
        Count = "count",
        /// Parallel edges.
        Keep = "keep",
    }
}

impl From<MergeRule> for Merge {
    fn from(rule: MergeRule) -> Self {
        match rule {
            MergeRule::Sum => Self::Sum,
            MergeRule::Mean => Self::Mean,
            MergeRule::Last => Self::Last,
            MergeRule::Count => Self::Count,
            MergeRule::Keep => Self::Keep,
        }
    }
}

names! {
    /// What becomes of the weights of edges.
    WeightRule {
        /// As given; left out if one is negative or missing, because such degrees cannot be
        /// normalised.
        Auto = "auto",
        /// As given, whatever they are.
        Given = "given",
        /// Left out: every edge weighs 1.
        Ones = "ones",
        /// Without their signs.
        Absolute = "absolute",
    }
}

names! {
    /// Where the features of vertices come from.
    FeatureRule {
        /// Those of the data. If it has none: in- and out-degrees for snapshot models, nothing
        /// but memory and time for event models.
        Auto = "auto",
        /// A row for each vertex that is trained like a weight, whatever the data has.
        Learned = "learned",
        /// As many columns as vertices, a 1 in the vertex's own, whatever the data has.
        OneHot = "one-hot",
        /// In- and out-degrees in each snapshot, whatever the data has.
        Degree = "degree",
        /// A single 1 for every vertex, whatever the data has.
        Ones = "ones",
    }
}

names! {
    /// How a measured series is scaled.
    Scaling {
        /// By vertex, overall or not at all, as the reference loader of the data does it, but fitted
        /// on the training part.
        Auto = "auto",
        /// As the reference loader of the data does it, whatever the values are, but fitted on the
        /// training part alone.
        Train = "train",
        /// Exactly as PyG-Temporal's loader does it: over all time, the test part included. For
        /// comparisons with that library.
        Pygt = "pygt",
        /// Not at all.
        Raw = "raw",
        /// Each vertex by its own mean and deviation over time.
        ByVertex = "by-vertex",
        /// All vertices by one mean and deviation.
        Overall = "overall",
    }
}

names! {
    /// How a column of features is scaled.
    FeatureScaling {
        /// By what the column holds: see `docs/evaluation.md`.
        Auto = "auto",
        /// Not at all.
        None = "none",
        /// By its mean and deviation.
        Standard = "standard",
        /// Its logarithm, `sign(x) · ln(1 + |x|)`, by its mean and deviation.
        Log = "log",
    }
}

names! {
    /// What becomes of missing features.
    MissingFeatures {
        /// The mean of the column in the training part stands for them.
        Impute = "impute",
        /// The same, and for each column that lacks values in the training part another one is added, which is
        /// 1 if the value is missing.
        Mask = "mask",
        /// The run stops and says where the first one is.
        Refuse = "refuse",
    }
}

/// Which snapshots train, validate and test.
///
/// Written as shares in any unit: `80/20` (training, test), `70/15/15` (with validation between),
/// `none` (everything trains), or as a table `{ train = 0.7, validation = 0.15, test = 0.15 }`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SplitRule {
    /// Everything trains, nothing is held out.
    All,
    /// Shares of the whole, in time order.
    Shares {
        /// What is learned from.
        train: f64,
        /// What decisions during training look at; may be 0.
        validation: f64,
        /// What is looked at once, at the end; may be 0.
        test: f64,
    },
}

impl SplitRule {
    /// Where training and validation end, as fractions of the whole.
    pub fn fractions(self) -> Fractions {
        match self {
            Self::All => Fractions { train_end: 1.0, validation_end: 1.0 },
            Self::Shares { train, validation, test } => {
                let whole = train + validation + test;
                // Without a test part the end is the end, whatever rounding says.
                let validation_end = if test > 0.0 { (train + validation) / whole } else { 1.0 };
                Fractions { train_end: train / whole, validation_end }
            }
        }
    }

    /// Whether any part is held out.
    pub fn holds_out(self) -> bool {
        matches!(self, Self::Shares { validation, test, .. } if validation + test > 0.0)
    }

    /// Whether a part for validation is held out.
    pub fn has_validation(self) -> bool {
        matches!(self, Self::Shares { validation, .. } if validation > 0.0)
    }

    fn shares(train: f64, validation: f64, test: f64) -> Option<Self> {
        let sound = |share: f64| share.is_finite() && (0.0..=1e9).contains(&share);
        let all = [train, validation, test].into_iter().all(sound);
        (all && train > 0.0).then_some(Self::Shares { train, validation, test })
    }

    fn from_text(text: &str) -> Option<Self> {
        if text == "none" {
            return Some(Self::All);
        }
        let shares: Option<Vec<f64>> =
            text.split(['/', ',']).map(|share| share.trim().parse().ok()).collect();
        match *shares?.as_slice() {
            [train, test] => Self::shares(train, 0.0, test),
            [train, validation, test] => Self::shares(train, validation, test),
            _ => None,
        }
    }

    fn from_table(table: &toml::Table) -> Option<Self> {
        if table.keys().any(|key| !["train", "validation", "test"].contains(&key.as_str())) {
            return None;
        }
        let given = |key| table.get(key).map(f64::read);
        let validation = given("validation").unwrap_or(Some(0.0))?;
        let train = given("train")??;
        // Fractions of 1 may leave the last one out.
        let test = given("test").unwrap_or_else(|| Some((1.0 - train - validation).max(0.0)))?;
        Self::shares(train, validation, test)
    }
}

impl std::fmt::Display for SplitRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::All => f.write_str("none"),
            Self::Shares { train, validation: 0.0, test } => write!(f, "{train}/{test}"),
            Self::Shares { train, validation, test } => write!(f, "{train}/{validation}/{test}"),
        }
    }
}

impl Setting for SplitRule {
    fn expected() -> String {
        "\"none\", shares such as \"80/20\" (training, test) or \"70/15/15\" (training, \
         validation, test), or { train = 0.7, validation = 0.15, test = 0.15 }"
            .into()
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Table(table) => Self::from_table(table),
            value => value.as_str().and_then(Self::from_text),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::from_text(text.trim()).or_else(|| Self::read(&text.parse().ok()?))
    }

    fn write(&self) -> Value {
        Value::String(self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cut_where_the_reference_cuts() {
        let ends = |text| {
            let fractions = SplitRule::parse(text).unwrap().fractions();
            (fractions.train_end, fractions.validation_end)
        };
        assert_eq!(ends("80/20"), (0.8, 0.8));
        assert_eq!(ends("0.8/0.2"), (0.8, 0.8));
        assert_eq!(ends("70/15/15"), (0.7, 0.85));
        assert_eq!(ends("90/10/0"), (0.9, 1.0));
        assert_eq!(ends("none"), (1.0, 1.0));
        assert_eq!(ends("{ train = 0.5, validation = 0.25 }"), (0.5, 0.75));
    }

    #[test]
    fn shares_that_make_no_split_are_refused() {
        for text in
            ["", "80", "80/-1", "0/1", "nan/1", "a/b", "1/2/3/4", "{ train = 0.8, val = 0.1 }"]
        {
            assert_eq!(SplitRule::parse(text), None, "{text}");
        }
    }
}
