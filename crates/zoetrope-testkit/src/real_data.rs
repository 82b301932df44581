//! The folder of real data sets beside the repository, if it exists.

use std::path::{Path, PathBuf};

/// The path of a real data set, or `None` (with a printed note) if it is not on this machine.
///
/// `name` is a file or folder under `../shared/data`, seen from the root of the repository. Tests
/// that get `None` return at once: the data may not be published, so most machines lack it.
pub fn shared_data(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if path.exists() {
        return Some(path.canonicalize().unwrap_or(path));
    }
    println!("skipped: ../shared/data/{name} is not on this machine");
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_set_that_nobody_has_is_none() {
        assert_eq!(shared_data("no-such-data-set"), None);
    }

    #[test]
    fn a_path_that_is_returned_exists() {
        if let Some(path) = shared_data("chickenpox/chickenpox.json") {
            assert!(path.is_file());
        }
    }
}
