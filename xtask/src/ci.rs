//! Everything that a fresh clone must pass; `test.sh` and `.ci/run` end here.

use std::path::{Path, PathBuf};

use crate::steps::{self, Step};
use crate::validate::{self, Profile};
use crate::{datasets, readme};

/// Runs all checks; true if every one passes.
pub(crate) fn run(root: &Path) -> bool {
    let (for_readme, for_datasets): (PathBuf, PathBuf) = (root.into(), root.into());
    let mut all = validate::before_tests(root);
    all.push(Step::call("README commands", move || readme::check(&for_readme)));
    all.push(Step::call("real data sets", move || datasets::run(&for_datasets, Profile::Dev)));
    all.extend(validate::tests(root));
    steps::run_all(all)
}
