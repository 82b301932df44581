//! What a user calls data: a path, `-` for standard input, or `file://` with escaped bytes for a
//! path that is not UTF-8, so that every name is a text that a configuration can hold.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The name of standard input.
pub const STANDARD_INPUT: &str = "-";

const URL: &str = "file://";

/// The text that names a path: the path itself, or a `file://` address if it is not UTF-8.
pub fn name_of(path: &OsStr) -> String {
    if let Some(text) = path.to_str() {
        return text.to_owned();
    }
    // An address has no working folder that it could be relative to.
    let absolute = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
    let mut name = URL.to_owned();
    for &byte in absolute.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                name.push(char::from(byte));
            }
            _ => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name
}

/// The path that a text names.
pub fn path_of(name: &str) -> PathBuf {
    let Some(address) = name.strip_prefix(URL) else { return PathBuf::from(name) };
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.as_bytes();
    while let [first, others @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, ..] => hexadecimal(*high).zip(hexadecimal(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push(high << 4 | low);
                rest = &rest[3..];
            }
            None => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    from_bytes(bytes)
}

fn hexadecimal(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|digit| digit as u8)
}

#[cfg(unix)]
fn from_bytes(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(not(unix))]
fn from_bytes(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

/// A short name for people: the last part of a path, or `stdin`.
pub fn short_name(name: &str) -> String {
    if name == STANDARD_INPUT {
        return "stdin".to_owned();
    }
    let path = path_of(name);
    let last = path.file_name().map(|last| last.to_string_lossy().into_owned());
    last.unwrap_or_else(|| name.to_owned())
}

/// Whether what a name stands for can be read only once: standard input, a pipe, or an open file that
/// has no name any more.
pub fn is_read_once(name: &str) -> bool {
    let is_gone = || is_open_file(name) && file_behind(name).is_none();
    is_standard_input(name) || is_pipe(&path_of(name)) || is_gone()
}

/// A name that still holds when this process has ended: `/dev/stdin` and the like become the path of
/// the file that they were redirected from. Other names stay as they are.
pub fn lasting(name: &str) -> String {
    match is_open_file(name).then(|| file_behind(name)).flatten() {
        Some(path) => name_of(path.as_os_str()),
        None => name.to_owned(),
    }
}

/// Whether a name stands for a file that this process has open.
fn is_open_file(name: &str) -> bool {
    let number = ["/dev/fd/", "/proc/self/fd/"].iter().find_map(|start| name.strip_prefix(start));
    name == "/dev/stdin"
        || number.is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
}

/// The path of the file behind the name of an open one, if it is a plain file and has a path.
fn file_behind(name: &str) -> Option<PathBuf> {
    let path = std::fs::canonicalize(name).ok()?;
    let lasts = !["/dev/", "/proc/"].iter().any(|folder| path.starts_with(folder));
    (lasts && path.is_file()).then_some(path)
}

/// Whether a name is an address of a path that is not UTF-8, which is absolute as it is.
pub fn is_address(name: &str) -> bool {
    name.starts_with(URL)
}

/// Whether a name stands for standard input, also as a path.
pub(crate) fn is_standard_input(name: &str) -> bool {
    let paths = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
    // A file that was redirected can be opened again like any other, as long as it has a name.
    name == STANDARD_INPUT || paths.contains(&name) && file_behind(name).is_none()
}

/// Whether a path is a pipe, which can be read only once.
pub(crate) fn is_pipe(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        std::fs::metadata(path).is_ok_and(|data| data.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_paths_unless_a_path_is_not_text() {
        assert_eq!(name_of(OsStr::new("a b%20.csv")), "a b%20.csv");
        assert_eq!(path_of("a b%20.csv"), Path::new("a b%20.csv"));
        assert_eq!(path_of("file:///a%20b%2"), Path::new("/a b%2"));
        assert_eq!(short_name("data/x.csv"), "x.csv");
        assert_eq!(short_name("-"), "stdin");
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_no_text_come_back_equal() {
        use std::os::unix::ffi::OsStrExt;
        let path = OsStr::from_bytes(b"/tmp/caf\xe9 %41.csv");
        let name = name_of(path);
        assert_eq!(name, "file:///tmp/caf%E9%20%2541.csv");
        assert_eq!(path_of(&name).as_os_str(), path);
    }
}
