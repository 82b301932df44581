//! How a process ends that cannot get the memory it needs: with a message, and exit code 4.
//!
//! An allocator may not unwind, and one that gives nothing back makes the program abort. So the
//! process ends here: files are written beside their place and renamed, so that none is left half, and
//! a lock on a run folder ends with its process. Nothing here allocates.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Bytes;
use crate::limit;
use crate::purpose::{self, Purpose};

/// The exit code for a missing resource.
const EXIT: i32 = 4;

static JSON: AtomicBool = AtomicBool::new(false);
static ENDING: AtomicBool = AtomicBool::new(false);

/// Whether standard output gets a document with the error.
pub fn answer_in_json(wanted: bool) {
    JSON.store(wanted, Ordering::Relaxed);
}

/// Ends the process because a block of `size` bytes would break the limit.
pub(crate) fn of_limit(size: usize) -> ! {
    end(size, "raise --memory-limit", |text, Purpose { doing, .. }| {
        let limit = Bytes(limit::limit().unwrap_or(0));
        write!(text, "the memory limit of {limit} is reached while {doing}")
    })
}

/// Ends the process because the system gives no block of `size` bytes.
pub(crate) fn of_system(size: usize) -> ! {
    // There may be no limit of ours: some commands have none.
    end(size, "let the process have more memory (ulimit -v)", |text, Purpose { doing, .. }| {
        write!(text, "the system has no memory left while {doing}")
    })
}

fn end(size: usize, more: &str, say: impl Fn(&mut Line, &Purpose) -> fmt::Result) -> ! {
    if ENDING.swap(true, Ordering::AcqRel) {
        // Another thread is saying so.
        exit_after(1);
    }
    let now = purpose::now();
    let mut message = Line::new();
    let _ = say(&mut message, now);
    let _ = write!(
        message,
        ": {} are in use, and {} more are needed",
        Bytes(limit::held()),
        Bytes(size as u64)
    );
    let mut text = Line::new();
    let advice = now.advice;
    let _ = write!(text, "error: {}\nhint: {more}, or {advice}\n", message.as_str());
    // A progress bar may stand in the line.
    if is_terminal() {
        put(2, "\n");
    }
    put(2, text.as_str());
    if JSON.load(Ordering::Relaxed) {
        let mut document = Line::new();
        let _ = write!(
            document,
            "{{\n  \"schema\": 1,\n  \"error\": {{\n    \"code\": {EXIT},\n    \"kind\": \"resource\",\n    \
             \"message\": \"{}\",\n    \"hint\": \"{more}, or {}\"\n  }}\n}}\n",
            Escaped(message.as_str()),
            Escaped(advice)
        );
        put(1, document.as_str());
    }
    exit_after(0)
}

/// Text in a string of JSON; purposes have no other characters that need it.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|letter| match letter {
            '"' | '\\' => write!(f, "\\{letter}"),
            letter => f.write_char(letter),
        })
    }
}

/// Text that needs no allocator; what is too long is cut off.
struct Line {
    bytes: [u8; 2048],
    length: usize,
}

impl Line {
    fn new() -> Self {
        Self { bytes: [0; 2048], length: 0 }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        let place = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[allow(unsafe_code)]
fn is_terminal() -> bool {
    // SAFETY: asks about a number.
    unsafe { libc::isatty(2) == 1 }
}

#[allow(unsafe_code)]
fn put(file: i32, text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        // SAFETY: the bytes are there.
        let count = unsafe { libc::write(file, rest.as_ptr().cast(), rest.len()) };
        let Ok(count) = usize::try_from(count) else { return };
        rest = &rest[count.min(rest.len())..];
    }
}

#[allow(unsafe_code)]
fn exit_after(seconds: u32) -> ! {
    // SAFETY: ends the process without running anything that could allocate.
    unsafe {
        if seconds > 0 {
            libc::sleep(seconds);
        }
        libc::_exit(EXIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_what_fits_and_a_document_is_well_formed() {
        let mut line = Line::new();
        let (number, word) = (1, "\"two\"");
        write!(line, "{number} of {word}").unwrap();
        assert_eq!(line.as_str(), "1 of \"two\"");
        assert!(write!(line, "{}", "x".repeat(4096)).is_err());
        assert_eq!(format!("{}", Escaped(line.as_str())), "1 of \\\"two\\\"");
    }
}
