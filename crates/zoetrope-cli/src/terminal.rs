//! What the terminal can show: colour, width, and whether anybody is watching.

use std::borrow::Cow;
use std::io::IsTerminal;

/// How to write to a stream: with colour or without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    colour: bool,
}

impl Style {
    /// No colour at all.
    #[cfg(test)]
    pub(crate) const PLAIN: Self = Self { colour: false };

    /// For standard output.
    pub(crate) fn stdout() -> Self {
        Self { colour: wanted(std::io::stdout().is_terminal()) }
    }

    /// For standard error.
    pub(crate) fn stderr() -> Self {
        Self { colour: wanted(std::io::stderr().is_terminal()) }
    }

    /// Whether escape sequences may be written.
    pub(crate) fn has_colour(self) -> bool {
        self.colour
    }

    /// Headings.
    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// What matters less.
    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// Pictures.
    pub(crate) fn blue(self, text: &str) -> String {
        self.wrap("36", text)
    }

    /// Warnings.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// Errors.
    pub(crate) fn red(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    /// What is in order.
    pub(crate) fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// <https://no-color.org>: any non-empty value turns colour off.
fn wanted(is_terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    is_terminal && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// A text as it may go to a terminal: names in files can hold anything, and a terminal obeys control
/// characters. Line ends, tabs and, with colour, the colours of [`Style`] stay; every other control
/// character, and those that turn the direction of writing, is spelled out.
pub(crate) fn harmless(text: &str, style: Style) -> Cow<'_, str> {
    let is_harmful = |letter: char| {
        (letter.is_control() && letter != '\n' && letter != '\t')
            || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_harmful) {
        made.push_str(&rest[..at]);
        rest = &rest[at..];
        let kept = if style.colour { colour_code(rest) } else { 0 };
        let letter = rest.chars().next().unwrap_or_default();
        match kept {
            0 => made.extend(letter.escape_default()),
            kept => made.push_str(&rest[..kept]),
        }
        rest = &rest[if kept > 0 { kept } else { letter.len_utf8() }..];
    }
    made.push_str(rest);
    Cow::Owned(made)
}

/// The bytes of the colour that a text begins with; 0 if it begins with something else.
fn colour_code(text: &str) -> usize {
    let Some(code) = text.strip_prefix("\u{1b}[") else { return 0 };
    match code.find(|letter: char| !letter.is_ascii_digit() && letter != ';') {
        Some(end) if code[end..].starts_with('m') => 2 + end + 1,
        _ => 0,
    }
}

/// The width that reports keep to.
pub(crate) const WIDTH: usize = 80;

/// The number of columns that a text takes in the terminal, escape sequences not counted.
pub(crate) fn columns(text: &str) -> usize {
    let mut count = 0;
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\u{1b}' => while chars.next().is_some_and(|char| char != 'm') {},
            _ => count += 1,
        }
    }
    count
}

/// Breaks a text between words into lines of at most `width` columns.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    // A per cent sign stays with its number.
    for word in text.replace(" %", "\u{a0}%").split(' ') {
        let word = &word.replace('\u{a0}', " ");
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && columns(line) + 1 + columns(word) > width {
            lines.push(word.clone());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_spelled_out_and_colours_stay() {
        let coloured = Style { colour: true };
        assert_eq!(harmless("plain\ttext\n", coloured), "plain\ttext\n");
        assert_eq!(harmless("a\u{1b}]0;title\u{7}b", coloured), "a\\u{1b}]0;title\\u{7}b");
        assert_eq!(harmless("\u{1b}[1;31merror\u{1b}[0m", coloured), "\u{1b}[1;31merror\u{1b}[0m");
        assert_eq!(harmless("\u{1b}[31mred", Style::PLAIN), "\\u{1b}[31mred");
        assert_eq!(
            harmless("\u{1b}[2J\rx\u{9b}2J\u{202e}", coloured),
            "\\u{1b}[2J\\rx\\u{9b}2J\\u{202e}"
        );
    }

    #[test]
    fn escape_sequences_take_no_columns() {
        let style = Style { colour: true };
        assert_eq!(columns(&style.bold("édge")), 4);
        assert_eq!(columns(&Style::PLAIN.bold("édge")), 4);
    }

    #[test]
    fn long_texts_break_between_words() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 4), ["unbreakable"]);
        assert_eq!(wrap("about 23 %, so", 9), ["about", "23 %, so"]);
    }
}
