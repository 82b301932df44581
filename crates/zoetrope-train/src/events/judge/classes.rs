//! Classes of vertices or events.

use zoetrope_nn::metrics::{BinaryScores, Classification};
use zoetrope_run::Metrics;

/// AUC and AP of class 1 if there are two classes, accuracy and F1 (of class 1 if there are
/// two, the mean over classes otherwise).
#[derive(Debug, Clone)]
pub struct ClassJudge {
    classes: usize,
    scores: BinaryScores,
    counts: Classification,
    /// The score of class 1 against class 0; only memory.
    margin: Vec<f32>,
}

impl ClassJudge {
    /// Judges `classes` classes, 2 at least.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn new(classes: usize) -> Self {
        assert!(classes >= 2, "classes");
        Self {
            classes,
            scores: BinaryScores::default(),
            counts: Classification::new(classes as u32),
            margin: Vec::new(),
        }
    }

    /// Forgets all scores and keeps the memory.
    pub fn begin(&mut self) {
        self.scores.clear();
        self.counts.clear();
    }

    /// Adds scores and true classes, NaN if there is none. A row of scores has one for each
    /// class, or, if there are two classes, it may be one number that is above 0 for class 1.
    ///
    /// # Panics
    /// If there is no row of scores for each true class, or a class is not below the number of
    /// classes.
    pub fn add(&mut self, scores: &[f32], truth: &[f32]) {
        if self.classes == 2 && scores.len() == truth.len() {
            self.counts.add_binary(scores, 0.0, truth);
            self.scores.add(scores, truth);
            return;
        }
        self.counts.add_rows(scores, truth);
        if self.classes == 2 {
            self.margin.clear();
            self.margin.extend(scores.chunks_exact(2).map(|row| row[1] - row[0]));
            self.scores.add(&self.margin, truth);
        }
    }

    /// All measures by name; NaN if one is not defined.
    pub fn metrics(&mut self) -> Metrics {
        let mut metrics = Metrics::new();
        let mut put = |name: &str, value: Result<f64, _>| {
            metrics.insert(name.to_owned(), value.unwrap_or(f64::NAN));
        };
        put("accuracy", self.counts.accuracy());
        if self.classes == 2 {
            put("auc", self.scores.auc());
            put("ap", self.scores.average_precision());
            put("f1", self.counts.f1_of(1));
        } else {
            put("f1", self.counts.f1_macro());
        }
        metrics
    }
}
