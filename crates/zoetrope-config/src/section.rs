//! How a section is declared: a struct, its defaults, its keys and their ranges from one list.

use toml::Value;

use super::rule::Rule;
use super::setting::{Given, Setting};

/// A key as help and documentation show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The section.
    pub section: &'static str,
    /// The name within the section.
    pub name: &'static str,
    /// What it means.
    pub summary: String,
    /// What may be given.
    pub expected: String,
    /// The value if nothing is given, as TOML.
    pub default: String,
}

/// Why a section does not take a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It has no such key.
    Unknown,
    /// The value is not in the range of the key.
    Value {
        /// What is.
        expected: String,
        /// The names that are, where it takes names.
        names: Vec<&'static str>,
    },
}

/// A section of the tree.
pub(super) trait Section {
    /// Takes a value for a key.
    fn put(&mut self, key: &str, given: &Given) -> Result<(), Refusal>;

    /// The keys and their values, in the order of declaration.
    fn entries(&self) -> Vec<(&'static str, Value)>;
}

/// Reads a value and holds it against the rules of its key.
pub(super) fn accept<T: Setting>(given: &Given, rules: &[&dyn Rule<T>]) -> Result<T, Refusal> {
    let value = match given {
        Given::Value(value) => T::read(value),
        Given::Text(text) => T::parse(text),
    };
    value
        .filter(|value| rules.iter().all(|rule| rule.holds(value)))
        .ok_or_else(|| Refusal::Value { expected: expected::<T>(rules), names: T::names() })
}

/// What a key takes, in words.
pub(super) fn expected<T: Setting>(rules: &[&dyn Rule<T>]) -> String {
    let base = match rules {
        [] => T::expected(),
        rules => rules.iter().map(|rule| rule.expected()).collect::<Vec<_>>().join(", "),
    };
    if T::OPTIONAL { format!("{base}, or \"none\"") } else { base }
}

/// Declares a section: `key: type = default, rule;` with the meaning as its doc comment.
macro_rules! section {
    ($(#[$meta:meta])* $name:ident = $section:literal {
        $($(#[doc = $doc:literal])+ $key:ident: $type:ty = $default:expr $(, $rule:expr)?;)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $key: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }

        impl $name {
            /// The name of the section.
            pub const NAME: &'static str = $section;

            /// The keys with their meaning.
            pub(super) fn keys() -> Vec<$crate::section::Key> {
                use $crate::section::{Key, expected};
                let default = Self::default();
                vec![$(Key {
                    section: $section,
                    name: stringify!($key),
                    summary: concat!($($doc),+).trim().to_owned(),
                    expected: expected::<$type>(&[$(&$rule as &dyn $crate::rule::Rule<$type>)?]),
                    default: $crate::setting::Setting::write(&default.$key).to_string(),
                },)*]
            }
        }

        impl $crate::section::Section for $name {
            fn put(
                &mut self,
                key: &str,
                given: &$crate::setting::Given,
            ) -> Result<(), $crate::section::Refusal> {
                use $crate::section::{Refusal, accept};
                match key {
                    $(stringify!($key) => {
                        self.$key = accept::<$type>(given, &[$(&$rule as &dyn $crate::rule::Rule<$type>)?])?;
                        Ok(())
                    })*
                    _ => Err(Refusal::Unknown),
                }
            }

            fn entries(&self) -> Vec<(&'static str, toml::Value)> {
                vec![$((
                    stringify!($key),
                    $crate::setting::Setting::write(&self.$key),
                ),)*]
            }
        }
    };
}

pub(super) use section;
