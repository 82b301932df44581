//! Every model on a device against the processor: the losses of the same few epochs.

use zoetrope_config::{Config, ModelName};
use zoetrope_data::Quiet;
use zoetrope_run::Timeline;

use crate::error::TrainError;
use crate::observer::Unobserved;
use crate::train::Opened;
use crate::training_run::EpochEnd;

/// How far the losses of a model may lie apart, relative to the processor's.
pub const TOLERANCE: f64 = 1e-4;

/// Epochs of each run over snapshots: on a GPU a step is computed in the first, recorded in the
/// second and launched as recorded in the third.
const EPOCHS: usize = 4;
/// Epochs of each run over events, whose batches are never recorded.
const EVENT_EPOCHS: usize = 2;

/// One model on two devices.
#[derive(Debug, Clone)]
pub struct ModelComparison {
    /// The model, its variant and its task.
    pub name: String,
    /// The largest relative difference of the losses of an epoch.
    pub difference: f64,
}

impl ModelComparison {
    /// Whether the device agrees with the processor.
    pub fn agrees(&self) -> bool {
        self.difference <= TOLERANCE
    }
}

/// What is compared: settings besides the device.
#[derive(Debug, Clone)]
pub struct ModelCase {
    /// The model, its variant and its task.
    pub name: String,
    settings: Vec<String>,
}

/// Every model in each of its variants, on small made-up data; snapshots with a number for each
/// vertex, and links for one of them.
pub fn model_cases() -> Vec<ModelCase> {
    let mut cases = Vec::new();
    for model in ModelName::ALL {
        let name = model.name();
        let (data, variants): (&str, &[&str]) = if *model == ModelName::Tgn {
            (EVENTS, &["pyg", "tgl"])
        } else if model.is_stream() {
            (EVENTS, &["tgl"])
        } else {
            (SNAPSHOTS, &["pygt", "paper"])
        };
        for variant in variants {
            let settings = [
                format!("data.path={data}"),
                format!("model.name={name}"),
                format!("model.variant={variant}"),
            ];
            cases.push(ModelCase { name: format!("{name} {variant}"), settings: settings.into() });
        }
    }
    for model in ["tgcn", "dysat"] {
        let settings = [
            format!("data.path={LINKS}"),
            format!("model.name={model}"),
            "task.name=link-prediction".to_owned(),
        ];
        cases.push(ModelCase { name: format!("{model} links"), settings: settings.into() });
    }
    cases
}

const SNAPSHOTS: &str = "synthetic:demo?vertices=70&steps=14";
const LINKS: &str = "synthetic:sbm?vertices=50&steps=14&communities=3&seed=4";
const EVENTS: &str = "synthetic:bipartite?events=900";

impl ModelCase {
    fn config(&self, device: &str) -> Result<Config, TrainError> {
        let common = ["train.seed=3", "train.clip=1"];
        // EvolveGCN of PyG-Temporal is as wide as the features.
        let named = |word: &str| self.settings.iter().any(|setting| setting.contains(word));
        let square = named("evolvegcn") && !named("model.variant=paper");
        let device = format!("train.device={device}");
        let of_events = self.settings[0].contains(EVENTS);
        let epochs = format!("train.epochs={}", if of_events { EVENT_EPOCHS } else { EPOCHS });
        let given = self.settings.iter().map(String::as_str);
        let width = (!square).then_some("model.hidden=12");
        let settings = common.into_iter().chain(width).chain(given);
        let settings = settings.chain([device.as_str(), epochs.as_str()]);
        let mut builder = settings.fold(Config::builder(), |builder, text| builder.set(text));
        builder = if of_events {
            // Encodings of long times turn the last bit of a weight into another phase: with ordinary
            // steps two runs of the processor with different vector units differ by per cents, too.
            // Small steps of plain descent compare everything that a step computes and moves.
            builder.set("train.optimiser=sgd").set("train.lr=1e-8")
        } else {
            builder.set("train.frame=4").set("data.split=none")
        };
        Ok(builder.build()?)
    }

    fn losses(&self, device: &str) -> Result<Vec<f64>, TrainError> {
        let mut config = self.config(device)?;
        let mut run = Opened::open(&mut config, &Quiet)?.start(config, None, Timeline::new())?;
        let session = run.session_mut();
        while !session.is_over() {
            if session.epoch(&mut Unobserved)? == EpochEnd::Interrupted {
                break;
            }
        }
        Ok(session.epochs().iter().map(|record| record.loss).collect())
    }

    /// Trains on the processor and on a device.
    ///
    /// # Errors
    /// If one of them cannot be trained on.
    pub fn compare(&self, device: &str) -> Result<ModelComparison, TrainError> {
        let (expected, got) = (self.losses("cpu")?, self.losses(device)?);
        let apart = |(got, expected): (&f64, &f64)| {
            let difference = (got - expected).abs() / expected.abs().max(1e-12);
            if difference.is_nan() { f64::INFINITY } else { difference }
        };
        let difference = if got.len() == expected.len() {
            got.iter().zip(&expected).map(apart).fold(0.0, f64::max)
        } else {
            f64::INFINITY
        };
        Ok(ModelComparison { name: self.name.clone(), difference })
    }
}
