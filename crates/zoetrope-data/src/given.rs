//! What a user calls data: a path, `-` for standard input, or `file://` with escaped bytes for a
//! path that is not UTF-8, so that every name is a text that a configuration can hold.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The name of standard input.
pub const STANDARD_INPUT: &str = "-";

const URL: &str = "file://";

/// The text that names a path: the path itself, or a `file://` address where it is not UTF-8.
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

/// Whether what a name stands for can be read only once: standard input or a pipe.
pub fn is_read_once(name: &str) -> bool {
    is_standard_input(name) || is_pipe(&path_of(name))
}

/// Whether a name is an address of a path that is not UTF-8, which is absolute as it is.
pub fn is_address(name: &str) -> bool {
    name.starts_with(URL)
}

/// Whether a name stands for standard input, also as a path.
pub(crate) fn is_standard_input(name: &str) -> bool {
    let paths = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
    // A file that was redirected has a length and can be opened again like any other.
    let piped = |path: &str| std::fs::metadata(path).map_or(true, |data| !data.is_file());
    name == STANDARD_INPUT || paths.contains(&name) && piped(name)
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
