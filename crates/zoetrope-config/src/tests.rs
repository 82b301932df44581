use super::*;

fn message(build: impl FnOnce(ConfigBuilder) -> ConfigBuilder) -> String {
    build(Config::builder()).build().unwrap_err().to_string()
}

#[test]
fn defaults_are_in_their_own_ranges_and_free_of_contradictions() {
    let config = Config::default();
    config.check().unwrap();
    assert_eq!(Config::from_toml(&config.to_toml(), "config.toml").unwrap(), config);
}

#[test]
fn defaults_of_every_model_are_free_of_contradictions_and_read_back_equal() {
    for &model in ModelName::ALL {
        let config = Config::builder().set(&format!("model.name={model}")).build().unwrap();
        assert_eq!(config, Config::defaults_for(model), "{model}");
        assert_eq!(Config::from_toml(&config.to_toml(), "config.toml").unwrap(), config, "{model}");
    }
}

#[test]
fn defaults_follow_the_model_of_the_strongest_layer() {
    let text = "[train]\nepochs = 3\n[model]\nname = \"tgcn\"\n";
    let of = |settings: &[&str]| {
        let layers = Config::builder().text(text, "a.toml");
        settings.iter().fold(layers, |layers, text| layers.set(text)).build().unwrap()
    };
    let (snapshots, events) = (of(&[]), of(&["model.name=tgn"]));
    assert_eq!((snapshots.train.lr, snapshots.train.batch_size), (0.001, 1));
    assert_eq!((events.train.lr, events.train.batch_size), (1e-3, 200));
    assert_eq!((events.train.epochs, events.model.hidden, events.model.heads), (3, 100, 2));
    assert_eq!((events.model.variant, events.model.dropout), (Variant::Tgl, 0.2));
    let pyg = of(&["model.name=tgn", "model.variant=pyg"]);
    assert_eq!((pyg.model.variant, pyg.model.dropout), (Variant::Pyg, 0.1));
}

#[test]
fn keys_of_the_other_kind_of_model_are_refused() {
    let refused = |model: &str, setting: &str, part: &str| {
        let text = message(|layers| layers.set(&format!("model.name={model}")).set(setting));
        assert!(text.contains(part), "{model}, {setting}: {text}");
    };
    for setting in [
        "train.frame=4",
        "train.stride=2",
        "data.window=1d",
        "plan.reuse=false",
        "task.theta=0.5",
        "data.scaling=raw",
    ] {
        refused("tgn", setting, "only snapshot models would read it");
    }
    for setting in [
        "task.neighbours=batch-stale",
        "task.equal_times=past",
        "task.pool=all",
        "train.chunks=1",
        "data.drop_features=0",
        "data.inductive=0.1",
        "plan.prefetch=false",
        "model.updater=gru",
    ] {
        refused("tgcn", setting, "only event models would read it");
    }
    refused("tgat", "model.updater=gru", "only tgn, jodie and apan would read it");
    refused("tgat", "model.embedding=time", "no memory");
    refused("jodie", "model.neighbours=5", "attention or a sum over neighbours");
    refused("jodie", "model.dropout=0.5", "attention over neighbours or mails");
    refused("tgn", "model.mailbox=4", "a transformer updater");
    refused("tgn", "model.updater=transformer", "apan");
    refused("apan", "model.updater=gru", "attention over mails");
    refused("apan", "model.embedding=attention", "neighbours are not asked");
    refused("apan", "model.message=mlp", "reads them as they are");
    refused("jodie", "model.variant=pyg", "use tgl");
    refused("tgcn", "model.variant=tgl", "use pygt or paper");
    refused("tgn", "train.chunks=3", "multiple of the chunks");
    refused("tgn", "model.hidden=101", "multiple of the heads");
    refused("tgn", "task.name=node-regression", "event models do not do this task");
    refused("tgcn", "task.name=edge-regression", "snapshot models do not do this task");
}

#[test]
fn the_effective_tree_of_a_model_of_events_reads_back_equal() {
    let settings = [
        "model.name=tgn",
        "model.variant=tgl",
        "model.time_width=64",
        "model.updater=lstm",
        "model.message=mlp",
        "model.combine=mean",
        "model.embedding=sum",
        "model.layers=2",
        "model.neighbours=20",
        "model.sampling=uniform",
        "data.drop_features=0,delay",
        "data.inductive=0.1",
        "task.neighbours=batch-stale",
        "task.equal_times=past",
        "task.pool=mixed",
        "task.negatives_file=n.npz",
        "task.metric=mrr",
        "train.chunks=8",
        "plan.deduplicate=false",
        "plan.prefetch=false",
    ];
    let config = settings.iter().fold(Config::builder(), |builder, text| builder.set(text));
    let config = config.build().unwrap();
    assert_eq!(config.data.drop_features.to_string(), "0, delay");
    assert_eq!(Config::from_toml(&config.to_toml(), "config.toml").unwrap(), config);
}

#[test]
fn the_effective_tree_reads_back_equal() {
    let settings = [
        "data.path=/tmp/a \"quoted\" näme.csv",
        "data.format=edge-list",
        "data.lags=4",
        "data.split=0.7/0.1/0.2",
        "data.window=1d12h",
        "data.merge=count",
        "data.scaling=by-vertex",
        "model.name=dysat",
        "model.layers=2",
        "model.dropout=0.1",
        "model.variant=paper",
        "task.name=link-prediction",
        "task.metric=mrr",
        "task.theta=0.25",
        "train.lr=1e-3",
        "train.clip=5",
        "train.frame=all",
        "train.truncate=16",
        "train.seed=9223372036854775807",
        "train.device=cuda:3",
        "train.checkpoint_every=none",
        "train.weights=w.safetensors",
        "plan.group=4",
        "plan.order=update-first",
        "plan.memory_limit=3GiB",
        "output.dir=runs/x",
    ];
    let config = settings.iter().fold(Config::builder(), |builder, text| builder.set(text));
    let config = config.build().unwrap();
    assert_eq!(config.train.checkpoint_every, None);
    assert_eq!(config.train.seed, i64::MAX as u64);
    assert_eq!(config.plan.memory_limit, Some(ByteCount(3 << 30)));
    let text = config.to_toml();
    assert!(text.contains("[train]\nepochs = 50\nlr = 0.001\n"), "{text}");
    let back = Config::from_toml(&text, "config.toml").unwrap();
    assert_eq!(back, config, "{text}");
}

#[test]
fn flags_win_over_the_environment_over_the_file_over_defaults() {
    let text = "[train]\nepochs = 1\nlr = 0.1\nseed = 1\n";
    let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let config = Config::builder()
        .flag("--epochs", "train.epochs", "3")
        .environment([
            variable("ZOETROPE_TRAIN_EPOCHS", "2"),
            variable("ZOETROPE_TRAIN_LR", "0.2"),
            variable("ZOETROPE_LOG", "debug"),
            variable("HOME", "/root"),
        ])
        .text(text, "a.toml")
        .build()
        .unwrap();
    assert_eq!((config.train.epochs, config.train.lr, config.train.seed), (3, 0.2, 1));
    assert_eq!(config.train.batch_size, 1);
}

#[test]
fn an_unknown_key_names_file_line_key_and_the_nearest_name() {
    let text = "[train]\nepochs = 5\noptimizer = \"adam\"\n";
    assert_eq!(
        message(|layers| layers.text(text, "a.toml")),
        "a.toml:3: unknown key `train.optimizer`, did you mean `train.optimiser`?"
    );
    let text = "[train]\nhidden = 5\n";
    assert_eq!(
        message(|layers| layers.text(text, "a.toml")),
        "a.toml:2: unknown key `train.hidden`, did you mean `model.hidden`?"
    );
    let flag = message(|layers| layers.set("train.zzzzzzzz=1"));
    assert_eq!(flag, "--set: unknown key `train.zzzzzzzz`");
}

#[test]
fn an_unknown_section_and_a_key_outside_any_are_named() {
    let wrong = message(|layers| layers.text("\n[trian]\nepochs = 5\n", "a.toml"));
    assert!(
        wrong.starts_with("a.toml:3: unknown section `trian`, did you mean `train`?"),
        "{wrong}"
    );
    let wrong = message(|layers| layers.text("[modle]\n", "a.toml"));
    assert!(
        wrong.starts_with("a.toml:1: unknown section `modle`, did you mean `model`?"),
        "{wrong}"
    );
    let wrong = message(|layers| layers.text("epochs = 5\n", "a.toml"));
    assert!(wrong.contains("did you mean `train.epochs`?"), "{wrong}");
}

#[test]
fn wrong_types_and_values_name_key_expectation_and_finding() {
    let text = "[train]\nepochs = \"many\"\nlr = nan\nframe = 0\n[model]\nname = \"tgnc\"\n";
    let expected = "a.toml:2: train.epochs: expected a whole number from 1 to 2^30, got \"many\"\n\
         a.toml:3: train.lr: expected a number above 0, got nan\n\
         a.toml:4: train.frame: expected a whole number from 1, or \"all\", got 0\n\
         a.toml:6: model.name: expected one of tgcn, a3tgcn, gc-lstm, evolvegcn-o, evolvegcn-h, \
         mpnn-lstm, cd-gcn, wd-gcn, tm-gcn, dysat, tgn, jodie, apan, tgat, got \"tgnc\", did you mean `tgcn`?";
    assert_eq!(message(|layers| layers.text(text, "a.toml")), expected);
    for (setting, part) in [
        ("train.lr=-0.1", "above 0"),
        ("train.lr=inf", "above 0"),
        ("train.stride=0", "from 1"),
        ("train.batch_size=1.5", "from 1"),
        ("model.dropout=1", "below 1"),
        ("task.theta=0", "above 0 and up to 1"),
        ("train.device=gpu", "cpu, cuda or cuda:N"),
        ("data.window=soon", "a width such as 1d"),
        ("data.path=", "a file, a folder"),
        ("train.seed=-1", "below 2^63"),
        ("train.shuffle=maybe", "true or false"),
        ("plan.memory_limit=4 parsecs", "a number of bytes"),
        ("plan.memory_limit=99999999999TiB", "a number of bytes"),
    ] {
        let text = message(|layers| layers.set(setting));
        assert!(text.contains("--set: ") && text.contains(part), "{text}");
    }
}

#[test]
fn what_is_not_toml_is_named_with_line_and_column() {
    let text = message(|layers| layers.text("[train]\nepochs = = 3\n", "a.toml"));
    assert!(text.starts_with("a.toml:2:"), "{text}");
    let text = message(|layers| layers.text("[train]\nlr = 1\nlr = 2\n", "a.toml"));
    assert!(text.starts_with("a.toml:3:") && text.contains("duplicate"), "{text}");
    let text = message(|layers| layers.set("epochs"));
    assert!(text.starts_with("--set epochs: expected section.key=value"), "{text}");
    let text = message(|layers| layers.file("/nonexistent/a.toml".as_ref()));
    assert!(text.starts_with("/nonexistent/a.toml: "), "{text}");
}

#[test]
fn contradictions_are_refused_with_advice() {
    let refused = |settings: &[&str], part: &str| {
        let text = message(|layers| settings.iter().fold(layers, |layers, text| layers.set(text)));
        assert!(text.contains(part) && text.contains("; "), "{text}");
    };
    refused(
        &["train.carry_state=true", "train.shuffle=true"],
        "train.carry_state and train.shuffle",
    );
    refused(&["train.carry_state=true", "train.batch_size=4"], "side by side");
    refused(&["train.frame=4", "train.truncate=5"], "train.truncate = 5 and train.frame = 4");
    refused(&["train.patience=3", "data.split=80/20"], "no validation part");
    refused(&["train.schedule=plateau", "data.split=none"], "no validation part");
    refused(&["train.momentum=0.9"], "only sgd and rmsprop would read it");
    refused(&["train.step_every=3"], "only step would read it");
    refused(&["model.k=5"], "only gc-lstm would read it");
    refused(&["train.schedule=warm-up"], "rise over no epoch");
    refused(&["train.schedule=cosine", "train.min_lr=1"], "above the first");
    refused(&["model.name=dysat", "model.hidden=30"], "multiple of the heads");
    refused(&["model.name=evolvegcn-o", "model.hidden=30"], "its weights are square");
    refused(&["model.name=evolvegcn-h", "model.hidden=30"], "its weights are square");
    let wide = ["data.features=learned", "data.learned_width=31", "model.name=evolvegcn-o"];
    refused(&[&wide[..], &["model.hidden=30"]].concat(), "its weights are square");
    refused(&["task.name=node-regression", "model.decoder=dot"], "does not answer");
    refused(&["task.name=node-regression", "task.metric=mrr"], "use one of mse");
    refused(&["task.name=link-prediction", "task.classes=3"], "no classes");
}

#[test]
fn every_key_has_a_meaning_and_a_range() {
    for key in Config::keys() {
        assert!(!key.summary.is_empty() && key.summary.ends_with('.'), "{}", key.name);
        assert!(!key.expected.is_empty(), "{}", key.name);
    }
}

/// What stands against a tree that is built, with the task that the data decides.
fn unread(settings: &[&str], task: TaskName) -> String {
    let layers = settings.iter().fold(Config::builder(), |layers, text| layers.set(text));
    layers
        .build()
        .unwrap()
        .check_read(task)
        .map_or_else(|error| error.to_string(), |()| String::new())
}

#[test]
fn keys_of_a_gpu_are_refused_on_the_processor() {
    for (key, value) in [
        ("train.precision", "tf32"),
        ("plan.residency", "stream"),
        ("plan.block_states", "stream"),
        ("plan.difference", "off"),
        ("plan.record", "false"),
    ] {
        let text = message(|layers| layers.set(&format!("{key}={value}")));
        assert!(text.contains(key) && text.contains("train.device = \"cpu\""), "{text}");
        let on_gpu = Config::builder().set("train.device=cuda").set(&format!("{key}={value}"));
        on_gpu.build().unwrap();
    }
    let text = message(|layers| {
        layers.set("train.device=cuda").set("plan.record=false").set("train.truncate=2")
    });
    assert!(text.contains("plan.record = false and train.truncate = 2"), "{text}");
}

#[test]
fn what_a_run_was_told_is_not_asked_again_elsewhere() {
    let saved = "[train]\ndevice = \"cuda\"\n[plan]\nrecord = false\nresidency = \"stream\"\n";
    let of_run = || Config::builder().text(saved, "config.toml").of_run();
    let config = of_run().set("train.device=cpu").build().unwrap();
    assert!(!config.plan.record);
    let asked = of_run().set("train.device=cpu").set("plan.residency=stream").build();
    let text = asked.unwrap_err().to_string();
    assert!(text.contains("plan.residency") && !text.contains("plan.record"), "{text}");
}

#[test]
fn keys_about_ranks_are_refused_for_one_and_keys_of_one_for_several() {
    let task = TaskName::NodeRegression;
    for setting in [
        "plan.strategy=vertex",
        "plan.overlap=true",
        "plan.timeout=5",
        "plan.device_transport=host",
    ] {
        let text = unread(&[setting], task);
        let key = setting.split('=').next().unwrap();
        assert!(text.contains(key) && text.contains("train.ranks = 1"), "{setting}: {text}");
    }
    let shared =
        |more: &[&str]| unread(&[&["train.ranks=2", "train.device=cuda"], more].concat(), task);
    assert_eq!(
        shared(&["plan.strategy=vertex", "plan.timeout=5", "plan.device_transport=host"]),
        ""
    );
    let text = shared(&["plan.record=false", "plan.strategy=frames"]);
    assert!(text.contains("plan.strategy = \"frames\""), "{text}");
    assert_eq!(shared(&["plan.residency=stream", "plan.difference=on", "plan.record=false"]), "");
    assert_eq!(shared(&["plan.overlap=true"]), "");
    assert_eq!(shared(&["plan.overlap=auto"]), "");
    for (with, word) in [
        ("plan.strategy=vertex", "plan.strategy = \"vertex\""),
        ("model.name=evolvegcn-o", "evolvegcn-o"),
        ("plan.device_transport=nccl", "NCCL"),
    ] {
        let text = shared(&["plan.overlap=true", with]);
        assert!(text.contains("plan.overlap = true") && text.contains(word), "{text}");
    }
}

#[test]
fn keys_of_links_are_refused_for_other_tasks_even_if_the_data_chose_them() {
    for setting in ["task.theta=0.5", "task.negatives=3", "task.candidates=5", "task.hits=3"] {
        assert_eq!(unread(&[setting], TaskName::LinkPrediction), "");
        let text = unread(&[setting], TaskName::NodeRegression);
        assert!(text.contains("task.name = \"node-regression\""), "{setting}: {text}");
    }
}
