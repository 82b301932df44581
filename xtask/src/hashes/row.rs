//! One configuration of the table.

/// Passes over the training part; half of them before a stop.
const EPOCHS: usize = 2;

/// What every row says itself, so that other defaults do not change the table.
const GIVEN: [&str; 6] = [
    "train.lr=0.01",
    "train.seed=3",
    "train.threads=1",
    "train.optimiser=adam",
    "model.hidden=8",
    "output.tensorboard=false",
];

/// What rows of snapshot models say besides.
const OF_SNAPSHOTS: [&str; 2] = ["train.frame=6", "train.stride=3"];

/// What rows of event models say besides.
const OF_EVENTS: [&str; 1] = ["train.batch_size=60"];

const EVENT_MODELS: [&str; 4] = ["tgn", "jodie", "apan", "tgat"];

/// One configuration.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// Model, task, data, device and what else is set; unlike that of any other row.
    pub(super) name: String,
    /// Whether it is stopped after half of its epochs and continued.
    pub(super) resumes: bool,
    model: &'static str,
    task: &'static str,
    data: &'static str,
    device: &'static str,
    settings: Vec<String>,
}

impl Row {
    pub(super) fn new(
        model: &'static str,
        task: &'static str,
        data: (&'static str, &'static str),
        device: &'static str,
        settings: &str,
    ) -> Self {
        let (short, data) = data;
        let mut name = format!("{model} {task} {short} {device}");
        let settings: Vec<String> = settings.split_whitespace().map(str::to_owned).collect();
        for setting in &settings {
            name.push(' ');
            name.push_str(setting);
        }
        Self { name, resumes: false, model, task, data, device, settings }
    }

    /// The same with a stop after half of the epochs.
    pub(super) fn resumed(mut self) -> Self {
        self.resumes = true;
        self.name.push_str(RESUMED);
        self
    }

    /// The name of the row that does the same without a stop.
    pub(super) fn without_stop(&self) -> Option<&str> {
        self.name.strip_suffix(RESUMED).filter(|_| self.resumes)
    }

    pub(super) fn is_of_events(&self) -> bool {
        EVENT_MODELS.contains(&self.model)
    }

    /// Whether a setting that all rows say means something to this one: EvolveGCN of PyG-Temporal is as wide as the
    /// features, and refuses another width unless it bounds features that are learned.
    fn reads(&self, setting: &str) -> bool {
        let says = |one: &str| self.settings.iter().any(|setting| setting == one);
        let square = self.model.starts_with("evolvegcn") && !says("model.variant=paper");
        !(square && setting.starts_with("model.hidden")) || says("data.features=learned")
    }

    /// The arguments of each command that has to be run, one after the other.
    pub(super) fn commands(&self, more: &[String]) -> Vec<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let epochs = if self.resumes { EPOCHS / 2 } else { EPOCHS }.to_string();
        let mut train: Vec<String> = words(&["train", "--quiet", "--out", "run"]);
        train.extend(words(&["--data", self.data, "--model", self.model, "--task", self.task]));
        train.extend(words(&["--device", self.device, "--epochs", &epochs]));
        let own: &[&str] = if self.is_of_events() { &OF_EVENTS } else { &OF_SNAPSHOTS };
        let given = GIVEN.iter().filter(|text| self.reads(text));
        let given = given.chain(own).map(|text| (*text).to_owned());
        for setting in given.chain(more.iter().cloned()).chain(self.settings.iter().cloned()) {
            train.extend(["--set".to_owned(), setting]);
        }
        let mut commands = vec![train];
        if self.resumes {
            let epochs = EPOCHS.to_string();
            commands.push(words(&["train", "--quiet", "--resume", "run", "--epochs", &epochs]));
        }
        commands
    }
}

const RESUMED: &str = " resumed";
