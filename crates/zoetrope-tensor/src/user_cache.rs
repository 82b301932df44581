//! Where the program keeps what it has made or measured for later runs of the same user.
//!
//! Nothing is taken from a folder that others can write to: kernels that lie there run on the GPU.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The folder that the environment names: `named_by`, or one `below` the program's in the user's cache folder. Empty
/// and relative ones name none: what lies in the working folder is anybody's.
pub fn folder(
    named_by: &str,
    below: &str,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if variable(named_by).is_some() {
        return absolute(named_by);
    }
    let home = || absolute("HOME").map(|home| home.join(".cache"));
    Some(absolute("XDG_CACHE_HOME").or_else(home)?.join("zoetrope").join(below))
}

/// Makes a folder that only the user can read and write.
///
/// # Errors
/// If it cannot be made.
pub fn make(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Whether only the user can write to a file or a folder.
#[cfg(unix)]
pub fn is_private(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let own = std::fs::metadata("/proc/self").map(|process| process.uid());
    let found = std::fs::metadata(folder);
    matches!((own, found), (Ok(own), Ok(found)) if found.uid() == own && found.mode() & 0o022 == 0)
}

/// Elsewhere a user's cache folder is the user's.
#[cfg(not(unix))]
pub fn is_private(_: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_and_relative_folders_are_none() {
        let with = |values: &'static [(&str, &str)]| {
            folder("NAMED", "things", move |name| {
                values.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
            })
        };
        assert_eq!(with(&[("XDG_CACHE_HOME", ""), ("HOME", "")]), None);
        assert_eq!(with(&[("XDG_CACHE_HOME", "cache"), ("HOME", ".")]), None);
        assert_eq!(with(&[("NAMED", ""), ("HOME", "/h")]), None);
        assert_eq!(with(&[("NAMED", "here"), ("HOME", "/h")]), None);
        let found = with(&[("XDG_CACHE_HOME", ""), ("HOME", "/h")]);
        assert_eq!(found, Some("/h/.cache/zoetrope/things".into()));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_can_write_to_is_not_trusted() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        assert!(is_private(folder.path()));
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(!is_private(folder.path()));
    }
}
