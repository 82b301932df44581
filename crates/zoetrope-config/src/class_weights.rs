//! How much each class counts in the loss.

use std::fmt;

use toml::Value;

use super::setting::Setting;

/// Weights of classes, written as `"none"`, `"balanced"` or `[1, 50]`; on the command line also as
/// `1,50`.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ClassWeights {
    /// Every example counts once.
    #[default]
    Equal,
    /// `n / (classes · n_c)` for a class with `n_c` of the `n` examples of the training part, as
    /// scikit-learn's `class_weight="balanced"`.
    Balanced,
    /// One number above 0 for each class.
    Given(Vec<f64>),
}

impl fmt::Display for ClassWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal => f.write_str("none"),
            Self::Balanced => f.write_str("balanced"),
            Self::Given(weights) => {
                let weights: Vec<String> = weights.iter().map(f64::to_string).collect();
                write!(f, "[{}]", weights.join(", "))
            }
        }
    }
}

impl ClassWeights {
    fn given(weights: Option<Vec<f64>>) -> Option<Self> {
        let fine = |weights: &Vec<f64>| weights.len() >= 2 && weights.iter().all(|&one| one > 0.0);
        weights.filter(fine).map(Self::Given)
    }
}

impl Setting for ClassWeights {
    fn expected() -> String {
        "\"none\", \"balanced\" or a number above 0 for each class, for example [1, 50]".into()
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(name) if name == "none" => Some(Self::Equal),
            Value::String(name) if name == "balanced" => Some(Self::Balanced),
            Value::Array(weights) => Self::given(weights.iter().map(f64::read).collect()),
            _ => None,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.contains(',') && !text.starts_with('[') {
            Self::given(text.split(',').map(f64::parse).collect())
        } else {
            Self::read(&text.parse().unwrap_or_else(|_| Value::String(text.to_owned())))
        }
    }

    fn write(&self) -> Value {
        match self {
            Self::Given(weights) => {
                Value::Array(weights.iter().map(|&weight| Value::Float(weight)).collect())
            }
            named => Value::String(named.to_string()),
        }
    }

    fn names() -> Vec<&'static str> {
        vec!["none", "balanced"]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_read_by_name_and_as_numbers() {
        assert_eq!(ClassWeights::parse("none"), Some(ClassWeights::Equal));
        assert_eq!(ClassWeights::parse(" balanced "), Some(ClassWeights::Balanced));
        let given = ClassWeights::Given(vec![1.0, 50.5]);
        assert_eq!(ClassWeights::parse("1, 50.5"), Some(given.clone()));
        assert_eq!(ClassWeights::parse("[1, 50.5]"), Some(given.clone()));
        assert_eq!(ClassWeights::read(&given.write()), Some(given.clone()));
        assert_eq!(given.to_string(), "[1, 50.5]");
        for wrong in ["[1]", "[]", "1,0", "[1, -2]", "1,x", "nan,1", "often", "3"] {
            assert_eq!(ClassWeights::parse(wrong), None, "{wrong}");
        }
    }
}
