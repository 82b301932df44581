//! Opening the files of a run folder.
//!
//! A folder may come from somebody else, and what is in it must not reach outside: files are written
//! without following links, read only if they are files (a pipe would wait for ever), and a file that
//! has another name elsewhere is replaced rather than written into.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

use serde::de::DeserializeOwned;
use zoetrope_data::regular_file;

use crate::error::RunError;

/// Reads a whole file; None if there is none.
///
/// # Errors
/// [`RunError::Io`] if it cannot be read or is no file.
pub fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, RunError> {
    match read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(RunError::io(path, error)),
    }
}

/// Reads a JSON document; None if there is none.
///
/// # Errors
/// [`RunError::Io`] if it cannot be read, [`RunError::Damaged`] if it is something else.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, RunError> {
    let Some(text) = read_if_there(path)? else { return Ok(None) };
    let damaged = |error: serde_json::Error| RunError::Damaged {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    serde_json::from_slice(&text).map(Some).map_err(damaged)
}

/// Reads a whole file, and nothing that is not a file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    regular_file::read(path)
}

/// Starts a file anew: a file or a link of its name is taken away and not written to. A device, which a
/// user names on purpose, is opened as it is.
pub(crate) fn fresh(path: &Path) -> io::Result<File> {
    match path.symlink_metadata() {
        Ok(found) if found.is_file() || found.is_symlink() => std::fs::remove_file(path)?,
        Ok(_) => {
            let mut options = OpenOptions::new();
            #[cfg(unix)]
            flags(&mut options, rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW);
            return options.write(true).open(path);
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Opens a file to go on with it; a link is refused.
pub(crate) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    flags(options, rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW);
    match options.open(path) {
        Ok(file) => must_be_file(file),
        Err(_) if is_link(path) => Err(link()),
        Err(error) => Err(error),
    }
}

/// Refuses a folder that is a link.
pub(super) fn must_not_be_link(folder: &Path) -> io::Result<()> {
    if is_link(folder) { Err(link()) } else { Ok(()) }
}

#[cfg(unix)]
fn flags(options: &mut OpenOptions, flags: rustix::fs::OFlags) {
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags(flags.bits() as i32);
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}

pub(super) fn link() -> io::Error {
    let why = "it is a link, and a run writes nothing outside of its folder; remove it";
    io::Error::new(ErrorKind::InvalidInput, why)
}

fn must_be_file(file: File) -> io::Result<File> {
    regular_file::must_be_file(file.metadata()?.file_type())?;
    Ok(file)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_is_written_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (own, victim) = (folder.path().join("own"), folder.path().join("victim"));
        std::fs::write(&victim, "years of work").unwrap();
        symlink(&victim, &own).unwrap();
        let error = open(&own, OpenOptions::new().append(true)).unwrap_err();
        assert!(error.to_string().contains("a link"), "{error}");
        drop(fresh(&own).unwrap());
        std::fs::remove_file(&own).unwrap();
        std::fs::hard_link(&victim, &own).unwrap();
        drop(fresh(&own).unwrap());
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "years of work");
        let elsewhere = folder.path().join("folder");
        symlink(folder.path(), &elsewhere).unwrap();
        assert!(must_not_be_link(&elsewhere).is_err());
        assert!(must_not_be_link(folder.path()).is_ok());
    }

    #[test]
    fn a_pipe_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert!(read_if_there(&pipe).unwrap_err().to_string().contains("not a regular file"));
        assert!(open(&pipe, OpenOptions::new().read(true)).is_err());
        assert!(read_if_there(&folder.path().join("absent")).unwrap().is_none());
    }
}
