//! What the names of columns say about their roles.

use super::words::*;

/// What a name is worth for each role, in points; 0 says nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct NamePoints {
    pub(super) src: f64,
    pub(super) dst: f64,
    pub(super) time: f64,
    pub(super) weight: f64,
    pub(super) label: f64,
    /// Whether it names what a row is.
    pub(super) row: bool,
    /// Whether it names something measured or a category, which is no vertex.
    pub(super) measure: bool,
    /// Whether it says who acts, or what is acted on.
    pub(super) actor: bool,
    pub(super) thing: bool,
    /// Whether a word of it says which end it is.
    pub(super) directed: bool,
    /// Whether it is a date of a person or a thing, which is not the time of an event.
    pub(super) other_date: bool,
    /// Whether it names a vertex of whatever kind.
    pub(super) entity: bool,
    /// Whether it names what rows may be ordered by, such as a round or a block.
    pub(super) order: bool,
}

/// The words of a name, in lower case: `fromAccount_ID2` is `from account id 2`.
pub(super) fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().take(200).collect();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for (at, &letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| letters[before]);
        let next = letters.get(at + 1);
        let starts = before.is_some_and(|before| {
            let camel = before.is_lowercase() && letter.is_uppercase();
            // `PULocation`: the last capital belongs to the word that follows.
            let acronym = before.is_uppercase()
                && letter.is_uppercase()
                && next.is_some_and(|next| next.is_lowercase());
            camel || acronym || before.is_ascii_digit() != letter.is_ascii_digit()
        });
        if (starts || !letter.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Whether a word, or its singular, is in a list.
fn among(word: &str, list: &[&str]) -> bool {
    list.contains(&word) || word.strip_suffix('s').is_some_and(|one| list.contains(&one))
}

fn any(words: &[String], list: &[&str]) -> bool {
    words.iter().any(|word| among(word, list))
}

/// 10 points for a name of the list, a little less for its later ones; exact spelling first, so
/// that `item.t` and `item.T` are told apart.
fn listed(name: &str, list: &[&str]) -> Option<f64> {
    let lower = name.to_lowercase();
    let exact = list.iter().position(|known| *known == name);
    let rank = exact.or_else(|| list.iter().position(|known| *known == lower))?;
    Some(10.0 - 0.02 * rank as f64 + if exact.is_some() { 0.01 } else { 0.0 })
}

/// What a name says by itself.
pub(super) fn points(name: &str) -> NamePoints {
    let words = words(name);
    let row_name = ROW_NAMES.contains(&name.to_lowercase().as_str());
    let mut points = NamePoints {
        row: row_name || any(&words, ROW_WORDS),
        measure: any(&words, MEASURES),
        actor: any(&words, ACTORS),
        thing: any(&words, THINGS),
        ..NamePoints::default()
    };
    let lasting = any(&words, DURATIONS);
    points.measure |= lasting && any(&words, TIME_WORDS);
    points.other_date = any(&words, OTHER_DATES);
    points.order = orders_rows(&words) && !lasting && !points.other_date;
    let timed = (any(&words, TIME_WORDS) && !lasting) || points.other_date;
    let labelled = any(&words, LABEL_WORDS);
    let (from, to) = (any(&words, FROM_WORDS), any(&words, TO_WORDS));
    points.directed = from != to;
    let mut vertex = 0.0;
    points.entity = any(&words, ENTITIES) || points.actor || points.thing;
    if points.entity {
        vertex += 2.0;
    }
    for (is, cost) in [(points.row, 4.0), (points.measure, 6.0), (timed, 6.0), (labelled, 4.0)] {
        vertex -= if is { cost } else { 0.0 };
    }
    let side = |here: bool, there: bool, noun: bool| match (here, there) {
        (true, false) => vertex + 6.0,
        (false, true) => vertex - 3.0,
        _ if noun => vertex + 2.0,
        _ => vertex,
    };
    points.src = listed(name, SOURCE).unwrap_or_else(|| side(from, to, points.actor));
    points.dst = listed(name, DESTINATION).unwrap_or_else(|| side(to, from, points.thing));
    // A name of the other end is not one of this one.
    if listed(name, SOURCE).is_some() {
        points.dst = points.dst.min(0.0);
    }
    if listed(name, DESTINATION).is_some() {
        points.src = points.src.min(0.0);
    }
    points.time = listed(name, TIME).unwrap_or(if timed { 6.0 } else { 0.0 });
    if points.other_date {
        points.time = 0.0;
    }
    if points.time > 0.0 {
        let early = ["start", "started", "begin", "pickup", "sent", "created", "departure", "from"];
        let late = ["end", "ended", "dropoff", "updated", "closed", "arrival", "to"];
        points.time += if any(&words, &early) { 1.0 } else { 0.0 };
        points.time -= if any(&words, &late) { 1.0 } else { 0.0 };
    }
    points.weight =
        listed(name, WEIGHT).unwrap_or(if any(&words, WEIGHT_WORDS) { 6.0 } else { 0.0 });
    points.label = match listed(name, LABEL) {
        Some(_) if ["type", "sign", "event_type"].contains(&name.to_lowercase().as_str()) => 5.0,
        Some(found) => found,
        None if labelled && !timed => 6.0,
        None => 0.0,
    };
    points
}

/// Whether words name what rows may be ordered by: `blockNumber`, `game round`, `contact start`,
/// and not `number of rounds`, `from block` or `start station`.
fn orders_rows(words: &[String]) -> bool {
    let Some((last, before)) = uncounted(words).split_last() else { return false };
    let other_end = |word: &String| among(word, FROM_WORDS) || among(word, TO_WORDS);
    let many = before.first().is_some_and(|word| HOW_MANY.contains(&word.as_str()));
    let other = |word: &String| other_end(word) || among(word, MEASURES);
    among(last, ORDER_WORDS) && !many && !before.iter().any(other)
}

/// Words without those that say, behind another word, that it is counted.
fn uncounted(words: &[String]) -> &[String] {
    let counted = words.iter().rev().take_while(|word| COUNTED.contains(&word.as_str())).count();
    &words[..words.len() - counted]
}

/// Whether a name is that of something that is counted one by one: `blockNumber`, `game round`, and not
/// `block time`.
pub(super) fn counts_one_by_one(name: &str) -> bool {
    uncounted(&words(name)).last().is_some_and(|last| among(last, STEP_WORDS))
}

/// Whether a name is that of a row number or of a row's own name, which is no feature.
pub(super) fn is_row_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    ROW_NAMES.contains(&lower.as_str()) && lower != "id"
}

/// Whether a name says which end of an edge it is: the source or the destination.
pub(super) fn end(name: &str) -> Option<bool> {
    let points = points(name);
    match (points.src >= 6.0, points.dst >= 6.0) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

/// Whether two names are those of the two ends of an edge, in this order: they differ in one word,
/// and that word is `from` in one and `to` in the other, or the like; or the second repeats the
/// first (`Account`, `Account.1`).
pub(super) fn are_opposite(first: &str, second: &str) -> bool {
    if first == second || second.strip_suffix(".1") == Some(first) {
        return !first.is_empty();
    }
    let (one, two) = (words(first), words(second));
    if one.len() != two.len() {
        return false;
    }
    let mut differing = one.iter().zip(&two).filter(|(one, two)| one != two);
    let Some((one, two)) = differing.next() else { return false };
    let singular = |word: &str| word.strip_suffix('s').map(str::to_owned);
    let opposite = |one: &str, two: &str| OPPOSITES.contains(&(one, two));
    differing.next().is_none()
        && (opposite(one, two)
            || singular(two).is_some_and(|two| opposite(one, &two))
            || singular(one).zip(singular(two)).is_some_and(|(one, two)| opposite(&one, &two)))
}

/// Whether two names are those of the start and the end of a time, in this order: they differ in
/// one such word, and no other word names a vertex.
pub(super) fn are_interval(first: &str, second: &str) -> bool {
    let (one, two) = (words(first), words(second));
    let mut differing = one.iter().zip(&two).filter(|(one, two)| one != two);
    let interval = differing.next().is_some_and(|(one, two)| {
        INTERVALS.contains(&(one.as_str(), two.as_str())) && differing.next().is_none()
    });
    let vertex = [ENTITIES, ACTORS, THINGS].iter().any(|list| any(&one, list));
    one.len() == two.len() && interval && !vertex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_words() {
        for (name, expected) in [
            ("from_account", "from account"),
            ("fromAccount", "from account"),
            ("PULocationID", "pu location id"),
            ("Account.1", "account 1"),
            ("Is Laundering", "is laundering"),
            ("txId2", "tx id 2"),
            ("SENT-AT", "sent at"),
        ] {
            assert_eq!(words(name).join(" "), expected);
        }
    }

    #[test]
    fn words_say_which_end_a_column_is() {
        for name in ["from_account", "Sender ID", "senderId", "PULocationID", "nameOrig"] {
            assert_eq!(end(name), Some(true), "{name}");
        }
        for name in ["to_account", "Recipients", "receiverId", "DOLocationID", "nameDest"] {
            assert_eq!(end(name), Some(false), "{name}");
        }
        for name in ["transaction_id", "from_date", "src_port", "newbalanceDest", "amount"] {
            assert_eq!(end(name), None, "{name}");
        }
    }

    #[test]
    fn times_are_known_by_whole_words() {
        for name in ["time", "visit_date", "CreationDate", "SQLDATE", "sentAt", "Datum"] {
            assert!(points(name).time >= 6.0, "{name}");
        }
        for name in
            ["candidate", "update", "mandate", "overtime", "time_since_last", "birth_date", "dob"]
        {
            assert_eq!(points(name).time, 0.0, "{name}");
        }
    }

    #[test]
    fn what_rows_are_ordered_by_is_known_by_the_last_word() {
        for name in ["start", "blockNumber", "turn_number", "Round", "contact_start", "block_id"] {
            assert!(points(name).order, "{name}");
        }
        for name in ["number_of_turns", "num_rounds", "from_block", "start_station", "block_size"] {
            assert!(!points(name).order, "{name}");
        }
    }

    #[test]
    fn opposites_differ_in_one_word() {
        for (one, two) in [
            ("from_account", "to_account"),
            ("txId1", "txId2"),
            ("Actor1Code", "Actor2Code"),
            ("Account", "Account.1"),
            ("start_station_id", "end_station_id"),
            ("i", "j"),
        ] {
            assert!(are_opposite(one, two) && !are_opposite(two, one), "{one} {two}");
        }
        assert!(are_interval("start", "end") && are_interval("contact_start", "contact_end"));
        assert!(!are_interval("start_station", "end_station") && !are_interval("end", "start"));
        assert!(!are_opposite("from_account", "to_bank"));
        assert!(!are_opposite("start_station_id", "end_station_name"));
    }
}
