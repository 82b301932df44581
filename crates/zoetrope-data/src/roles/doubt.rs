//! Messages about the roles of columns: notes for a report, and the question to the user if the roles
//! are uncertain.

use super::values::Facts;
use super::{ColumnKind, ColumnNote, Columns, Roles, names};
use crate::error::{DataError, shorten};

/// At most this many columns are named.
const MOST_NOTES: usize = 48;

/// The columns and what they were taken for.
pub(super) fn notes(columns: &Columns<'_>, roles: &Roles) -> Vec<ColumnNote> {
    (0..columns.names.len().min(MOST_NOTES))
        .map(|at| {
            let role = role(roles, at);
            ColumnNote {
                name: shorten(&columns.names[at]),
                values: columns.facts[at].shown(),
                role,
                why: why(columns, roles, at, role),
            }
        })
        .collect()
}

fn role(roles: &Roles, at: usize) -> &'static str {
    let at = Some(at);
    let classes = roles.classes.map(|(src, dst)| [Some(src), Some(dst)]);
    match at {
        _ if at == Some(roles.src) => "source",
        _ if at == Some(roles.dst) => "destination",
        Some(at) if roles.times().any(|column| column == at) => "time",
        _ if at == roles.weight => "weight",
        _ if at == roles.label => "label",
        _ if at == roles.kind => "kind",
        _ if classes.is_some_and(|classes| classes.contains(&at)) => "class of a vertex",
        Some(at) if roles.features.contains(&at) => "feature",
        _ => "not used",
    }
}

fn why(columns: &Columns<'_>, roles: &Roles, at: usize, role: &str) -> String {
    let (facts, given) = (&columns.facts[at], &columns.given);
    if given.taken().contains(&at) {
        return "named by the user".into();
    }
    let points = names::points(&columns.names[at]);
    let named = columns.has_header
        && match role {
            "source" => points.src > 0.0,
            "destination" => points.dst > 0.0,
            "time" => points.time > 0.0,
            "weight" => points.weight > 0.0,
            "label" => points.label > 0.0,
            "kind" => true,
            _ => false,
        };
    let mut parts = Vec::new();
    if role == "time" && roles.time_parts.len() > 1 {
        parts.push("one of the columns that make the time");
    }
    if named {
        parts.push("its name");
    }
    parts.extend(seen(facts, role));
    if parts.is_empty() {
        parts.push(match role {
            "feature" => "a number without another role",
            "not used" => "neither a number nor a role by its name",
            _ => "its position",
        });
    }
    parts.join(", ")
}

/// What the values show.
fn seen(facts: &Facts, role: &str) -> Option<&'static str> {
    match role {
        "time" if matches!(facts.kind, ColumnKind::Date(_)) => Some("dates"),
        "time" if facts.unix => Some("Unix times"),
        "time" if facts.rises => Some("it never falls"),
        "label" if facts.binary => Some("two values"),
        "source" | "destination" if facts.present > facts.distinct() => Some("its values repeat"),
        "not used" if facts.is_unique() => Some("every value differs: it names rows"),
        "not used" if facts.is_constant() => Some("it never changes"),
        _ => None,
    }
}

/// The error that shows the guess and how to confirm it; with `no_time` also that there is no time.
pub(super) fn uncertain(
    columns: &Columns<'_>,
    roles: &Roles,
    what: String,
    no_time: bool,
) -> DataError {
    let flag = |flag: &str, column: Option<usize>| {
        column.map(|column| format!("--{flag} {}", reference(columns, column)))
    };
    let flags = [
        flag("src", Some(roles.src)),
        flag("dst", Some(roles.dst)),
        // Several columns that make the time have no flag: they are found again.
        match roles.time {
            Some(time) => flag("time", Some(time)).filter(|_| roles.time_parts.is_empty()),
            None => no_time.then(|| "--no-time".to_owned()),
        },
        flag("weight", roles.weight),
        flag("label", roles.label),
    ];
    DataError::Uncertain {
        path: columns.path.to_owned(),
        what,
        columns: notes(columns, roles),
        confirm: flags.into_iter().flatten().collect::<Vec<_>>().join(" "),
    }
}

/// A column as a flag names it: by its name, quoted for a shell, or by its position if the
/// name would be taken for another column or for a position.
fn reference(columns: &Columns<'_>, column: usize) -> String {
    let name = &columns.names[column];
    let once = columns.names.iter().filter(|other| *other == name).count() == 1;
    let odd = |letter: char| letter.is_control() || letter == '\'' || letter == '\u{fffd}';
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.:".contains(letter);
    let is_name = columns.has_header && once && name.parse::<usize>().is_err() && !name.is_empty();
    if !is_name || name == "none" || name.starts_with('-') || name.chars().any(odd) {
        column.to_string()
    } else if name.chars().all(plain) {
        name.clone()
    } else {
        format!("'{name}'")
    }
}

/// A name for a sentence.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", shorten(name))
}
