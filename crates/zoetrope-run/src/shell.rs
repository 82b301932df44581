//! Paths as words of a command line that a report prints.

use std::path::Path;

/// A path as one word of a shell's command line: as it is if that is safe, in quotes otherwise.
///
/// ```
/// # use zoetrope_run::shell_word;
/// assert_eq!(shell_word("runs/tgcn-demo-1".as_ref()), "runs/tgcn-demo-1");
/// assert_eq!(shell_word("my runs/it's".as_ref()), r"'my runs/it'\''s'");
/// ```
///
/// A path that is not UTF-8 is written with escapes, as bash and zsh read them: `$'out\xE9'`.
pub fn shell_word(path: &Path) -> String {
    let Some(text) = path.to_str() else { return escaped(path.as_os_str().as_encoded_bytes()) };
    let is_safe = |letter: char| letter.is_ascii_alphanumeric() || "/._-+=:,@%".contains(letter);
    if !text.is_empty() && text.chars().all(is_safe) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn escaped(bytes: &[u8]) -> String {
    let letter = |&byte: &u8| match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02X}"),
    };
    format!("$'{}'", bytes.iter().map(letter).collect::<String>())
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_escaped() {
        let path = Path::new(OsStr::from_bytes(b"it's/out\xe9"));
        assert_eq!(shell_word(path), r"$'it\'s/out\xE9'");
    }
}
