//! Two sets of results side by side.

use std::fmt::Write as _;

use super::outcome::Outcome;
use super::reasons::Reasons;
use super::runs::Results;

/// How a row compares.
struct Compared {
    name: String,
    before: String,
    after: String,
    verdict: Verdict,
    reason: Option<String>,
}

enum Verdict {
    Equal,
    Refused(String),
    Differs(Vec<String>),
    Missing,
}

/// Rows of two sets of results, with what differs.
pub(super) struct Comparison(Vec<Compared>);

impl Comparison {
    pub(super) fn of(names: &[&str], before: &Results, after: &Results, reasons: &Reasons) -> Self {
        let row = |name: &&str| {
            let (one, two) = (before.rows.get(*name), after.rows.get(*name));
            let brief = |row: Option<&Outcome>| row.map_or_else(|| "–".to_owned(), Outcome::brief);
            let verdict = one.zip(two).map_or(Verdict::Missing, |(one, two)| verdict(one, two));
            let reason = reasons.of(name).filter(|_| verdict.differs()).map(str::to_owned);
            let (before, after) = (brief(one), brief(two));
            Compared { name: (*name).to_owned(), before, after, verdict, reason }
        };
        Self(names.iter().map(row).collect())
    }

    /// Rows that differ and have no reason.
    pub(super) fn unexplained(&self) -> usize {
        self.0.iter().filter(|row| row.verdict.differs() && row.reason.is_none()).count()
    }

    fn count(&self, which: impl Fn(&Compared) -> bool) -> usize {
        self.0.iter().filter(|row| which(row)).count()
    }

    fn totals(&self) -> String {
        format!(
            "{} configurations: {} equal ({} of them refused by both), {} differ for a reason, {} differ \
             without one.",
            self.0.len(),
            self.count(|row| !row.verdict.differs()),
            self.count(|row| matches!(row.verdict, Verdict::Refused(_))),
            self.count(|row| row.verdict.differs() && row.reason.is_some()),
            self.unexplained()
        )
    }

    /// Prints the rows that differ, and the totals.
    pub(super) fn print(&self) {
        for row in self.0.iter().filter(|row| row.verdict.differs()) {
            println!("{}: {} and {}: {}", row.name, row.before, row.after, row.said());
        }
        println!("{}", self.totals());
    }

    /// The table as a page.
    pub(super) fn page(&self, before: &str, after: &str) -> String {
        let mut page = format!(
            "# Results before and after\n\nBefore: {before}. After: {after}. Made by `cargo xtask hashes`: the \
             first digits of `state_hash`; rows are equal if hash, losses, metrics, baselines, predictions and \
             moved bytes are.\n\n{}\n\n| configuration | {before} | {after} | |\n| --- | --- | --- | --- |\n",
            self.totals()
        );
        for row in &self.0 {
            let Compared { name, before, after, .. } = row;
            let _ = writeln!(
                page,
                "| {name} | {before} | {after} | {} |",
                row.said().replace('|', "\\|")
            );
        }
        page
    }
}

impl Compared {
    fn said(&self) -> String {
        let found = match &self.verdict {
            Verdict::Equal => "equal".to_owned(),
            Verdict::Refused(said) => format!("both refused: {said}"),
            Verdict::Differs(what) => format!("differs: {}", what.join(", ")),
            Verdict::Missing => "only in one of the two".to_owned(),
        };
        match &self.reason {
            Some(reason) => format!("{found} ({reason})"),
            None => found,
        }
    }
}

impl Verdict {
    fn differs(&self) -> bool {
        matches!(self, Self::Differs(_) | Self::Missing)
    }
}

fn verdict(before: &Outcome, after: &Outcome) -> Verdict {
    let mut what: Vec<String> = before.differences(after).into_iter().map(str::to_owned).collect();
    what.extend(before.moved(after));
    if before.code != after.code {
        what.extend(
            [before, after].into_iter().map(|row| row.said.clone()).filter(|said| !said.is_empty()),
        );
    }
    if !what.is_empty() {
        Verdict::Differs(what)
    } else if after.code == Some(0) {
        Verdict::Equal
    } else {
        Verdict::Refused(after.said.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_that_differ_are_told_from_equal_ones_and_a_reason_excuses_them() {
        let run = |hash: &str| Outcome::of_run(&json!({"state_hash": hash}), Ok(Vec::new()), 0.0);
        let refused = || Outcome::refused(Some(2), "error: no".to_owned());
        let results = |last: &str, all: bool| {
            let mut results = Results::default();
            results.rows.insert("same".to_owned(), run("aa"));
            results.rows.insert("refused".to_owned(), refused());
            results.rows.insert("changed".to_owned(), run(last));
            if all {
                results.rows.insert("new".to_owned(), run("dd"));
            }
            results
        };
        let names = ["same", "refused", "changed", "new"];
        let compare = |reasons: &Reasons| {
            Comparison::of(&names, &results("bb", false), &results("cc", true), reasons)
        };
        let plain = compare(&Reasons::default());
        assert_eq!(plain.unexplained(), 2);
        let page = plain.page("old", "new");
        assert!(page.contains("| changed | bb | cc | differs: state_hash |"), "{page}");
        assert!(page.contains("both refused: error: no"), "{page}");
        assert!(page.contains("| new | – | dd | only in one of the two |"), "{page}");
        assert_eq!(compare(&Reasons::parse("changed: on purpose").unwrap()).unexplained(), 1);
    }
}
