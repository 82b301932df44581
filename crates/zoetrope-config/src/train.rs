//! `[train]`: how it learns.

use std::fmt;
use std::path::PathBuf;

use toml::Value;

use super::names::names;
use super::rule::{Below, Positive, Share, Whole, Within};
use super::section::section;
use super::setting::Setting;

section! {
    /// How it learns.
    TrainConfig = "train" {
        /// Passes over the training part.
        epochs: usize = 50, Whole(1, 1 << 30);
        /// Learning rate.
        lr: f64 = 0.001, Positive;
        /// Which optimiser.
        optimiser: OptimiserName = OptimiserName::Adam;
        /// Momentum of sgd and rmsprop.
        momentum: f64 = 0.0, Below(0.0, 1.0);
        /// Decay of the running mean of gradients (adam, adamw).
        beta1: f64 = 0.9, Below(0.0, 1.0);
        /// Decay of the running mean of squared gradients (adam, adamw).
        beta2: f64 = 0.999, Below(0.0, 1.0);
        /// Decay of the running mean of squared gradients (rmsprop).
        rho: f64 = 0.99, Below(0.0, 1.0);
        /// Keeps the quotient of adaptive optimisers finite.
        epsilon: f64 = 1e-8, Positive;
        /// How strongly weights are drawn to 0.
        weight_decay: f64 = 0.0, Within(0.0, 1.0);
        /// How the learning rate changes.
        schedule: ScheduleName = ScheduleName::Constant;
        /// Epochs over which the learning rate rises from 0, before any schedule.
        warm_up: usize = 0, Whole(0, 1 << 30);
        /// Epochs between two steps of the step schedule.
        step_every: usize = 10, Whole(1, 1 << 30);
        /// By what the step and plateau schedules multiply the learning rate.
        decay: f64 = 0.5, Share;
        /// Epochs without progress before the plateau schedule acts.
        plateau_patience: usize = 5, Whole(1, 1 << 30);
        /// The learning rate below which no schedule goes.
        min_lr: f64 = 0.0, Within(0.0, 1e6);
        /// Largest norm of all gradients together.
        clip: Option<f64> = None, Positive;
        /// Epochs without progress on the validation part before training stops.
        patience: Option<usize> = None, Whole(1, 1 << 30);
        /// Snapshots in a frame, or "all" for the whole sequence.
        frame: Frame = Frame::Steps(8);
        /// Snapshots from the start of one frame to the start of the next.
        stride: usize = 1, Whole(1, 1 << 30);
        /// Whether the hidden state goes on from one frame to the next.
        carry_state: bool = false;
        /// Which snapshots of a frame the loss looks at.
        loss: LossOn = LossOn::Every;
        /// Whether frames come in a new random order every epoch.
        shuffle: bool = false;
        /// Snapshots after which the gradient no longer flows back; through the whole frame
        /// if not set.
        truncate: Option<usize> = None, Whole(1, 1 << 30);
        /// Frames in one update; events for event models, which go on to the end of their last
        /// time if `task.equal_times` is `future`.
        batch_size: usize = 1, Whole(1, 1 << 30);
        /// The number of parts of a batch; the batches of an epoch are shifted by a random number of such
        /// parts (event models, TGL's random chunk scheduling). Not shifted if not set.
        chunks: Option<usize> = None, Whole(1, 1 << 30);
        /// The number of epochs at the end in which the weights of memory stay fixed while the others
        /// learn to read it. Memory that is rebuilt by replay is then that of the run (event models
        /// with memory).
        settle: usize = 0, Whole(0, 1 << 30);
        /// The same seed makes the same run.
        seed: u64 = 0;
        /// Threads; as many as there are cores if not set. They do not change the result. At
        /// most 64 are started, or four for each core if that is more.
        threads: Option<usize> = None, Whole(1, 4096);
        /// Where it is computed.
        device: Device = Device::Cpu;
        /// How dense products are computed on a GPU. For snapshot models the lower ones are
        /// refused if the loss of the first frame is more than 0.1 % (tf32) or 1 % (bf16) from
        /// that of f32.
        precision: Precision = Precision::F32;
        /// Ranks that share the work: threads of this process, or processes of an MPI job.
        ranks: usize = 1, Whole(1, 1 << 16);
        /// Epochs after which a checkpoint is due; only one at the end if not set.
        checkpoint_every: Option<usize> = Some(10), Whole(1, 1 << 30);
        /// The share of the time that saving may take: if a save took t seconds, the next one begins
        /// no earlier than t / share after it began. A checkpoint that is due waits until then, at most
        /// ten seconds; those at the end of a run and at a stop never wait. If not set, every due
        /// checkpoint is written, and training waits for a slow disk.
        checkpoint_share: Option<f64> = Some(0.03), Share;
        /// Checkpoints that are kept.
        keep_checkpoints: usize = 2, Whole(1, 1 << 16);
        /// Weights to start from, as safetensors.
        weights: Option<PathBuf> = None;
        /// Run folder to continue.
        resume: Option<PathBuf> = None;
        /// Whether a run is continued although its data has changed.
        accept_changed_data: bool = false;
    }
}

impl TrainConfig {
    /// The threads to start, if a number was given: thousands of them on a few cores would only keep each
    /// other from computing, and from noticing that the end was asked for.
    pub fn threads_to_start(&self) -> Option<usize> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.threads.map(|asked| asked.min((4 * cores).max(64)))
    }
}

names! {
    /// The optimisers.
    OptimiserName {
        /// Stochastic gradient descent.
        Sgd = "sgd",
        /// Adam.
        Adam = "adam",
        /// Adam with decoupled weight decay.
        AdamW = "adamw",
        /// RMSprop.
        RmsProp = "rmsprop",
    }
}

names! {
    /// How the learning rate changes.
    ScheduleName {
        /// It does not.
        Constant = "constant",
        /// Multiplied by `decay` every `step_every` epochs.
        Step = "step",
        /// Half a cosine from `lr` to `min_lr` over all epochs.
        Cosine = "cosine",
        /// Rises over `warm_up` epochs, then stays.
        WarmUp = "warm-up",
        /// Multiplied by `decay` after `plateau_patience` epochs without progress.
        Plateau = "plateau",
    }
}

names! {
    /// Which snapshots of a frame the loss looks at.
    LossOn {
        /// The mean over all of them.
        Every = "every",
        /// The last one.
        Last = "last",
    }
}

/// How many snapshots a frame has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// The whole sequence.
    All,
    /// So many.
    Steps(usize),
}

impl Frame {
    /// The number of snapshots, given how many there are.
    pub fn steps(self, all: usize) -> usize {
        match self {
            Self::All => all,
            Self::Steps(steps) => steps,
        }
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Steps(steps) => steps.fmt(f),
        }
    }
}

impl Setting for Frame {
    fn expected() -> String {
        "a whole number from 1, or \"all\"".into()
    }

    fn read(value: &Value) -> Option<Self> {
        match value.as_str() {
            Some("all") => Some(Self::All),
            _ => usize::read(value).filter(|&steps| steps > 0).map(Self::Steps),
        }
    }

    fn write(&self) -> Value {
        match self {
            Self::All => Value::String("all".into()),
            Self::Steps(steps) => steps.write(),
        }
    }
}

/// Where it is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Device {
    /// The processor.
    Cpu,
    /// A GPU by its number.
    Cuda(u32),
}

names! {
    /// How dense products are computed on a GPU.
    Precision {
        /// In f32.
        F32 = "f32",
        /// Operands rounded to TF32, sums in f32.
        Tf32 = "tf32",
        /// Operands rounded to bfloat16, sums in f32.
        Bf16 = "bf16",
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}

impl Setting for Device {
    fn expected() -> String {
        "cpu, cuda or cuda:N".into()
    }

    fn read(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "cpu" => Some(Self::Cpu),
            "cuda" => Some(Self::Cuda(0)),
            text => text.strip_prefix("cuda:")?.parse().ok().map(Self::Cuda),
        }
    }

    fn write(&self) -> Value {
        Value::String(self.to_string())
    }

    fn names() -> Vec<&'static str> {
        vec!["cpu", "cuda"]
    }
}
