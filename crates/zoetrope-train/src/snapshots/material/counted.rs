//! A data set of which only sizes are known: it can be planned and simulated.

use std::ops::Range;
use std::sync::Arc;

use zoetrope_config::{Config, ConfigError, ConfigProblem, FeatureRule};
use zoetrope_data::split::Split;
use zoetrope_data::{FactTargets, GraphFacts};
use zoetrope_graph::{GraphError, VertexNames};
use zoetrope_tensor::Matrix;

use super::SnapshotInput;
use super::stack::Goal;
use crate::error::TrainError;
use crate::scaling::Scaled;
use crate::snapshots::engine::FeatureSource;

/// Keys about what happens to data before models see it: facts are of what they see.
const OF_SHAPING: [&str; 10] = [
    "data.window",
    "data.merge",
    "data.until_removed",
    "data.undirected",
    "data.edge_life",
    "data.m_product",
    "data.lags",
    "data.scaling",
    "data.feature_scaling",
    "data.missing_features",
];

/// Features of which only the number is known.
#[derive(Debug)]
struct Counted(usize);

impl FeatureSource for Counted {
    fn width(&self) -> usize {
        self.0
    }

    fn visit(
        &self,
        steps: Range<usize>,
        _see: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<(), GraphError> {
        Err(GraphError::OnlyCounted { step: steps.start })
    }
}

impl SnapshotInput {
    /// The input that a graph of these sizes would be.
    ///
    /// # Errors
    /// If settings would change data before models see it, or features are learned.
    pub fn of_facts(facts: &GraphFacts, config: &Config) -> Result<Self, TrainError> {
        let asked = OF_SHAPING.iter().filter(|key| config.is_asked(key));
        let problems = asked.map(|key| ConfigProblem::Conflict {
            keys: format!("{key} and {}", config.data.path),
            reason: "facts are of the snapshots that models see".to_owned(),
            advice: format!("leave {key} out, and give facts of the data that it makes"),
        });
        ConfigError::refuse(problems.collect())?;
        let vertices = facts.vertices as usize;
        let width = match config.data.features {
            FeatureRule::Auto if facts.features > 0 => facts.features,
            FeatureRule::Auto | FeatureRule::Degree => 2,
            FeatureRule::Ones => 1,
            FeatureRule::OneHot => vertices,
            FeatureRule::Learned => {
                return Err(TrainError::Unfit {
                    what: "data.features = \"learned\" and facts of a graph".to_owned(),
                    advice: "use data.features=degree".to_owned(),
                });
            }
        };
        let constant = facts.constant.then_some(facts.steps);
        let sequence = Arc::new(facts.counts.clone().into_sequence(constant));
        let goal = facts.targets.map(|(targets, _)| match targets {
            FactTargets::Numbers => {
                Goal::Numbers { values: Arc::new(Matrix::zeros(0, 1)), present: None }
            }
            FactTargets::Classes(classes) => {
                Goal::Classes { labels: Arc::default(), present: None, classes }
            }
        });
        Ok(Self {
            name: facts.name.clone(),
            format: "facts".to_owned(),
            happened: Arc::clone(&sequence),
            events: sequence.stored_edges(),
            sequence,
            edge_labels: None,
            names: VertexNames::identity(facts.vertices),
            features: Arc::new(Matrix::zeros(0, width)),
            made_features: Some(Arc::new(Counted(width))),
            splits: facts.of_events,
            links: None,
            learned: None,
            goal,
            constant_goal: facts.targets.is_some_and(|(_, constant)| constant),
            known_before: None,
            sha256: facts.sha256.clone(),
            split: Split::by_snapshots(facts.steps, config.data.split.fractions()),
            vertex_classes: Vec::new(),
            edge_classes: Vec::new(),
            scale: None,
            boundaries: None,
            rows: None,
            row_times: None,
            scaled: Scaled::default(),
            warnings: vec!["only sizes of the data are known".to_owned()],
        })
    }
}
