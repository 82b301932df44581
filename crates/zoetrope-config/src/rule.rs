//! Ranges of numbers and texts that keys take.

/// A condition on a value of type `T` that can say what it wants.
pub(super) trait Rule<T> {
    /// What it wants, in words.
    fn expected(&self) -> String;

    /// Whether a value is so.
    fn holds(&self, value: &T) -> bool;
}

/// A whole number from the first to the second, both included.
pub(super) struct Whole(pub(super) usize, pub(super) usize);

impl Rule<usize> for Whole {
    fn expected(&self) -> String {
        if self.1.is_power_of_two() && self.1 > 1 << 16 {
            format!("a whole number from {} to 2^{}", self.0, self.1.ilog2())
        } else {
            format!("a whole number from {} to {}", self.0, self.1)
        }
    }

    fn holds(&self, value: &usize) -> bool {
        (self.0..=self.1).contains(value)
    }
}

/// A number above 0.
pub(super) struct Positive;

impl Rule<f64> for Positive {
    fn expected(&self) -> String {
        "a number above 0".into()
    }

    fn holds(&self, value: &f64) -> bool {
        *value > 0.0
    }
}

/// A number from the first to the second, both included.
pub(super) struct Within(pub(super) f64, pub(super) f64);

impl Rule<f64> for Within {
    fn expected(&self) -> String {
        format!("a number from {} to {}", self.0, self.1)
    }

    fn holds(&self, value: &f64) -> bool {
        (self.0..=self.1).contains(value)
    }
}

/// A number from the first, included, to the second, excluded.
pub(super) struct Below(pub(super) f64, pub(super) f64);

impl Rule<f64> for Below {
    fn expected(&self) -> String {
        format!("a number from {} and below {}", self.0, self.1)
    }

    fn holds(&self, value: &f64) -> bool {
        // It is computed with in single precision, in which 0.999999999 is 1.
        (self.0..self.1).contains(value) && (*value as f32) < self.1 as f32
    }
}

/// A share: above 0, up to 1.
pub(super) struct Share;

impl Rule<f64> for Share {
    fn expected(&self) -> String {
        "a number above 0 and up to 1".into()
    }

    fn holds(&self, value: &f64) -> bool {
        *value > 0.0 && *value <= 1.0
    }
}

/// A text with at least one letter.
pub(super) struct Filled(pub(super) &'static str);

impl Rule<String> for Filled {
    fn expected(&self) -> String {
        self.0.into()
    }

    fn holds(&self, value: &String) -> bool {
        !value.trim().is_empty()
    }
}

/// If nothing is given, nothing is wrong.
impl Rule<Option<usize>> for Whole {
    fn expected(&self) -> String {
        Rule::<usize>::expected(self)
    }

    fn holds(&self, value: &Option<usize>) -> bool {
        value.as_ref().is_none_or(|value| self.holds(value))
    }
}

/// If nothing is given, nothing is wrong.
impl Rule<Option<f64>> for Positive {
    fn expected(&self) -> String {
        Rule::<f64>::expected(self)
    }

    fn holds(&self, value: &Option<f64>) -> bool {
        value.as_ref().is_none_or(|value| self.holds(value))
    }
}

impl Rule<Option<f64>> for Share {
    fn expected(&self) -> String {
        Rule::<f64>::expected(self)
    }

    fn holds(&self, value: &Option<f64>) -> bool {
        value.as_ref().is_none_or(|value| self.holds(value))
    }
}
