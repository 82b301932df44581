//! Properties of configurations: no text panics, and what is accepted reads back equal.

use proptest::prelude::*;
use zoetrope_config::Config;

/// Values that some keys take and others refuse.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("none".to_owned()),
        Just("true".to_owned()),
        Just("all".to_owned()),
        Just("80/20".to_owned()),
        Just("1d12h".to_owned()),
        Just("500 events".to_owned()),
        Just("2GiB".to_owned()),
        // The ends of every range, and what lies beyond them.
        prop::sample::select(vec![
            "0",
            "-0.0",
            "1",
            "-1",
            "nan",
            "inf",
            "-inf",
            "1e19",
            "1e300",
            "1e-300",
            "1e400",
            "4294967296",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551616",
        ])
        .prop_map(str::to_owned),
        (0u64..20).prop_map(|number| number.to_string()),
        (0.0f64..1.0).prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| number.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        "[a-z\"'\\\\{}=\n/ ]{0,12}",
    ]
}

/// `section.key=value` for any key, with values that its kind may take among others.
fn setting() -> impl Strategy<Value = String> {
    let keys = Config::keys();
    (0..keys.len(), value(), any::<prop::sample::Index>()).prop_map(move |(at, value, index)| {
        let key = &keys[at];
        let names: Vec<&str> = match key.expected.strip_prefix("one of ") {
            Some(list) => list.split(", ").collect(),
            None => vec![value.as_str()],
        };
        format!("{}.{}={}", key.section, key.name, names[index.index(names.len())])
    })
}

proptest! {
    #[test]
    fn any_text_is_accepted_or_refused_with_a_message(text in "\\PC{0,200}|[\\[\\]a-z.=\"\n0-9 ]{0,200}") {
        if let Err(error) = Config::from_toml(&text, "a.toml") {
            prop_assert!(error.to_string().starts_with("a.toml:"), "{}", error);
        }
    }

    #[test]
    fn any_text_of_another_program_is_accepted_or_refused_with_a_message(
        text in "\\PC{0,200}|([ ]{0,4}(- )?[a-z_]{1,5}: ?[\\[\\]a-z.'\"0-9,# -]{0,9}\n){0,12}"
    ) {
        if let Err(error) = Config::builder().text(&text, "a.yml").build_unchecked() {
            prop_assert!(error.to_string().starts_with("a.yml:"), "{}", error);
        }
    }

    #[test]
    fn what_is_accepted_reads_back_equal(settings in prop::collection::vec(setting(), 1..6)) {
        let layers = settings.iter().fold(Config::builder(), |layers, text| layers.set(text));
        if let Ok(config) = layers.build_unchecked() {
            let back = Config::builder().text(&config.to_toml(), "config.toml").build_unchecked();
            prop_assert_eq!(back.unwrap(), config);
        }
    }
}
