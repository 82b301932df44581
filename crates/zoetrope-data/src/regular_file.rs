//! Opening files, and nothing but files.
//!
//! Opening a pipe blocks until somebody writes to it, and a device may have no end. A path that is meant
//! to name a file can name either. So the kind is checked before opening, the file is opened without
//! blocking, and the kind is checked again. Pipes and standard input are read by `spool`, if asked for.

use std::fs::{File, FileType, OpenOptions};
use std::io;
use std::path::Path;

use crate::error::DataError;

/// Opens a file to read it.
///
/// # Errors
/// If the system refuses; [`io::ErrorKind::InvalidInput`] if it is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    // Before opening: to open a device may do something to it.
    must_be_file(std::fs::metadata(path)?.file_type())?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    let file = options.open(path)?;
    must_be_file(file.metadata()?.file_type())?;
    Ok(file)
}

/// Reads a whole file.
///
/// # Errors
/// As [`open`], and if reading fails.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut open(path)?, &mut bytes)?;
    Ok(bytes)
}

/// Refuses what is no regular file.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] that says what it is.
pub fn must_be_file(kind: FileType) -> io::Result<()> {
    let what = match name_of(kind) {
        None => return Ok(()),
        Some(what) => what,
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, not a regular file")))
}

/// Refuses a pipe, a device or a socket that lies in a folder of data; files and folders pass, and
/// so does what is not there.
pub(crate) fn refuse_special(path: &Path) -> Result<(), DataError> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_dir() => {
            must_be_file(found.file_type()).map_err(|error| DataError::io(path, error))
        }
        _ => Ok(()),
    }
}

/// What it is, unless it is a file.
fn name_of(kind: FileType) -> Option<&'static str> {
    if kind.is_file() {
        return None;
    }
    if kind.is_dir() {
        return Some("a folder");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return Some("a pipe");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
    }
    Some("a device")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_a_device_and_a_folder_are_no_files() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, mode, 0).unwrap();
        for (path, what) in
            [(&*pipe, "a pipe"), (Path::new("/dev/zero"), "a device"), (folder.path(), "a folder")]
        {
            let error = read(path).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
            assert_eq!(refuse_special(path).is_err(), path != folder.path());
        }
        let file = folder.path().join("file");
        std::fs::write(&file, "content").unwrap();
        assert_eq!(read(&file).unwrap(), b"content");
        assert!(refuse_special(&file).is_ok() && refuse_special(&folder.path().join("x")).is_ok());
    }
}
