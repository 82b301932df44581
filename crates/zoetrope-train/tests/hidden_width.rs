//! `model.hidden` makes every model wider, or is refused with the reason.

use zoetrope_config::{Config, ModelName};
use zoetrope_data::Quiet;
use zoetrope_run::Timeline;
use zoetrope_train::TrainError;
use zoetrope_train::train::Opened;

const SNAPSHOTS: &str = "data.path=synthetic:demo?vertices=20&steps=30 train.frame=5";
const EVENTS: &str = "data.path=synthetic:bipartite?events=300&users=12&items=9&tastes=3";

/// The weights of a model.
fn weights(settings: &str) -> Result<usize, TrainError> {
    let words = settings.split_whitespace();
    let mut config = words.fold(Config::builder(), |b, s| b.set(s)).build()?;
    let mut run = Opened::open(&mut config, &Quiet)?.start(config, None, Timeline::new())?;
    let parameters = run.session_mut().parameters();
    Ok(parameters.iter().map(|(_, one)| one.matrix.as_slice().len()).sum())
}

#[test]
fn a_hidden_width_acts_or_is_refused_for_every_model_and_variant() {
    let (mut acting, mut refused) = (0, Vec::new());
    for model in ModelName::ALL {
        let data = if model.is_stream() { EVENTS } else { SNAPSHOTS };
        for variant in ["pygt", "paper", "tgl", "pyg"] {
            let of = |hidden| {
                let name = model.name();
                format!("model.name={name} model.variant={variant} model.hidden={hidden} {data}")
            };
            match (weights(&of(8)), weights(&of(16))) {
                (Ok(narrow), Ok(wide)) => {
                    assert!(narrow < wide, "{model} {variant}: {narrow} and {wide} weights");
                    acting += 1;
                }
                (Err(error), Err(_)) => {
                    let text = error.to_string();
                    assert_eq!(error.kind().exit_code(), 2, "{model} {variant}: {text}");
                    // Of a source that does not have the model there is nothing to be wide.
                    if !text.contains("that source does not have the model") {
                        assert!(text.contains("its weights are square"), "{text}");
                        refused.push((model.name(), variant));
                    }
                }
                _ => panic!("{model} {variant}: one width is refused and another is not"),
            }
        }
    }
    assert_eq!(refused, [("evolvegcn-o", "pygt"), ("evolvegcn-h", "pygt")]);
    // Ten snapshot models of two sources less those, four event models, and TGN of PyG.
    assert_eq!(acting, 2 * 10 - 2 + 5);
}

#[test]
fn a_hidden_width_bounds_features_that_are_learned() {
    let of = |hidden| {
        format!("model.name=evolvegcn-o data.features=learned model.hidden={hidden} {SNAPSHOTS}")
    };
    assert!(weights(&of(8)).unwrap() < weights(&of(16)).unwrap());
    // The configuration that a run leaves says both.
    assert!(weights(&format!("{} data.learned_width=5", of(8))).is_ok());
    let given = weights(&format!("{} data.learned_width=9", of(8))).unwrap_err();
    assert!(given.to_string().contains("its weights are square"), "{given}");
}
