//! A list of numbers.

use std::fmt;

use toml::Value;

use super::setting::Setting;

/// Numbers, written as `0`, `[0, -1]` or, on the command line, as `0,-1`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Numbers(
    /// The numbers as given.
    pub Vec<f64>,
);

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(f64::to_string).collect();
        f.write_str(&numbers.join(", "))
    }
}

fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}

impl Setting for Numbers {
    fn expected() -> String {
        "a number or several, for example 0 or [0, -1]".into()
    }

    fn read(value: &Value) -> Option<Self> {
        let one = |value: &Value| f64::read(value).and_then(finite);
        match value {
            Value::Array(numbers) => numbers.iter().map(one).collect::<Option<_>>().map(Self),
            value => one(value).map(|number| Self(vec![number])),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches('[').trim_end_matches(']').trim();
        if text.is_empty() {
            return Some(Self::default());
        }
        let one = |part: &str| part.trim().parse().ok().and_then(finite);
        text.split(',').map(one).collect::<Option<_>>().map(Self)
    }

    fn write(&self) -> Value {
        Value::Array(self.0.iter().map(|&number| Value::Float(number)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_or_several_are_read_and_written_back() {
        for (text, expected) in [("0", vec![0.0]), ("0, -1", vec![0.0, -1.0]), ("[]", vec![])] {
            let read = Numbers::parse(text).unwrap();
            assert_eq!(read, Numbers(expected), "{text}");
            assert_eq!(Numbers::read(&read.write()), Some(read), "{text}");
        }
        assert_eq!(Numbers::read(&Value::Integer(-9999)), Some(Numbers(vec![-9999.0])));
        for wrong in ["none of them", "1,,2", "nan", "inf"] {
            assert_eq!(Numbers::parse(wrong), None, "{wrong}");
        }
    }
}
