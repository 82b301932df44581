//! Paths as words of a command line that a report prints.

use std::path::Path;

/// A path as one word of a shell's command line: as it is where that is safe, in quotes otherwise.
///
/// ```
/// # use zoetrope_train::shell_word;
/// assert_eq!(shell_word("runs/tgcn-demo-1".as_ref()), "runs/tgcn-demo-1");
/// assert_eq!(shell_word("my runs/it's".as_ref()), r"'my runs/it'\''s'");
/// ```
pub fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_safe = |letter: char| letter.is_ascii_alphanumeric() || "/._-+=:,@%".contains(letter);
    match !text.is_empty() && text.chars().all(is_safe) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
