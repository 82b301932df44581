//! Kinds of runs, keys with other values, and what may stay silent.

/// A kind of run: what it is set to.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) settings: &'static [&'static str],
}

impl Kind {
    pub(crate) fn on_gpu(&self) -> bool {
        self.settings.contains(&"train.device=cuda")
    }

    /// What makes every run of snapshots or of events small.
    pub(crate) fn common(&self) -> &'static [&'static str] {
        let model = |name: &str| self.settings.contains(&name);
        let events = ["model.name=tgn", "model.name=jodie", "model.name=apan", "model.name=tgat"];
        if events.into_iter().any(model) {
            &["train.epochs=2", "train.threads=1", "train.batch_size=60", "train.lr=0.01"]
        } else {
            &[
                "train.epochs=2",
                "train.threads=1",
                "train.frame=6",
                "train.stride=3",
                "train.lr=0.01",
            ]
        }
    }
}

/// A key, other values than its default, and what has to be set for it to be seen.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) values: &'static [&'static str],
    pub(crate) with: &'static [&'static str],
}

const SERIES: &str = "data.path=synthetic:demo?vertices=24&steps=40";
const NUMBERS: &str =
    "data.path=synthetic:power-law?vertices=40&steps=24&edges=160&features=3&targets=neighbours";
const BLOCKS: &str = "data.path=synthetic:sbm?vertices=40&steps=24&communities=4";
const PAYMENTS: &str = "data.path=synthetic:aml?accounts=48&events=600&days=24&patterns=8";
const STREAM: &str = "data.path=synthetic:bipartite?users=30&items=12&tastes=3&events=600&features=3&labels=0.2&days=24";

const REGRESSION: &str = "task.name=node-regression";
const CLASSES: &str = "task.name=node-classification";
const LINKS: &str = "task.name=link-prediction";
const EDGES: &str = "task.name=edge-classification";

const fn kind(name: &'static str, settings: &'static [&'static str]) -> Kind {
    Kind { name, settings }
}

pub(crate) const KINDS: &[Kind] = &[
    kind("tgcn on a series", &["model.name=tgcn", REGRESSION, SERIES]),
    kind("cd-gcn for classes", &["model.name=cd-gcn", CLASSES, BLOCKS]),
    kind("tm-gcn for links", &["model.name=tm-gcn", LINKS, BLOCKS]),
    kind("tgcn on cut payments", &["model.name=tgcn", EDGES, PAYMENTS, "data.window=1d"]),
    kind(
        "tgcn on a cut file",
        &["model.name=tgcn", LINKS, "data.path=events.csv", "data.window=1d"],
    ),
    kind("evolvegcn-o for links", &["model.name=evolvegcn-o", LINKS, BLOCKS]),
    kind("evolvegcn-h for numbers", &["model.name=evolvegcn-h", REGRESSION, NUMBERS]),
    kind("gc-lstm for numbers", &["model.name=gc-lstm", REGRESSION, NUMBERS]),
    kind("mpnn-lstm for classes", &["model.name=mpnn-lstm", CLASSES, BLOCKS]),
    kind("dysat for links", &["model.name=dysat", LINKS, BLOCKS]),
    kind("two ranks by snapshot", &["model.name=tm-gcn", LINKS, BLOCKS, "train.ranks=2"]),
    kind(
        "two ranks by vertex",
        &["model.name=cd-gcn", CLASSES, BLOCKS, "train.ranks=2", "plan.strategy=vertex"],
    ),
    kind(
        "four ranks, hybrid",
        &["model.name=tm-gcn", LINKS, BLOCKS, "train.ranks=4", "plan.strategy=hybrid"],
    ),
    kind("tgn for links", &["model.name=tgn", LINKS, STREAM]),
    kind("tgn on a file", &["model.name=tgn", LINKS, "data.path=events.csv"]),
    kind("tgn for edge classes", &["model.name=tgn", EDGES, PAYMENTS]),
    kind("tgn for users", &["model.name=tgn", CLASSES, STREAM]),
    kind("jodie for links", &["model.name=jodie", LINKS, STREAM]),
    kind("apan for links", &["model.name=apan", LINKS, STREAM]),
    kind("tgat for edge numbers", &["model.name=tgat", "task.name=edge-regression", PAYMENTS]),
    kind("tm-gcn on a GPU", &["model.name=tm-gcn", LINKS, BLOCKS, "train.device=cuda"]),
    kind(
        "two ranks on GPUs",
        &["model.name=tm-gcn", LINKS, BLOCKS, "train.device=cuda", "train.ranks=2"],
    ),
    kind("tgn on a GPU", &["model.name=tgn", LINKS, STREAM, "train.device=cuda"]),
];

const fn key(name: &'static str, values: &'static [&'static str]) -> Key {
    Key { name, values, with: &[] }
}

const fn seen(
    name: &'static str,
    values: &'static [&'static str],
    with: &'static [&'static str],
) -> Key {
    Key { name, values, with }
}

pub(crate) const KEYS: &[Key] = &[
    key("data.format", &["npz"]),
    key("data.src", &["1"]),
    key("data.dst", &["0"]),
    key("data.time", &["4"]),
    key("data.weight", &["false"]),
    key("data.label", &["false"]),
    key("data.kind", &["4"]),
    key("data.feature", &["[]"]),
    key("data.delimiter", &["tab"]),
    key("data.header", &["false"]),
    key("data.time_unit", &["ms"]),
    key("data.bipartite", &["true"]),
    key("data.text_ids", &["true"]),
    seen("data.lenient", &["true"], &["data.path=bad.csv"]),
    seen("data.max_problems", &["1"], &["data.path=bad.csv"]),
    key("data.lags", &["3"]),
    key("data.split", &["60/20/20"]),
    key("data.window", &["2d"]),
    key("data.merge", &["last", "count"]),
    key("data.until_removed", &["true"]),
    key("data.undirected", &["true"]),
    key("data.weights", &["ones"]),
    key("data.edge_life", &["3"]),
    key("data.m_product", &["3"]),
    key("data.features", &["one-hot"]),
    seen("data.learned_width", &["5"], &["data.features=learned"]),
    key("data.scaling", &["overall"]),
    key("data.missing", &["0"]),
    key("data.feature_scaling", &["standard"]),
    key("data.missing_features", &["mask"]),
    key("data.drop_features", &["[0]"]),
    key("data.inductive", &["0.2"]),
    key("model.hidden", &["12"]),
    key("model.layers", &["3"]),
    key("model.heads", &["4", "8"]),
    key("model.dropout", &["0.4"]),
    key("model.k", &["3"]),
    key("model.normalisation", &["rw"]),
    key("model.bandwidth", &["3"]),
    key("model.variant", &["paper", "pyg"]),
    key("model.decoder", &["linear", "mlp", "dot", "concat"]),
    key("model.time_width", &["6"]),
    key("model.updater", &["lstm"]),
    key("model.message", &["mlp"]),
    key("model.combine", &["mean"]),
    key("model.mailbox", &["3"]),
    key("model.embedding", &["sum", "identity"]),
    key("model.neighbours", &["3"]),
    key("model.sampling", &["uniform", "recent"]),
    key("task.classes", &["5"]),
    key("task.class_weights", &["balanced"]),
    key("task.own_features", &["true", "false"]),
    key("task.theta", &["0.5"]),
    key("task.negatives", &["3"]),
    key("task.candidates", &["7"]),
    key("task.all_pairs", &["true"]),
    key("task.hits", &["2"]),
    seen("task.metric", &["loss"], &["train.patience=1"]),
    key("task.neighbours", &["batch-stale"]),
    key("task.equal_times", &["past", "batch"]),
    key("task.pool", &["all", "mixed"]),
    key("train.epochs", &["3"]),
    key("train.lr", &["0.02"]),
    key("train.optimiser", &["sgd"]),
    seen("train.momentum", &["0.5"], &["train.optimiser=sgd"]),
    key("train.beta1", &["0.5"]),
    key("train.beta2", &["0.9"]),
    seen("train.rho", &["0.5"], &["train.optimiser=rmsprop"]),
    key("train.epsilon", &["0.01"]),
    key("train.weight_decay", &["0.1"]),
    key("train.schedule", &["cosine"]),
    key("train.warm_up", &["2"]),
    seen("train.step_every", &["1"], &["train.schedule=step"]),
    seen("train.decay", &["0.1"], &["train.schedule=step", "train.step_every=1"]),
    seen(
        "train.plateau_patience",
        &["1"],
        &["train.schedule=plateau", "train.lr=10", "train.epochs=6"],
    ),
    seen("train.min_lr", &["0.009"], &["train.schedule=cosine"]),
    key("train.clip", &["0.01"]),
    seen("train.patience", &["1"], &["train.lr=10", "train.epochs=6"]),
    key("train.frame", &["5"]),
    key("train.stride", &["2"]),
    seen("train.carry_state", &["true"], &["train.stride=6"]),
    key("train.loss", &["last"]),
    key("train.shuffle", &["true"]),
    key("train.truncate", &["2"]),
    key("train.batch_size", &["2"]),
    key("train.chunks", &["2"]),
    key("train.settle", &["1"]),
    key("train.seed", &["5"]),
    key("train.precision", &["bf16"]),
    key("train.checkpoint_every", &["1"]),
    seen("train.keep_checkpoints", &["1"], &["train.checkpoint_every=1"]),
    key("plan.reuse", &["false"]),
    key("plan.group", &["2"]),
    key("plan.blocks", &["2"]),
    seen("plan.recompute", &["false"], &["plan.blocks=2"]),
    key("plan.strategy", &["snapshot", "vertex"]),
    key("plan.members", &["4"]),
    key("plan.overlap", &["true"]),
    key("plan.device_transport", &["host", "nccl"]),
    key("plan.order", &["update-first", "aggregate-first"]),
    key("plan.memory_limit", &["1MB"]),
    key("plan.residency", &["stream"]),
    seen("plan.block_states", &["stream"], &["plan.blocks=4"]),
    seen("plan.difference", &["on", "off"], &["plan.residency=stream"]),
    key("plan.record", &["false"]),
    key("plan.deduplicate", &["false"]),
    key("plan.prefetch", &["false"]),
    key("output.trace", &["true"]),
    key("output.tensorboard", &["false"]),
];

/// Keys that are not tried, and why.
pub(crate) const NOT_HERE: &[(&str, &str)] = &[
    ("data.path", "every kind of run has its own"),
    ("model.name", "every kind of run has its own"),
    ("task.name", "every kind of run has its own"),
    ("task.negatives_file", "a file of its own: tests/negatives.rs"),
    ("train.device", "every kind of run has its own"),
    ("train.ranks", "every kind of run has its own"),
    ("train.threads", "threads change no result and no file, only the time"),
    ("train.checkpoint_share", "decides by the clock: train/pace.rs and train/saver.rs"),
    ("train.weights", "a file of its own: tests/training.rs"),
    ("train.resume", "a run of its own: tests/checkpoint.rs"),
    ("train.accept_changed_data", "a run of its own: tests/changed_data.rs"),
    ("plan.name", "a planner or the file of a plan: tests/ranks.rs"),
    (
        "plan.timeout",
        "seen if a rank hangs: tests/faults.rs; refused for one rank: tests/sharing.rs",
    ),
    ("plan.partitioner", "a library that may not be installed: tests/ranks.rs"),
    ("output.dir", "every run has its own"),
];

/// Keys that may be silent in some kind of run, and why; they act in another.
pub(crate) const SILENT: &[(&str, &str)] = &[
    ("data.delimiter", "a delimiter that is there anyway is no other one"),
    ("data.time_unit", "the unit of times without a date is their tick"),
    ("data.bipartite", "numbers of both sides may be told apart already"),
    ("data.text_ids", "vertices keep their names, whatever their kind"),
    ("data.weights", "a graph without weights has ones, none of them negative"),
    ("data.until_removed", "nothing removes an edge in data without a column for it"),
    ("data.feature_scaling", "`auto` may be that already"),
    ("data.missing_features", "nothing is missing in data that is made"),
    ("model.layers", "the number may be the model's own"),
    ("model.heads", "the number may be the model's own"),
    ("model.variant", "tm-gcn and wd-gcn are the same in both sources"),
    ("model.embedding", "the model's own may be named"),
    ("model.sampling", "the model's own may be named"),
    ("model.decoder", "the task's own may be named"),
    ("task.own_features", "the task's own rule may be named"),
    ("task.equal_times", "times that differ are never equal"),
    ("train.loss", "models that read whole frames answer for the last snapshot alone"),
    ("train.precision", "the emulated GPU computes all products alike"),
    ("plan.order", "the order that is cheaper may be named"),
    ("plan.strategy", "the strategy that is chosen may be named"),
    ("plan.overlap", "seen in the trace of ranks, and in bits only by chance"),
    ("plan.device_transport", "the way that is chosen may be named"),
    ("plan.difference", "what is chosen may be named"),
    ("plan.members", "the number that is chosen may be named"),
];

/// Files beside every run: name and content.
pub(crate) const FILES: [(&str, &str); 2] =
    [("events.csv", include_str!("events.csv")), ("bad.csv", include_str!("bad.csv"))];
