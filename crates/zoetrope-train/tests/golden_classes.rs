//! Rare classes on snapshots against scikit-learn; values from `golden/classes.py`.

use std::sync::Arc;

use serde_json::Value;
use zoetrope_graph::Targets;
use zoetrope_tensor::Tape;
use zoetrope_train::snapshots::baseline::compare_classes;

fn golden(part: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("golden/classes.json")).unwrap();
    all[part].clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(numbers).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

#[test]
fn baselines_of_a_rare_class_have_the_ap_and_auc_of_scikit_learn() {
    let case = golden("baselines");
    let labels: Vec<f32> = numbers(&case["labels"]).into_iter().map(|label| label as f32).collect();
    let [vertices, training] =
        ["vertices", "training"].map(|key| case[key].as_u64().unwrap() as usize);
    let steps = labels.len() / vertices;
    let targets = Targets::new(steps, vertices, None, labels).unwrap();
    let asked: Vec<usize> = (training..steps).collect();
    let found = compare_classes(&targets, 2, training, &asked);
    for name in ["majority_class", "persistence"] {
        let found = found.iter().find(|one| one.name == name).unwrap();
        for metric in ["ap", "auc"] {
            let expected = case[name][metric].as_f64().unwrap();
            let measure = found.measures.iter().find(|(one, _)| one.to_string() == metric);
            let got = measure.unwrap().1.unwrap();
            assert!((got - expected).abs() < 1e-12, "{name} {metric}: {got} {expected}");
        }
    }
}

/// A cross-entropy with a weight for each example is scikit-learn's `log_loss` with sample weights, and
/// PyTorch's `CrossEntropyLoss(weight=...)`.
#[test]
fn a_weighted_loss_is_that_of_scikit_learn() {
    let case = golden("loss");
    let classes: Vec<u32> =
        numbers(&case["classes"]).into_iter().map(|class| class as u32).collect();
    let logits: Vec<f32> = numbers(&case["logits"]).into_iter().map(|logit| logit as f32).collect();
    let weights = numbers(&case["balanced"]);
    let of_rows: Vec<f32> = classes.iter().map(|&class| weights[class as usize] as f32).collect();
    let mut tape = Tape::new();
    let rows = classes.len();
    let logits = tape.copied(rows, 3, &logits).unwrap();
    let weight = tape.copied(rows, 1, &of_rows).unwrap();
    let classes = Arc::new(classes);
    for (name, weight) in [("plain", None), ("weighted", Some(weight))] {
        let loss = tape.cross_entropy(logits, &classes, 0, weight).unwrap();
        let (got, expected) = (f64::from(tape.scalar(loss)), case[name].as_f64().unwrap());
        assert!((got - expected).abs() < 1e-6 * expected, "{name}: {got} {expected}");
    }
}
