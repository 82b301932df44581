//! Machines that come with the program.

use zoetrope_graph::spelling::nearest;

use super::Machine;
use super::problem::MachineError;

/// Their names and texts.
const FILES: [(&str, &str); 10] = [
    ("laptop", include_str!("../../machines/laptop.toml")),
    ("h200", include_str!("../../machines/h200.toml")),
    ("esdg", include_str!("../../machines/esdg.toml")),
    ("dgc", include_str!("../../machines/dgc.toml")),
    ("a100x4", include_str!("../../machines/a100x4.toml")),
    ("sven", include_str!("../../machines/sven.toml")),
    ("blad-2080ti", include_str!("../../machines/blad-2080ti.toml")),
    ("blad-dgx2", include_str!("../../machines/blad-dgx2.toml")),
    ("pipad", include_str!("../../machines/pipad.toml")),
    ("h100x1024", include_str!("../../machines/h100x1024.toml")),
];

impl Machine {
    /// The names of the machines that are built in.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FILES.iter().map(|(name, _)| *name)
    }

    /// The text of a machine that is built in: one to copy and to change.
    pub fn text_of(name: &str) -> Option<&'static str> {
        FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// A machine that is built in.
    ///
    /// # Errors
    /// [`MachineError::UnknownName`].
    pub fn named(name: &str) -> Result<Self, MachineError> {
        let Some(text) = Self::text_of(name) else {
            return Err(MachineError::UnknownName {
                name: name.to_owned(),
                nearest: nearest(name, Self::names()).map(str::to_owned),
                known: Self::names().map(str::to_owned).collect(),
            });
        };
        Self::parse(text, name)
    }
}
