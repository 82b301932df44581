//! What came out of one row, and in what two of them differ.

use serde_json::{Value, json};

/// What came out of one row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    /// The exit code; None if a signal ended the program or it hung.
    pub(super) code: Option<i32>,
    /// The first line of the refusal.
    pub(super) said: String,
    /// What the summary says, and the predictions; null if the row was refused.
    found: Value,
    seconds: f64,
}

/// What is compared, by name in `found`: results, then what moved.
const RESULTS: [&str; 6] = ["state_hash", "losses", "validation", "test", "baselines", "answers"];
const BYTES: &str = "bytes";

impl Outcome {
    pub(super) fn refused(code: Option<i32>, said: String) -> Self {
        Self { code, said, found: Value::Null, seconds: 0.0 }
    }

    /// From `summary.json` and the file of predictions, or why there is none.
    pub(super) fn of_run(summary: &Value, answers: Result<Vec<u8>, String>, seconds: f64) -> Self {
        let no_epochs = Vec::new();
        let epochs = summary["epochs"].as_array().unwrap_or(&no_epochs);
        let of_epochs =
            |key: &str| epochs.iter().map(|epoch| epoch[key].clone()).collect::<Vec<_>>();
        let found = json!({
            "state_hash": summary["state_hash"],
            "losses": of_epochs("loss"),
            "validation": of_epochs("val"),
            "test": summary["test"],
            "baselines": summary["baselines"],
            "answers": answers.map_or_else(|said| said, |bytes| format!("{:016x}", fnv(&bytes))),
            "bytes": summary["bytes"],
        });
        Self { code: Some(0), said: String::new(), found: as_text(found), seconds }
    }

    pub(super) fn from_json(value: &Value) -> Self {
        Self {
            code: value["code"].as_i64().map(|code| code as i32),
            said: value["said"].as_str().unwrap_or_default().to_owned(),
            found: value["found"].clone(),
            seconds: value["seconds"].as_f64().unwrap_or_default(),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "code": self.code,
            "said": self.said,
            "found": self.found,
            "seconds": (self.seconds * 1000.0).round() / 1000.0,
        })
    }

    pub(super) fn state_hash(&self) -> Option<&str> {
        self.found["state_hash"].as_str()
    }

    /// The hash in short, or the exit code.
    pub(super) fn brief(&self) -> String {
        match (self.state_hash(), self.code) {
            (Some(hash), _) => hash.chars().take(12).collect(),
            (None, Some(code)) => format!("exit code {code}"),
            (None, None) => "no end".to_owned(),
        }
    }

    /// In what the results differ, by name; nothing if they are equal. Two refusals with the same exit code
    /// are equal, whatever they say.
    pub(super) fn differences(&self, other: &Self) -> Vec<&'static str> {
        if self.code != other.code {
            return vec!["exit code"];
        }
        RESULTS.into_iter().filter(|key| self.found[key] != other.found[key]).collect()
    }

    /// The kinds of bytes that differ, with both numbers.
    pub(super) fn moved(&self, other: &Self) -> Vec<String> {
        let (Some(one), Some(two)) =
            (self.found[BYTES].as_object(), other.found[BYTES].as_object())
        else {
            return Vec::new();
        };
        let changed = one.iter().filter(|(kind, bytes)| two.get(*kind) != Some(bytes));
        changed
            .map(|(kind, bytes)| {
                format!("{kind} {bytes} → {}", two.get(kind).unwrap_or(&Value::Null))
            })
            .collect()
    }
}

/// The same with every fraction as text: a number that is read from a file need not be the one that was written,
/// by an ulp.
fn as_text(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => Value::String(number.to_string()),
        Value::Array(items) => items.into_iter().map(as_text).collect(),
        Value::Object(entries) => {
            entries.into_iter().map(|(key, value)| (key, as_text(value))).collect()
        }
        other => other,
    }
}

/// FNV-1a: enough to tell files apart.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(hash: &str, loss: f64, answers: &[u8], bytes: u64) -> Outcome {
        let summary = json!({
            "state_hash": hash, "epochs": [{"loss": loss, "val": {"mse": 1.0}}], "test": {"mse": 2.0},
            "bytes": {"all_to_all": bytes},
        });
        Outcome::of_run(&summary, Ok(answers.to_vec()), 0.5)
    }

    #[test]
    fn whatever_differs_is_named() {
        let one = outcome("ab", 0.5, b"x", 8);
        assert!(one.differences(&one).is_empty() && one.moved(&one).is_empty());
        assert_eq!(one.differences(&outcome("ac", 0.5, b"x", 8)), ["state_hash"]);
        assert_eq!(one.differences(&outcome("ab", 0.25, b"y", 8)), ["losses", "answers"]);
        assert_eq!(one.moved(&outcome("ab", 0.5, b"x", 16)), ["all_to_all 8 → 16"]);
        let refused = Outcome::refused(Some(2), "error: no".to_owned());
        assert_eq!(one.differences(&refused), ["exit code"]);
        assert!(refused.differences(&Outcome::refused(Some(2), String::new())).is_empty());
    }

    #[test]
    fn a_result_reads_back_from_its_file() {
        for step in 1..2000 {
            let one = outcome("ab", f64::from(step).sqrt() * 1e-3, b"x", 8);
            let text = serde_json::to_string(&one.to_json()).unwrap();
            assert_eq!(Outcome::from_json(&serde_json::from_str(&text).unwrap()), one);
        }
    }
}
