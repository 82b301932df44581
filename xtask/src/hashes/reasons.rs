//! Why some rows differ on purpose: lines `WORD WORD …: REASON`, for rows whose names hold all words.

use std::path::Path;

/// The reasons of a file, in its order.
#[derive(Debug, Default)]
pub(super) struct Reasons(Vec<(Vec<String>, String)>);

impl Reasons {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&text).map_err(|line| format!("{}: no `WORDS: REASON`: {line}", path.display()))
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let read = |line: &str| {
            let (words, reason) = line.split_once(": ").ok_or_else(|| line.to_owned())?;
            Ok((words.split_whitespace().map(str::to_owned).collect(), reason.to_owned()))
        };
        lines.map(read).collect::<Result<_, _>>().map(Self)
    }

    /// The first reason for the row of that name.
    pub(super) fn of(&self, name: &str) -> Option<&str> {
        let holds = |words: &[String]| words.iter().all(|word| name.contains(word.as_str()));
        self.0.iter().find(|(words, _)| holds(words)).map(|(_, reason)| reason.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_whose_words_are_all_there_is_the_reason() {
        let reasons = Reasons::parse("# why\ntgcn cuda: a\ntgcn: b\n").unwrap();
        assert_eq!(reasons.of("tgcn link-prediction cuda"), Some("a"));
        assert_eq!(reasons.of("tgcn link-prediction cpu"), Some("b"));
        assert_eq!(reasons.of("dysat link-prediction cpu"), None);
        assert!(Reasons::parse("no reason").is_err());
    }
}
