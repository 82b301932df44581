//! Every model on a device against the processor: the losses of the same few epochs, and the gradients of event
//! models.
//!
//! Snapshot models learn: a gradient that is wrong changes the losses of the next epochs. Over events that cannot
//! be asked: encodings of long times turn the last bit of a weight into another phase, so that two runs of the
//! processor with different vector units differ by per cents after a few steps. There the weights stand still (a
//! step is too small for any of them to change), and what is compared besides the losses are the gradients
//! themselves, as the momentum of plain descent sums them up.

use std::collections::BTreeMap;

use zoetrope_config::{Config, ModelName};
use zoetrope_data::Quiet;
use zoetrope_run::Timeline;
use zoetrope_run::checkpoint::{SavedTensor, Tensors};

use crate::error::TrainError;
use crate::observer::Unobserved;
use crate::train::Opened;
use crate::training_run::EpochEnd;

/// How far the losses of a model may lie apart, relative to the processor's, and the gradients of a parameter,
/// relative to the largest one. Both are sums of some thousand terms in another order, each of them rounded to 6e-8.
pub const TOLERANCE: f64 = 1e-4;

/// Epochs of each run over snapshots: on a GPU a step is computed in the first, recorded in the
/// second and launched as recorded in the third.
const EPOCHS: usize = 4;
/// Epochs of each run over events, whose batches are never recorded.
const EVENT_EPOCHS: usize = 2;

/// A step of plain descent over events: a gradient of 10⁶ moves no weight. The momentum sums the gradients of the
/// batches with weights from 0.95 down to about a half, so that none of them is forgotten.
const STILL: [&str; 3] = ["train.optimiser=sgd", "train.lr=1e-30", "train.momentum=0.95"];

/// How a checkpoint names the momentum of a parameter.
const MOMENTUM: &str = ".momentum_buffer";

/// A parameter whose gradients are all smaller than this share of the largest of the model has none: a bias that
/// softmax takes out again has nothing but rounding.
const NO_GRADIENT: f64 = 1e-6;

/// One model on two devices.
#[derive(Debug, Clone)]
pub struct ModelComparison {
    /// The model, its variant and its task.
    pub name: String,
    /// The largest relative difference of the losses of an epoch, or of gradients if these are compared.
    pub difference: f64,
    /// What differs by that much: "the loss", or a parameter.
    pub of: String,
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

/// What a run on a device found.
struct Found {
    losses: Vec<f64>,
    /// The gradients of each parameter, summed up by momentum; none of models that learn.
    gradients: Tensors,
}

impl ModelCase {
    /// Whether it is about events.
    pub fn is_of_events(&self) -> bool {
        self.settings[0].contains(EVENTS)
    }

    fn config(&self, device: &str) -> Result<Config, TrainError> {
        // EvolveGCN of PyG-Temporal is as wide as the features.
        let named = |word: &str| self.settings.iter().any(|setting| setting.contains(word));
        let square = named("evolvegcn") && !named("model.variant=paper");
        let width = (!square).then_some("model.hidden=12");
        let device = format!("train.device={device}");
        let of_events = self.is_of_events();
        let epochs = format!("train.epochs={}", if of_events { EVENT_EPOCHS } else { EPOCHS });
        let given = self.settings.iter().map(String::as_str);
        let rest: &[&str] =
            if of_events { &STILL } else { &["train.clip=1", "train.frame=4", "data.split=none"] };
        let settings = std::iter::once("train.seed=3").chain(width).chain(given);
        let settings = settings.chain([device.as_str(), epochs.as_str()]);
        let settings = settings.chain(rest.iter().copied());
        Ok(settings.fold(Config::builder(), |builder, text| builder.set(text)).build()?)
    }

    fn run(&self, device: &str) -> Result<Found, TrainError> {
        let mut config = self.config(device)?;
        let mut run = Opened::open(&mut config, &Quiet)?.start(config, None, Timeline::new())?;
        let session = run.session_mut();
        while !session.is_over() {
            if session.epoch(&mut Unobserved)? == EpochEnd::Interrupted {
                break;
            }
        }
        let losses = session.epochs().iter().map(|record| record.loss).collect();
        let mut gradients = BTreeMap::new();
        if self.is_of_events() {
            gradients = session.save().optimiser;
            gradients.retain(|name, _| name.ends_with(MOMENTUM));
        }
        Ok(Found { losses, gradients })
    }

    /// Trains on the processor and on a device.
    ///
    /// # Errors
    /// If one of them cannot be trained on.
    pub fn compare(&self, device: &str) -> Result<ModelComparison, TrainError> {
        let (expected, got) = (self.run("cpu")?, self.run(device)?);
        let apart = [("the loss".to_owned(), losses_apart(&expected.losses, &got.losses))];
        let of_gradients = gradients_apart(&expected.gradients, &got.gradients);
        let found = apart.into_iter().chain(of_gradients);
        let worst = found.max_by(|(_, one), (_, other)| one.total_cmp(other));
        let (of, difference) = worst.unwrap_or_default();
        Ok(ModelComparison { name: self.name.clone(), difference, of })
    }
}

/// The largest relative difference of the losses of an epoch.
fn losses_apart(expected: &[f64], got: &[f64]) -> f64 {
    if got.len() != expected.len() {
        return f64::INFINITY;
    }
    let each = got.iter().zip(expected);
    each.map(|(got, expected)| number((got - expected).abs() / expected.abs().max(1e-12)))
        .fold(0.0, f64::max)
}

/// Of each parameter, by how much its gradients differ, relative to its largest one.
fn gradients_apart(expected: &Tensors, got: &Tensors) -> Vec<(String, f64)> {
    let largest = |tensor: &SavedTensor| {
        tensor.data().iter().map(|&value| f64::from(value).abs()).fold(0.0, f64::max)
    };
    let least = NO_GRADIENT * expected.values().map(largest).fold(0.0, f64::max);
    let apart = |(name, expected): (&String, &SavedTensor)| {
        let Some(got) = got.get(name).filter(|got| got.dims() == expected.dims()) else {
            return (name.clone(), f64::INFINITY);
        };
        let values = got.data().iter().zip(expected.data());
        let difference =
            values.map(|(&got, &expected)| number((f64::from(got) - f64::from(expected)).abs()));
        (name.clone(), difference.fold(0.0, f64::max) / largest(expected).max(least).max(1e-30))
    };
    expected.iter().map(apart).collect()
}

/// What is no number is as far away as can be.
fn number(difference: f64) -> f64 {
    if difference.is_nan() { f64::INFINITY } else { difference }
}
