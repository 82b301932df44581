//! JSON comparison with a tolerance for numbers and the place of the first difference.

use serde_json::Value;

/// The first place where two documents differ, as `path: left against right`; `None` if they
/// agree. Numbers agree within `relative` of the larger one; 0 demands equality.
pub fn first_difference(left: &Value, right: &Value, relative: f64) -> Option<String> {
    differ(left, right, relative, &mut String::from("$"))
}

/// Panics with the first difference if two documents do not agree exactly.
///
/// # Panics
/// If they differ: this is an assertion.
#[track_caller]
pub fn assert_same(left: &Value, right: &Value) {
    if let Some(difference) = first_difference(left, right, 0.0) {
        panic!("{difference}");
    }
}

fn differ(left: &Value, right: &Value, relative: f64, path: &mut String) -> Option<String> {
    match (left, right) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let keys = ours.keys().chain(theirs.keys().filter(|key| !ours.contains_key(*key)));
            keys.cloned().find_map(|key| {
                let parts = (ours.get(&key), theirs.get(&key));
                step(path, &format!(".{key}"), parts, relative)
            })
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            (0..ours.len().max(theirs.len())).find_map(|index| {
                let parts = (ours.get(index), theirs.get(index));
                step(path, &format!("[{index}]"), parts, relative)
            })
        }
        (Value::Number(ours), Value::Number(theirs)) if close(ours, theirs, relative) => None,
        _ if left == right => None,
        _ => Some(format!("{path}: {left} against {right}")),
    }
}

fn step(
    path: &mut String,
    part: &str,
    values: (Option<&Value>, Option<&Value>),
    relative: f64,
) -> Option<String> {
    let length = path.len();
    path.push_str(part);
    let found = match values {
        (Some(left), Some(right)) => differ(left, right, relative, path),
        (Some(left), None) => Some(format!("{path}: {left} against nothing")),
        (None, Some(right)) => Some(format!("{path}: nothing against {right}")),
        (None, None) => None,
    };
    path.truncate(length);
    found
}

fn close(left: &serde_json::Number, right: &serde_json::Number, relative: f64) -> bool {
    if left == right {
        return true;
    }
    match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) if relative > 0.0 => {
            (left - right).abs() <= relative * left.abs().max(right.abs())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equal_documents_have_no_difference() {
        let document = json!({ "a": [1, 2.5, null], "b": { "c": "d" } });
        assert_eq!(first_difference(&document, &document, 0.0), None);
        assert_same(&document, &document);
    }

    #[test]
    fn the_first_difference_is_named_by_its_path() {
        let left = json!({ "a": [1, { "b": 2 }] });
        let right = json!({ "a": [1, { "b": 3 }] });
        assert_eq!(first_difference(&left, &right, 0.0), Some("$.a[1].b: 2 against 3".into()));
    }

    #[test]
    fn missing_and_surplus_keys_are_differences() {
        let (full, empty) = (json!({ "a": 1 }), json!({}));
        assert_eq!(first_difference(&full, &empty, 0.0), Some("$.a: 1 against nothing".into()));
        assert_eq!(first_difference(&empty, &full, 0.0), Some("$.a: nothing against 1".into()));
        assert!(first_difference(&json!([1]), &json!([1, 2]), 0.0).is_some());
    }

    #[test]
    fn numbers_agree_within_the_tolerance_only() {
        let (left, right) = (json!(1.0), json!(1.000_001));
        assert_eq!(first_difference(&left, &right, 1e-5), None);
        assert!(first_difference(&left, &right, 1e-7).is_some());
        assert!(first_difference(&left, &right, 0.0).is_some());
    }

    #[test]
    fn kinds_are_not_mixed() {
        assert!(first_difference(&json!("1"), &json!(1), 1e-5).is_some());
    }
}
