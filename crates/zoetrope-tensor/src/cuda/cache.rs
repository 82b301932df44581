//! Compiled kernels on disk.
//!
//! A kept file is code that a GPU executes. So it is used only if no one but the user can have written it
//! and if it is undamaged: only the user can write to the folder, and the file begins with the checksum of
//! its code. Its name is a hash of the source, the GPU's generation and the
//! compiler's version. Files are written beside their place and renamed, so that a reader sees a whole
//! file or none.

use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::user_cache;

/// A folder for compiled kernels instead of the user's cache folder.
pub const CACHE_VARIABLE: &str = "ZOETROPE_KERNEL_CACHE";

/// The bytes of a checksum.
const CHECKSUM: usize = 32;

/// A folder that compiled kernels are kept in.
#[derive(Debug)]
pub(super) struct Cache(PathBuf);

impl Cache {
    /// The user's cache; None if there is none, or none that can be trusted.
    pub(super) fn of_user() -> Option<Self> {
        let folder = user_cache::folder(CACHE_VARIABLE, "kernels", |name| std::env::var_os(name))?;
        user_cache::make(&folder).ok()?;
        user_cache::is_private(&folder).then_some(Self(folder))
    }

    /// The code that was kept under a name; None if it is not there or damaged.
    pub(super) fn read(&self, name: &str) -> Option<Vec<u8>> {
        let bytes = std::fs::read(self.0.join(name)).ok()?;
        let (checksum, code) = bytes.split_at_checked(CHECKSUM)?;
        (Sha256::digest(code).as_slice() == checksum).then(|| code.to_vec())
    }

    /// Keeps code under a name.
    pub(super) fn keep(&self, name: &str, code: &[u8]) -> std::io::Result<()> {
        let path = self.0.join(name);
        let draft = path.with_extension(format!("{}.part", std::process::id()));
        let bytes = [Sha256::digest(code).as_slice(), code].concat();
        std::fs::write(&draft, bytes).and_then(|()| std::fs::rename(&draft, &path))
    }
}

/// The name of a file of kernels.
pub(super) fn name(file: &str, text: &str, compute: u32, (major, minor): (i32, i32)) -> String {
    let mut hash = Sha256::new();
    hash.update(format!("{compute} {major}.{minor}\n"));
    hash.update(text);
    let key: String = hash.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("{file}-{key}.kernel")
}

/// Why compiled kernels are not kept, if they are not; for reports.
pub fn cache_note() -> Option<String> {
    let Some(folder) = user_cache::folder(CACHE_VARIABLE, "kernels", |name| std::env::var_os(name))
    else {
        let asked = std::env::var_os(CACHE_VARIABLE).is_some_and(|folder| folder.is_empty());
        return (!asked).then(|| {
            format!(
                "compiled kernels are not kept: neither {CACHE_VARIABLE}, XDG_CACHE_HOME nor HOME \
                 names an absolute folder"
            )
        });
    };
    (folder.exists() && !user_cache::is_private(&folder)).then(|| {
        format!(
            "compiled kernels are not kept: {} can be written by others; `chmod 700` it or name \
             another folder with {CACHE_VARIABLE}",
            folder.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_source_gpu_or_compiler_has_another_name() {
        let base = name("f", "a", 90, (13, 0));
        assert_eq!(base, name("f", "a", 90, (13, 0)));
        let others =
            [name("f", "b", 90, (13, 0)), name("f", "a", 80, (13, 0)), name("f", "a", 90, (12, 9))];
        assert!(others.iter().all(|other| *other != base));
    }

    #[test]
    fn damaged_code_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache(folder.path().to_owned());
        assert_eq!(cache.read("a.kernel"), None);
        cache.keep("a.kernel", b"machine code").unwrap();
        assert_eq!(cache.read("a.kernel").unwrap(), b"machine code");
        let path = folder.path().join("a.kernel");
        let whole = std::fs::read(&path).unwrap();
        for damaged in [&whole[..10], &whole[..whole.len() - 1], b"machine code"] {
            std::fs::write(&path, damaged).unwrap();
            assert_eq!(cache.read("a.kernel"), None);
        }
    }
}
