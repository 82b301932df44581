//! Rust text without comments, strings and characters, line by line.
//!
//! A scanner of the few tokens that can hide a word, not a parser: enough to tell whether a word
//! stands in code.

/// The text with everything that is not code replaced by blanks; line breaks are kept.
pub(super) fn code_only(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = hidden_end(bytes, at);
        if end > at {
            let blank = |&byte: &u8| if byte == b'\n' { b'\n' } else { b' ' };
            code.extend(bytes[at..end].iter().map(blank));
            at = end;
        } else {
            code.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&code).into_owned()
}

/// Whether `word` stands in `line` as a whole word.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(start, _)| {
        !line[..start].chars().next_back().is_some_and(part_of_word)
            && !line[start + word.len()..].chars().next().is_some_and(part_of_word)
    })
}

/// The end of the comment, string or character that starts at `at`; `at` if none starts there.
fn hidden_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        return at + rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
    }
    if rest.starts_with(b"/*") {
        return at + block_comment(rest);
    }
    match rest[0] {
        b'"' => at + quoted(rest, b'"'),
        b'\'' => at + character(rest),
        b'r' if !continues_word(bytes, at) => at + raw_string(rest),
        b'b' if !continues_word(bytes, at) && rest.get(1) == Some(&b'r') => {
            let length = raw_string(&rest[1..]);
            at + if length > 0 { length + 1 } else { 0 }
        }
        _ => at,
    }
}

fn continues_word(bytes: &[u8], at: usize) -> bool {
    at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_')
}

fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// A character literal, but not a lifetime: a lifetime has no closing quote after one character.
fn character(rest: &[u8]) -> usize {
    if rest.get(1) == Some(&b'\\') {
        return quoted(rest, b'\'');
    }
    let width = match rest.get(1) {
        Some(0xf0..) => 4,
        Some(0xe0..) => 3,
        Some(0xc0..) => 2,
        _ => 1,
    };
    if rest.get(1 + width) == Some(&b'\'') { width + 2 } else { 0 }
}

fn raw_string(rest: &[u8]) -> usize {
    let hashes = rest[1..].iter().take_while(|&&byte| byte == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return 0;
    }
    let closing = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
    let start = hashes + 2;
    let found = rest[start..].windows(closing.len()).position(|window| window == closing);
    found.map_or(rest.len(), |position| start + position + closing.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hides(text: &str) -> bool {
        !has_word(&code_only(text), "word")
    }

    #[test]
    fn comments_strings_and_raw_strings_hide_words() {
        assert!(hides("// word"));
        assert!(hides("/* a /* word */ word */"));
        assert!(hides(r#"let a = "\" word";"#));
        assert!(hides("let a = r#\"word \" word\"#;"));
        assert!(hides("let a = br\"word\";"));
    }

    #[test]
    fn code_after_what_hides_is_seen() {
        assert!(!hides("/* a */ word"));
        assert!(!hides(r#"let a = "b"; word"#));
        assert!(!hides("let quote = '\"'; word"));
        assert!(!hides("let quote = '\\''; word"));
        assert!(!hides("fn f<'a>(a: &'a str) { word }"));
        assert!(!hides("let r = 1; word"));
    }

    #[test]
    fn words_are_whole() {
        assert!(!has_word("words", "word"));
        assert!(!has_word("a_word", "word"));
        assert!(has_word("(word)", "word"));
    }

    #[test]
    fn lines_keep_their_numbers() {
        assert_eq!(code_only("a\n/* b\n c */\nd").lines().count(), 4);
    }
}
