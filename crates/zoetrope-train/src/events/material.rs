//! A stream of events as the trainer sees it: parts, features, and the index of every vertex's
//! events.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use zoetrope_config::{Config, FeatureRule, TaskName};
use zoetrope_data::split::{InductiveSplit, Part, Split};
use zoetrope_data::{Dataset, Loaded, Progress};
use zoetrope_graph::sampler::{Moment, Sampled, Sampler};
use zoetrope_graph::{Direction, EventStore, TemporalIndex, Time, VertexId};
use zoetrope_nn::memory::EventData;
use zoetrope_plan::{BatchesOnGpu, Residency};
use zoetrope_run::{DataSummary, digest};
use zoetrope_tensor::cuda::Consumer;
use zoetrope_tensor::cuda::TemporalSampler;
use zoetrope_tensor::{Device, Fixed, Matrix};

use super::features::{ChosenColumns, EventFeatures};
use super::identity::EventRecord;
use super::recall::{Agreement, SavedRun};
use crate::error::TrainError;
use crate::scaling::columns::Table;
use crate::scaling::{FittedScaling, Scaled, TargetScale};
use crate::snapshots::material::{self, one_hot_must_fit, short_name};

/// A stream of events with its parts.
#[derive(Debug)]
pub struct EventInput {
    /// A short name: the last part of the path, or the synthetic name.
    pub name: String,
    /// The events.
    pub store: EventStore,
    /// A row of features for each vertex, if the data has them.
    pub vertex_features: Option<Arc<Matrix>>,
    /// Which events train, validate and test.
    pub split: Split,
    /// The digest of the files, or of the contents if there are no files.
    pub sha256: String,
    /// What a user should know about the data.
    pub warnings: Vec<String>,
    /// What the features were scaled by.
    pub scaled: Scaled,
    /// By vertex: whether no training event touches it.
    pub unseen: Vec<bool>,
    /// The vertices that were held out of training on purpose, ascending.
    pub held_out: Vec<VertexId>,
    /// How the events stand to those of the run whose model is used.
    pub(super) agreement: Agreement,
    /// The digests of the events, once they were asked for.
    record: OnceLock<EventRecord>,
    features: EventFeatures,
    /// The training events, if some were left out.
    training: Option<Vec<usize>>,
    index: TemporalIndex,
    /// The index without the events that were left out of training.
    training_index: Option<TemporalIndex>,
    /// The features of all events on the GPU, if one computes.
    on_gpu: Option<Fixed>,
    /// The index, and the one of training, on the GPU, if neighbours are sampled there.
    samplers: [Option<TemporalSampler>; 2],
}

/// Every vertex's events, and where they are sampled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Neighbours<'a> {
    index: &'a TemporalIndex,
    on_gpu: Option<&'a TemporalSampler>,
}

impl Neighbours<'_> {
    /// As [`Sampler::sample`], on the GPU if the index lies there.
    pub(super) fn sample(
        self,
        sampler: &Sampler,
        moments: &[Moment],
        step: u32,
        sampled: &mut Sampled,
    ) {
        match self.on_gpu {
            Some(on_gpu) => on_gpu.sample(sampler, moments, step, sampled),
            None => sampler.sample(self.index, moments, step, sampled),
        }
    }
}

/// Refuses events whose index does not fit into the memory, before it is made.
fn index_must_fit(store: &EventStore) -> Result<(), TrainError> {
    // Each event stands at both of its ends, with the other end, its number and its time.
    let (events, vertices) = (store.len() as u64, u64::from(store.vertices()));
    let bytes = 32 * events + 8 * vertices;
    let what = format!("the index of {events} events by vertex");
    Ok(zoetrope_heap::need(&what, bytes, "give fewer events")?)
}

impl EventInput {
    /// Opens what `[data]` names.
    ///
    /// # Errors
    /// If the data cannot be read or has no events.
    pub fn open(config: &Config, progress: &dyn Progress) -> Result<Self, TrainError> {
        Self::from_loaded(material::read(config, None, progress)?, config, None, None)
    }

    /// The material of a data set that was read, for the model of a run if there is one: if the
    /// events begin with those that the run was trained on, parts end where those of the run do, and
    /// the last one goes on to the end. Features are scaled by the numbers of the run if there are any
    /// rather than by numbers that are fitted on this data.
    ///
    /// # Errors
    /// As [`open`](Self::open), and if the numbers do not fit this data.
    pub(crate) fn from_loaded(
        loaded: Loaded,
        config: &Config,
        run: Option<&SavedRun>,
        scaling: Option<&FittedScaling>,
    ) -> Result<Self, TrainError> {
        let sha256 = digest::of(&loaded)?;
        let warnings = loaded.notes.warnings;
        let store = match loaded.dataset {
            Dataset::Events(store) => store,
            Dataset::Snapshots(_) => {
                return Err(TrainError::Unfit {
                    what: format!(
                        "{} learns from events, but this data has snapshots",
                        config.model.name.name()
                    ),
                    advice: "choose a model for snapshots, for example --model tgcn".to_owned(),
                });
            }
        };
        let mut material = Self::new_for(store, config, run, scaling)?;
        material.name = short_name(&config.data.path);
        material.sha256 = sha256;
        material.warnings.extend(warnings);
        Ok(material)
    }

    /// The material of a stream that is there already.
    ///
    /// # Errors
    /// If it has no events, or features that are not finite.
    pub fn new(store: EventStore, config: &Config) -> Result<Self, TrainError> {
        Self::new_for(store, config, None, None)
    }

    /// As [`new`](Self::new), for the model of a run, whose parts events that go on from its own keep.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn new_for(
        store: EventStore,
        config: &Config,
        run: Option<&SavedRun>,
        scaling: Option<&FittedScaling>,
    ) -> Result<Self, TrainError> {
        if store.is_empty() {
            return Err(TrainError::Unfit {
                what: "the data has no event".to_owned(),
                advice: "look at it with `zoetrope data inspect`".to_owned(),
            });
        }
        // The weights are the answer to edge regression, and to edge classification without labels.
        let hidden = match config.task.name {
            Some(TaskName::EdgeRegression) => true,
            Some(TaskName::EdgeClassification) => store.label().is_none(),
            _ => false,
        };
        let chosen = ChosenColumns::of(&store, &config.data.drop_features.0, hidden)?;
        let agreement =
            run.map_or(Agreement::Differ, |run| run.agreement(&store, &chosen.values(&store)));
        let run = run.filter(|_| agreement != Agreement::Differ);
        let split = match run.and_then(|run| run.parts(config)) {
            Some([train, validation]) => Split::by_events(&store, train, validation),
            None => Split::by_time(&store, config.data.split.fractions()),
        };
        let seed = config.train.seed;
        let mut inductive = match run.and_then(|run| run.held_out(config, &store)) {
            Some(vertices) => InductiveSplit::holding_out(&store, split.clone(), vertices),
            None => InductiveSplit::new(&store, split.clone(), config.data.inductive, seed)?,
        };
        if inductive.held_out.is_empty() {
            // The list of all training events says nothing, and the index needs the memory.
            inductive.train = Vec::new();
        }
        index_must_fit(&store)?;
        let index = TemporalIndex::new(&store, Direction::Both);
        let mut warnings = Vec::new();
        let (mut training, mut training_index) = (None, None);
        if !inductive.held_out.is_empty() {
            let mut kept = vec![false; split.train.end];
            inductive.train.iter().for_each(|&event| kept[event] = true);
            let keep = |event| kept[event as usize];
            let within = |event: u64| (event as usize) < kept.len() && keep(event);
            training_index = Some(TemporalIndex::of_events(&store, Direction::Both, within));
            warnings.push(format!(
                "{} vertices and {} of their events are held out of training",
                inductive.held_out.len(),
                split.train.len() - inductive.train.len()
            ));
            training = Some(inductive.train);
        }
        let mut scaled = Scaled::default();
        let mut known = vec![training.is_none(); split.train.end];
        training.iter().flatten().for_each(|&event| known[event] = true);
        let features = EventFeatures::of(
            &store,
            chosen,
            &config.data,
            scaling.and_then(|saved| saved.event_features.as_ref()),
            |event| known.get(event) == Some(&true),
            (&mut scaled, &mut warnings),
        )?;
        if config.task.name == Some(TaskName::EdgeRegression)
            && let Some(weight) = store.weight()
        {
            let of_run = scaling.and_then(|saved| saved.event_target);
            let values = |at: usize| weight[at];
            let trained = (0..split.train.end).filter(|&event| known[event]).map(values);
            let fitted = || TargetScale::of(&trained.collect::<Vec<f32>>());
            scaled.fitted.event_target = Some(of_run.unwrap_or_else(fitted));
            scaled.of_run |= of_run.is_some();
        }
        let vertex_features = vertex_features(
            &store,
            config,
            scaling,
            &inductive.unseen,
            (&mut scaled, &mut warnings),
        )?;
        Ok(Self {
            name: String::new(),
            vertex_features,
            split,
            sha256: String::new(),
            warnings,
            scaled,
            unseen: inductive.unseen,
            held_out: inductive.held_out,
            agreement,
            record: OnceLock::new(),
            features,
            training,
            index,
            training_index,
            on_gpu: None,
            samplers: [None, None],
            store,
        })
    }

    /// What a run on this material has learnt from, for its checkpoints.
    pub(super) fn record(&self) -> &EventRecord {
        self.record.get_or_init(|| {
            let features = self.features.as_read(&self.store);
            EventRecord::new(&self.store, &features, &self.split, &self.held_out)
        })
    }

    /// Whether there are events that the run whose model is used did not have.
    pub(super) fn goes_on(&self) -> bool {
        matches!(self.agreement, Agreement::GoOn(_) | Agreement::SameTraining)
    }

    /// The number of events of the run whose model is used, if there are more.
    pub fn run_events(&self) -> Option<usize> {
        match self.agreement {
            Agreement::GoOn(events) => Some(events),
            _ => None,
        }
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.store.vertices() as usize
    }

    /// What identifies it.
    pub(crate) fn summary(&self) -> DataSummary {
        DataSummary {
            name: self.name.clone(),
            vertices: self.vertices() as u64,
            events: self.store.len() as u64,
            snapshots: 0,
            edges: 0,
            features: self.feature_width() as u64,
            sha256: self.sha256.clone(),
        }
    }

    /// The width of the features of an event, as models see them.
    pub fn feature_width(&self) -> usize {
        self.features.width()
    }

    /// The names of the features of an event, as models see them.
    pub fn feature_names(&self) -> &[String] {
        self.features.names()
    }

    /// The names of the columns that the features of an event are made of, as the data has them.
    pub(super) fn columns_as_read(&self) -> &[String] {
        self.features.columns_as_read()
    }

    /// Rows with the columns that [`columns_as_read`](Self::columns_as_read) names, as models see them.
    pub(super) fn scale_rows(&self, rows: &[f32]) -> Vec<f32> {
        match &self.scaled.fitted.event_features {
            Some(fitted) if !rows.is_empty() => fitted.applied(rows),
            _ => rows.to_vec(),
        }
    }

    /// The features of all events, row by row.
    pub(super) fn features(&self) -> &[f32] {
        self.features.values(&self.store)
    }

    /// The columns of the stream that memory needs.
    pub(super) fn data(&self) -> EventData<'_> {
        EventData {
            src: self.store.src(),
            dst: self.store.dst(),
            time: self.store.time(),
            features: self.features(),
            feature_width: self.feature_width(),
            on_gpu: self.on_gpu.as_ref(),
        }
    }

    /// Puts what batches read where models compute, as the plan says: the features of all events, which batches
    /// bring along otherwise, and the index, without which neighbours are sampled on the host.
    ///
    /// # Errors
    /// If there are more events than a GPU can number.
    pub(super) fn place_on(
        &mut self,
        device: &Device,
        planned: BatchesOnGpu,
    ) -> Result<(), TrainError> {
        let Some(gpu) = device.gpu() else { return Ok(()) };
        if self.store.len() > u32::MAX as usize {
            return Err(TrainError::Unfit {
                what: format!("a GPU numbers fewer than 2^32 events, not {}", self.store.len()),
                advice: "use --device cpu".to_owned(),
            });
        }
        let width = self.feature_width();
        let stay = width > 0 && planned.features == Residency::Resident;
        let features =
            || gpu.charging(Consumer::Features, || Fixed::new(gpu, width, self.features()));
        self.on_gpu = stay.then(features);
        if planned.residency == Residency::Resident {
            self.samplers = self.indices().map(|index| Some(TemporalSampler::new(gpu, index?)));
        }
        Ok(())
    }

    fn indices(&self) -> [Option<&TemporalIndex>; 2] {
        [Some(&self.index), self.training_index.as_ref()]
    }

    /// The bytes that the index of all events takes on a GPU.
    pub(super) fn index_bytes_on_gpu(&self) -> usize {
        self.indices().iter().flatten().map(|index| TemporalSampler::bytes_of(index)).sum()
    }

    /// The bytes of the features of all events.
    pub(super) fn feature_bytes(&self) -> usize {
        if self.feature_width() == 0 { 0 } else { size_of_val(self.features()) }
    }

    /// Whether batches name the features of events by the numbers of these.
    pub(super) fn numbers_features(&self) -> bool {
        self.on_gpu.is_some()
    }

    /// The time of the first event, from which on memory counts.
    pub fn origin(&self) -> Time {
        self.store.time()[0]
    }

    /// The number of training events.
    pub fn training_events(&self) -> usize {
        self.training.as_ref().map_or(self.split.train.len(), Vec::len)
    }

    /// The number in the stream of the event at a position of a part, as [`positions`] counts.
    ///
    /// [`positions`]: Self::positions
    pub(super) fn event(&self, part: Part, position: usize) -> usize {
        match (part, &self.training) {
            (Part::Train, Some(kept)) => kept[position],
            _ => position,
        }
    }

    /// Tells the time of the event at a position of a part.
    pub(super) fn clock(&self, part: Part) -> impl Fn(usize) -> Time + '_ {
        move |position| self.store.time()[self.event(part, position)]
    }

    /// The positions of some events of a part: their numbers, or their places among the events
    /// that were not left out of training.
    pub(super) fn positions(&self, part: Part, events: Range<usize>) -> Range<usize> {
        match (part, &self.training) {
            (Part::Train, Some(kept)) => {
                let place = |event| kept.partition_point(|&kept| kept < event);
                place(events.start)..place(events.end)
            }
            _ => events,
        }
    }

    /// Every vertex's events; in training without those that are held out.
    pub(super) fn neighbours(&self, part: Part) -> Neighbours<'_> {
        let [all, training] = &self.samplers;
        match (part, &self.training_index) {
            (Part::Train, Some(index)) => Neighbours { index, on_gpu: training.as_ref() },
            _ => Neighbours { index: &self.index, on_gpu: all.as_ref() },
        }
    }

    /// Whether an event of the stream has an end that training never saw.
    pub(super) fn is_inductive(&self, event: usize) -> bool {
        let (src, dst) = (self.store.src()[event], self.store.dst()[event]);
        self.unseen[src as usize] || self.unseen[dst as usize]
    }
}

/// The features of vertices, scaled. Numbers are fitted on the vertices that training sees: others
/// may belong to the future.
fn vertex_features(
    store: &EventStore,
    config: &Config,
    saved: Option<&FittedScaling>,
    unseen: &[bool],
    (scaled, warnings): (&mut Scaled, &mut Vec<String>),
) -> Result<Option<Arc<Matrix>>, TrainError> {
    if let Some(rows) = made_features(store, config.data.features)? {
        return Ok(Some(Arc::new(rows)));
    }
    let given = store.vertex_features.as_ref().filter(|(width, _)| *width > 0);
    let saved = saved.and_then(|saved| saved.vertex_features.as_ref());
    let by_data = config.data.features == FeatureRule::Auto;
    let Some((width, values)) = given.filter(|_| by_data) else {
        return Table::absent("vertex", saved.filter(|_| by_data)).map(|()| None);
    };
    let names: Vec<String> = (0..*width).map(|column| column.to_string()).collect();
    let table = Table { values, names: &names, row: "vertex" };
    let found = table.scale(&config.data, saved, |vertex| !unseen[vertex], warnings)?;
    scaled.of_run |= found.of_run;
    scaled.missing_features += found.missing;
    let width = found.fitted.width();
    let made = found.values.as_deref().unwrap_or(values);
    let matrix = Matrix::from_slice(made.len() / width, width, made)?;
    scaled.fitted.vertex_features = Some(found.fitted);
    Ok(Some(Arc::new(matrix)))
}

/// A row of features for each vertex that the rule makes; None if they are the data's, or if the
/// network learns them.
fn made_features(store: &EventStore, rule: FeatureRule) -> Result<Option<Matrix>, TrainError> {
    let vertices = store.vertices() as usize;
    let rows = match rule {
        FeatureRule::Auto | FeatureRule::Learned => return Ok(None),
        FeatureRule::Ones => Matrix::from_slice(vertices, 1, &vec![1.0; vertices])?,
        FeatureRule::OneHot => {
            one_hot_must_fit(vertices, vertices)?;
            let mut rows = Matrix::zeros(vertices, vertices);
            (0..vertices).for_each(|at| rows.as_mut_slice()[at * vertices + at] = 1.0);
            rows
        }
        FeatureRule::Degree => {
            return Err(TrainError::Unfit {
                what: "data.features = \"degree\": the degree of a vertex in a stream of events \
                       would tell of its future"
                    .to_owned(),
                advice: "use learned, one-hot or ones, or a snapshot model".to_owned(),
            });
        }
    };
    Ok(Some(rows))
}
