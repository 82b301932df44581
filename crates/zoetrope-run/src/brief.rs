//! Short documents: long lists stay in the files that have them, and what fits on a line is on one.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// Lists with more elements are counted instead.
const MOST_ELEMENTS: usize = 12;

/// A value that is written on one line is at most so long.
const LINE_CHARACTERS: usize = 240;

/// A document without its long lists: each becomes `{"count": N}`, and `file` says where they are.
pub fn without_lists(document: &Value, file: &str) -> Value {
    let mut short = shortened(document);
    if let Value::Object(fields) = &mut short {
        let mut named = Map::from_iter([("file".to_owned(), json!(file))]);
        named.append(fields);
        short = Value::Object(named);
    }
    short
}

fn shortened(value: &Value) -> Value {
    match value {
        Value::Array(elements) if elements.len() > MOST_ELEMENTS => {
            json!({ "count": elements.len() })
        }
        Value::Array(elements) => elements.iter().map(shortened).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), shortened(value)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

/// A document as text, its fields in the order of the type: what fits on a line is written on one.
///
/// # Errors
/// If it cannot be turned into JSON.
pub(super) fn text(document: &impl Serialize) -> serde_json::Result<String> {
    let mut text = String::new();
    write(&serde_json::to_string(document)?, 0, &mut text);
    text.push('\n');
    Ok(text)
}

/// Writes compact JSON, cut into lines if it is too long for one.
fn write(json: &str, depth: usize, text: &mut String) {
    let is_container = json.starts_with(['{', '[']) && json.len() > 2;
    // The document itself is never one line, however small.
    if !is_container || (depth > 0 && json.len() + 2 * depth <= LINE_CHARACTERS) {
        text.push_str(json);
        return;
    }
    let is_object = json.starts_with('{');
    text.push_str(&json[..1]);
    for (place, element) in split(&json[1..json.len() - 1], b',').into_iter().enumerate() {
        text.push_str(if place == 0 { "\n" } else { ",\n" });
        text.push_str(&"  ".repeat(depth + 1));
        let value = if is_object {
            let parts = split(element, b':');
            text.push_str(&format!("{}: ", parts[0]));
            &element[parts[0].len() + 1..]
        } else {
            element
        };
        write(value, depth + 1, text);
    }
    text.push('\n');
    text.push_str(&"  ".repeat(depth));
    text.push_str(&json[json.len() - 1..]);
}

/// The parts between separators that stand in no text, list or object.
fn split(json: &str, separator: u8) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0usize);
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in json.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            byte if byte == separator && depth == 0 => {
                parts.push(&json[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&json[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_back_and_has_a_line_for_what_fits() {
        let epochs: Vec<Value> =
            (1..=3).map(|epoch| json!({"epoch": epoch, "loss": 0.5})).collect();
        let name = "a \"b\": {[,\\";
        let long = "x".repeat(300);
        let document = json!({"name": name, "epochs": epochs, "none": {}, "long": long});
        let text = text(&document).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
        assert_eq!(text.lines().count(), 6, "{text}");
        let many: Vec<Value> = vec![json!({"epoch": 1, "loss": 0.123456789}); 40];
        assert_eq!(super::text(&json!({"epochs": many})).unwrap().lines().count(), 44);
    }

    #[test]
    fn long_lists_are_counted_and_their_file_is_named() {
        let frames = vec![json!({"start": 0}); 300];
        let document = json!({"frames": frames, "rule": {"frame": 3}, "orders": [1, 2]});
        let expected = json!({"file": "plan.json", "frames": {"count": 300}, "rule": {"frame": 3}, "orders": [1, 2]});
        assert_eq!(without_lists(&document, "plan.json"), expected);
    }
}
