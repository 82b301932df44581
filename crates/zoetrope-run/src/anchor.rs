//! Working below a run folder while somebody else may be changing it.
//!
//! A path is resolved anew by every call of the system: a folder that was looked at and found to be none
//! may be a link when it is used. So the folder that holds a file is opened once, component by component
//! below the run folder and through no link, and the file is reached from that open folder.

use std::io;
use std::path::Path;

use super::files;

/// The folder of a run that has folders of its own.
pub(super) const CHECKPOINTS: &str = "checkpoints";

/// Does something to a path of a run folder, which no link below that folder can lead elsewhere. The last
/// component is the caller's business.
///
/// # Errors
/// If a folder on the way is a link or is not there, and what `work` says.
pub(crate) fn anchored<T>(path: &Path, work: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    #[cfg(target_os = "linux")]
    if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
        use std::os::fd::AsRawFd;
        let folder = linux::open_folder(parent)?;
        let through = format!("/proc/self/fd/{}", folder.as_raw_fd());
        // A machine that does not show its processes has no such name for an open folder.
        if Path::new(&through).is_dir() {
            return work(&Path::new(&through).join(name));
        }
    }
    path.parent().map_or(Ok(()), files::must_not_be_link)?;
    work(path)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::{Component, Path};

    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
    use rustix::io::Errno;

    use super::{CHECKPOINTS, files};

    const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    /// The run folder, which the user named and which may lie behind links, and the way below it.
    fn split(folder: &Path) -> (&Path, &Path) {
        let below =
            folder.ancestors().find(|above| above.file_name().is_some_and(|n| n == CHECKPOINTS));
        let root = below.and_then(Path::parent).unwrap_or(folder);
        let rest = folder.strip_prefix(root).unwrap_or(Path::new(""));
        (if root.as_os_str().is_empty() { Path::new(".") } else { root }, rest)
    }

    /// Opens a folder of a run through no link below the run folder.
    pub(super) fn open_folder(folder: &Path) -> io::Result<OwnedFd> {
        let (root, below) = split(folder);
        let root = openat(CWD, root, FOLDER, Mode::empty())?;
        if below.as_os_str().is_empty() {
            return Ok(root);
        }
        let flags = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let found = match openat2(&root, below, FOLDER, Mode::empty(), flags) {
            // An older kernel, or a sandbox that does not know the call.
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => step_by_step(root, below),
            found => found,
        };
        found.map_err(|error| match error {
            Errno::LOOP => files::link(),
            Errno::NOTDIR if files::must_not_be_link(folder).is_err() => files::link(),
            error => error.into(),
        })
    }

    /// The same in as many calls as there are folders.
    pub(super) fn step_by_step(root: OwnedFd, below: &Path) -> rustix::io::Result<OwnedFd> {
        below.components().try_fold(root, |folder, part| match part {
            Component::Normal(name) => {
                openat(&folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())
            }
            _ => Err(Errno::LOOP),
        })
    }

    #[cfg(test)]
    mod tests {
        use std::os::unix::fs::symlink;

        use super::*;

        #[test]
        fn the_run_folder_may_be_a_link_and_nothing_below_it() {
            let base = tempfile::tempdir().unwrap();
            let at = |name: &str| base.path().join(name);
            std::fs::create_dir_all(at("run/checkpoints/step-1")).unwrap();
            symlink(at("run"), at("named")).unwrap();
            assert_eq!(
                split(Path::new("checkpoints/step-1")),
                (".".as_ref(), "checkpoints/step-1".as_ref())
            );
            for folder in ["named", "named/checkpoints", "named/checkpoints/step-1"] {
                open_folder(&at(folder)).unwrap();
            }
            symlink(at("run/checkpoints/step-1"), at("run/checkpoints/step-2")).unwrap();
            let error = open_folder(&at("named/checkpoints/step-2")).unwrap_err();
            assert!(error.to_string().contains("a link"), "{error}");
            let root = || openat(CWD, at("run"), FOLDER, Mode::empty()).unwrap();
            assert!(step_by_step(root(), Path::new("checkpoints/step-1")).is_ok());
            for below in ["checkpoints/step-2", "checkpoints/../checkpoints"] {
                assert!(step_by_step(root(), Path::new(below)).is_err(), "{below}");
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_folder_that_is_swapped_for_a_link_all_the_time_leads_nowhere() {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        std::fs::create_dir_all(at("run/checkpoints")).unwrap();
        std::fs::create_dir(at("outside")).unwrap();
        symlink(at("outside"), at("link")).unwrap();
        let (over, file) = (AtomicBool::new(false), at("run/checkpoints/latest.tmp"));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    // The folder and the link change places.
                    let _ = std::fs::rename(at("run/checkpoints"), at("aside"));
                    let _ = std::fs::rename(at("link"), at("run/checkpoints"));
                    let _ = std::fs::rename(at("run/checkpoints"), at("link"));
                    let _ = std::fs::rename(at("aside"), at("run/checkpoints"));
                }
            });
            let mut written = 0;
            for _ in 0..20_000 {
                let done = anchored(&file, |path| std::fs::write(path, "newest"));
                written += usize::from(done.is_ok());
            }
            over.store(true, Ordering::Relaxed);
            assert!(written > 0, "nothing was tried");
        });
        assert_eq!(std::fs::read_dir(at("outside")).unwrap().count(), 0);
    }
}
