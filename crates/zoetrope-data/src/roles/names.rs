//! What the names of columns say about their roles.

/// Names that mean a role by themselves, the more usual ones first.
pub(super) const SOURCE: &[&str] = &[
    "src",
    "source",
    "from",
    "u",
    "user_id",
    "user",
    "sender",
    "source_id",
    "src_id",
    "from_id",
    "from_address",
    "from_node_id",
    "fromnodeid",
    "source_subreddit",
    "item.u",
    "start",
    "head",
    "caller",
    "origin",
    "node1",
    "id1",
    "initiator",
    "payer",
    "nameorig",
];
pub(super) const DESTINATION: &[&str] = &[
    "dst",
    "dest",
    "destination",
    "target",
    "to",
    "i",
    "v",
    "item_id",
    "item",
    "receiver",
    "recipient",
    "target_id",
    "dst_id",
    "to_id",
    "to_address",
    "to_node_id",
    "tonodeid",
    "target_subreddit",
    "item.v",
    "end",
    "tail",
    "callee",
    "node2",
    "id2",
    "payee",
    "namedest",
];
pub(super) const TIME: &[&str] = &[
    "time",
    "t",
    "ts",
    "timestamp",
    "datetime",
    "date",
    "unixtime",
    "unix_time",
    "unixts",
    "epoch",
    "block_timestamp",
    "item.t",
    "created_at",
    "event_time",
    "step",
    "day",
    "year",
];
pub(super) const WEIGHT: &[&str] =
    &["weight", "w", "value", "amount", "rating", "edge_weight", "count"];
pub(super) const LABEL: &[&str] = &[
    "label",
    "state_label",
    "is_fraud",
    "isfraud",
    "y",
    "class",
    "target_label",
    "link_sentiment",
    "item.T",
    "event_type",
    "type",
    "sign",
];
pub(super) const KIND: &[&str] = &["kind", "op", "operation", "action"];
/// Columns that number rows or name them: never features.
const ROW_NAMES: &[&str] =
    &["", "id", "idx", "index", "row", "unnamed: 0", "ext_roll", "post_id", "hash"];

const FROM_WORDS: &[&str] = &[
    "src",
    "source",
    "from",
    "sender",
    "payer",
    "orig",
    "origin",
    "originator",
    "caller",
    "initiator",
    "follower",
    "giver",
    "buyer",
    "donor",
    "exporter",
    "citing",
    "pu",
    "pickup",
    "departure",
    "debtor",
    "remitter",
    "trustor",
    "rater",
    "start",
    "debit",
    "sending",
];
const TO_WORDS: &[&str] = &[
    "dst",
    "dest",
    "destination",
    "target",
    "to",
    "receiver",
    "recipient",
    "payee",
    "beneficiary",
    "callee",
    "followee",
    "followed",
    "taker",
    "seller",
    "importer",
    "cited",
    "do",
    "dropoff",
    "arrival",
    "creditor",
    "trustee",
    "ratee",
    "counterparty",
    "end",
    "credit",
    "benef",
];
/// Who acts; a source rather than a destination.
const ACTORS: &[&str] = &[
    "user",
    "customer",
    "client",
    "person",
    "member",
    "subscriber",
    "author",
    "reviewer",
    "viewer",
    "visitor",
    "passenger",
    "patient",
    "student",
    "employee",
    "cc",
    "card",
    "cardholder",
];
/// What is acted on; a destination rather than a source.
const THINGS: &[&str] = &[
    "item",
    "product",
    "page",
    "post",
    "movie",
    "song",
    "track",
    "merchant",
    "shop",
    "store",
    "article",
    "book",
    "video",
    "subreddit",
    "channel",
    "course",
    "game",
    "restaurant",
    "business",
    "url",
    "site",
    "asin",
    "sku",
    "question",
    "hotel",
    "app",
];
const ENTITIES: &[&str] = &[
    "node", "vertex", "account", "acct", "address", "addr", "name", "station", "location", "zone",
    "stop", "airport", "city", "country", "region", "place", "bank", "wallet", "host", "ip",
    "router", "device", "entity", "actor", "player", "team", "company", "paper", "id", "node_id",
    "code", "subject", "object", "iban", "email", "phone",
];
/// What a row is, so that its identifier numbers rows.
const ROW_WORDS: &[&str] = &[
    "transaction",
    "txn",
    "trans",
    "event",
    "row",
    "record",
    "index",
    "idx",
    "log",
    "order",
    "message",
    "msg",
    "transfer",
    "payment",
    "trip",
    "ride",
    "call",
    "edge",
    "link",
    "invoice",
    "uuid",
    "guid",
    "hash",
    "nonce",
    "seq",
    "sequence",
    "serial",
    "globaleventid",
    "review",
    "pk",
    "unnamed",
];
const MEASURES: &[&str] = &[
    "balance",
    "oldbalance",
    "newbalance",
    "amount",
    "amt",
    "bytes",
    "packets",
    "lat",
    "lon",
    "lng",
    "long",
    "latitude",
    "longitude",
    "port",
    "count",
    "price",
    "value",
    "age",
    "score",
    "rate",
    "fee",
    "total",
    "num",
    "size",
    "duration",
    "distance",
    "weight",
    "type",
    "category",
    "currency",
    "zip",
    "zipcode",
    "gender",
    "status",
    "flag",
    "rating",
    "cost",
    "gas",
    "pop",
    "quantity",
    "qty",
    "percent",
    "ratio",
    "length",
    "number",
    "scale",
];
const TIME_WORDS: &[&str] = &[
    "time",
    "date",
    "datetime",
    "timestamp",
    "ts",
    "at",
    "unix",
    "unixtime",
    "epoch",
    "day",
    "hour",
    "minute",
    "month",
    "week",
    "year",
    "step",
    "when",
    "tick",
    "dt",
];
const WEIGHT_WORDS: &[&str] = &["weight", "amount", "amt", "rating", "count", "strength", "volume"];
const LABEL_WORDS: &[&str] = &[
    "label",
    "fraud",
    "fraudulent",
    "class",
    "laundering",
    "anomaly",
    "anomalous",
    "malicious",
    "attack",
    "illicit",
    "spam",
    "scam",
    "suspicious",
    "chargeback",
    "sentiment",
    "outcome",
    "phishing",
    "churn",
];

/// Words that differ between two columns that are the two ends of an edge.
const OPPOSITES: &[(&str, &str)] = &[
    ("from", "to"),
    ("src", "dst"),
    ("src", "dest"),
    ("source", "target"),
    ("source", "destination"),
    ("source", "dest"),
    ("sender", "receiver"),
    ("sender", "recipient"),
    ("sending", "receiving"),
    ("orig", "dest"),
    ("origin", "destination"),
    ("origin", "dest"),
    ("originator", "beneficiary"),
    ("start", "end"),
    ("head", "tail"),
    ("pickup", "dropoff"),
    ("pu", "do"),
    ("citing", "cited"),
    ("caller", "callee"),
    ("payer", "payee"),
    ("buyer", "seller"),
    ("follower", "followee"),
    ("debtor", "creditor"),
    ("debit", "credit"),
    ("departure", "arrival"),
    ("left", "right"),
    ("subject", "object"),
    ("exporter", "importer"),
    ("trustor", "trustee"),
    ("rater", "ratee"),
    ("1", "2"),
    ("0", "1"),
    ("a", "b"),
    ("i", "j"),
    ("u", "v"),
    ("p", "q"),
    ("s", "d"),
];

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
    let timed = any(&words, TIME_WORDS)
        || words
            .iter()
            .any(|word| word.len() > 4 && ["date", "time"].iter().any(|end| word.ends_with(end)));
    let labelled = any(&words, LABEL_WORDS);
    let (from, to) = (any(&words, FROM_WORDS), any(&words, TO_WORDS));
    points.directed = from != to;
    let mut vertex = 0.0;
    if any(&words, ENTITIES) || points.actor || points.thing {
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
    if points.time > 0.0 {
        let early = ["start", "started", "begin", "pickup", "sent", "created", "departure", "from"];
        let late = ["end", "ended", "dropoff", "updated", "closed", "arrival", "to", "birth"];
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
        assert!(!are_opposite("from_account", "to_bank"));
        assert!(!are_opposite("start_station_id", "end_station_name"));
    }
}
