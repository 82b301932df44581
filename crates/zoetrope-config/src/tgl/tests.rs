use crate::{
    CombineName, Config, ConfigBuilder, EmbeddingName, ModelName, SamplingName, UpdaterName,
};

const TGN: &str = "\
sampling:
  - layer: 1
    neighbor:\x20
      - 10
    strategy: 'recent'
    prop_time: False
    history: 1
    duration: 0
    num_thread: 16
memory:\x20
  - type: 'node'
    dim_time: 100
    deliver_to: 'self'
    mail_combine: 'last'
    memory_update: 'gru'
    mailbox_size: 1
    combine_node_feature: True
    dim_out: 100
gnn:
  - arch: 'transformer_attention'
    layer: 1
    att_head: 2
    dim_time: 100
    dim_out: 100
train:
  - epoch: 100
    batch_size: 600
    # reorder: 16
    lr: 0.0001
    dropout: 0.2
    att_dropout: 0.2
    all_on_gpu: True";

const JODIE: &str = "\
sampling:
  - no_sample: True
    history: 1
memory:
  - type: 'node'
    dim_time: 100
    deliver_to: 'self'
    mail_combine: 'last'
    memory_update: 'rnn'
    mailbox_size: 1
    combine_node_feature: True
    dim_out: 100
gnn:
  - arch: 'identity'
    time_transform: 'JODIE'
train:
  - epoch: 10
    batch_size: 4000 # of one rank
    lr: 0.0001
    dropout: 0.1
    reorder: 8
";

const APAN: &str = "\
sampling:
  - layer: 1
    neighbor: [10]
    strategy: recent
    prop_time: False
    history: 1
    duration: 0
    num_thread: 32
    no_neg: True
memory:
  - type: node
    dim_time: 100
    deliver_to: 'neighbors'
    mail_combine: 'last'
    memory_update: 'transformer'
    attention_head: 2
    mailbox_size: 10
    combine_node_feature: False
    dim_out: 100
gnn:
  - arch: 'identity'
train:
  - epoch: 100
    batch_size: 600
    lr: 0.0001
    dropout: 0.1
    att_dropout: 0.1
";

const TGAT: &str = "\
---
sampling:
- layer: 2
  neighbor:
  - 10
  - 10
  strategy: \"uniform\"
  prop_time: false
  history: 1
  duration: 0.0
memory:
- type: 'none'
  dim_out: 0
gnn:
- arch: 'transformer_attention'
  layer: 2
  att_head: 2
  dim_time: 100
  dim_out: 100
train:
- epoch: 100
  batch_size: 600
  lr: 0.0001
  dropout: 0.1
  att_dropout: 0.1
  all_on_gpu: True
";

fn layers(text: &str) -> ConfigBuilder {
    Config::builder().text(text, "a.yml")
}

fn refusal(text: &str) -> String {
    layers(text).build().unwrap_err().to_string()
}

#[test]
fn the_four_models_are_recognised_and_their_values_taken_over() {
    let tgn = layers(TGN).build().unwrap();
    assert_eq!(tgn.model.name, ModelName::Tgn);
    assert_eq!((tgn.model.hidden, tgn.model.time_width, tgn.model.heads), (100, Some(100), 2));
    assert_eq!((tgn.model.layers, tgn.model.neighbours), (Some(1), Some(10)));
    assert_eq!(tgn.model.sampling, Some(SamplingName::Recent));
    assert_eq!(tgn.model.updater, Some(UpdaterName::Gru));
    assert_eq!(tgn.model.combine, Some(CombineName::Last));
    assert_eq!((tgn.model.dropout, tgn.train.lr), (0.2, 0.0001));
    assert_eq!((tgn.train.epochs, tgn.train.batch_size, tgn.train.chunks), (100, 600, None));

    let jodie = layers(JODIE).build().unwrap();
    assert_eq!(jodie.model.name, ModelName::Jodie);
    assert_eq!(jodie.model.updater, Some(UpdaterName::Rnn));
    assert_eq!((jodie.train.batch_size, jodie.train.chunks), (4000, Some(8)));

    let apan = layers(APAN).build().unwrap();
    assert_eq!(apan.model.name, ModelName::Apan);
    assert_eq!(apan.model.updater, Some(UpdaterName::Transformer));
    assert_eq!((apan.model.mailbox, apan.model.neighbours), (Some(10), Some(10)));

    let tgat = layers(TGAT).build().unwrap();
    assert_eq!((tgat.model.name, tgat.model.layers), (ModelName::Tgat, Some(2)));
    assert_eq!(tgat.model.sampling, Some(SamplingName::Uniform));
}

#[test]
fn flags_win_over_a_file_of_tgl_and_the_tree_reads_back_equal() {
    let config = layers(TGN).set("train.batch_size=200").set("task.pool=all").build().unwrap();
    assert_eq!(config.train.batch_size, 200);
    assert_eq!(Config::from_toml(&config.to_toml(), "config.toml").unwrap(), config);
    let plain = TGN.replace("transformer_attention", "identity");
    let plain = layers(&plain).build().unwrap();
    assert_eq!(plain.model.embedding, Some(EmbeddingName::Identity));
}

#[test]
fn what_is_not_needed_is_noted_with_its_line() {
    let builder = layers(TGN);
    let notes = builder.notes().join("\n");
    assert!(notes.contains("a.yml:9: sampling.num_thread is not needed"), "{notes}");
    assert!(notes.contains("a.yml:32: train.all_on_gpu is not needed"), "{notes}");
    assert!(notes.contains("task.pool = \"all\""), "{notes}");
    let builder = layers(JODIE);
    assert!(builder.notes().join("\n").contains("train.dropout is not needed"));
    assert!(Config::builder().notes().is_empty());
}

#[test]
fn what_cannot_be_taken_over_is_refused_with_line_and_reason() {
    let cases = [
        ("history: 1", "history: 3", "a.yml:7: sampling.history = 3: that cuts the stream"),
        ("duration: 0", "duration: 10000", "a.yml:8: sampling.duration = 10000"),
        ("prop_time: False", "prop_time: True", "a.yml:6: sampling.prop_time = true"),
        (
            "mail_combine",
            "mail_combin",
            "a.yml:14: unknown key `memory.mail_combin`, did you mean `memory.mail_combine`?",
        ),
        ("train:", "trian:", "a.yml:26: unknown key `trian`, did you mean `train`?"),
        (
            "memory_update: 'gru'",
            "memory_update: 'grue'",
            "a.yml:15: model.updater: expected one of gru",
        ),
        ("'self'", "'neighbors'", "goes with memory_update: 'transformer'"),
        (
            "att_dropout: 0.2",
            "att_dropout: 0.3",
            "a.yml:31: train.att_dropout = 0.3: train.dropout is",
        ),
        (
            "    dim_out: 100\ngnn",
            "    dim_out: 64\ngnn",
            "a.yml:24: gnn.dim_out = 100: memory.dim_out is another number",
        ),
        ("      - 10", "      - 10\n      - 5", "expected one number for each of sampling.layer"),
        ("batch_size: 600", "batch_size: 0", "a.yml:27: train.batch_size: expected a whole number"),
        ("'node'", "'edge'", "expected 'node' or 'none'"),
        (
            "combine_node_feature: True",
            "combine_node_feature: False",
            "features of vertices join memory",
        ),
        ("att_head: 2", "combine: 'rnn'", "that joins snapshots; use dysat"),
    ];
    for (from, to, message) in cases {
        assert!(TGN.contains(from), "{from}");
        let text = refusal(&TGN.replacen(from, to, 1));
        assert!(text.contains(message), "{to}: {text}");
    }
}

#[test]
fn what_is_not_of_this_form_is_named_with_line_and_column() {
    for (text, message) in [
        ("sampling: 3\n", "a.yml:1:1: expected a section with a list"),
        ("sampling:\n  layer: 1\n", "a.yml:2:3: expected `- layer:`"),
        ("sampling:\n  - layer: 1\n  - layer: 2\n", "a.yml:3:5: `sampling` has a second entry"),
        ("sampling:\n  - layer: 1\n      x: 2\n", "a.yml:3:7: expected a key in column 5"),
        ("sampling:\n  - layer:\n    x: 2\n", "a.yml:2:5: `layer` has no value"),
        ("sampling:\n  - layer: &a 1\n", "a.yml:2:3: expected a number"),
        ("sampling:\n\t- layer: 1\n", "a.yml:2:1: a tab cannot indent"),
        ("train:\n  - lr: 1\n    lr: 2\n", "a.yml:3:5: duplicate key `lr`"),
        ("what is this", "a.yml:1:1: expected `key: value`"),
        ("gnn:\n  - arch: identity\n", "a.yml: memory.type is missing"),
    ] {
        let found = refusal(text);
        assert!(found.starts_with(message), "{found}");
    }
}
