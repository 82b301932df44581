//! `synthetic:NAME?key=value&key=value` taken apart, with help for misspelt names.

use zoetrope_graph::spelling::distance;

use super::parameter::{Arguments, Generator};
use crate::error::{DataError, shorten};

const PREFIX: &str = "synthetic:";

/// Whether a path is the name of a generator rather than of a file.
pub fn is_synthetic(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// Finds the generator and checks every parameter; those not given take their default.
pub(super) fn parse(
    name: &str,
    catalogue: &'static [Generator],
) -> Result<(&'static Generator, Arguments), DataError> {
    let rest = name.strip_prefix(PREFIX).unwrap_or(name);
    let (wanted, query) = rest.split_once('?').unwrap_or((rest, ""));
    let generator = catalogue
        .iter()
        .find(|generator| generator.name == wanted)
        .ok_or_else(|| unknown("generator", wanted, catalogue.iter().map(|known| known.name)))?;
    let names = || generator.parameters.iter().map(|known| known.name);
    let mut given = vec![None; generator.parameters.len()];
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').ok_or_else(|| DataError::BadParameter {
            parameter: generator.name.into(),
            value: shorten(pair),
            expected: "key=value pairs joined by `&`".into(),
        })?;
        let position = names()
            .position(|known| known == key)
            .ok_or_else(|| unknown(&format!("parameter of {}", generator.name), key, names()))?;
        if given[position].replace(value).is_some() {
            return Err(DataError::BadParameter {
                parameter: shorten(key),
                value: shorten(value),
                expected: "each parameter once".into(),
            });
        }
    }
    let values = generator.parameters.iter().zip(given).map(|(parameter, given)| {
        Ok((parameter.name, parameter.read(given.unwrap_or(parameter.default))?))
    });
    let values = values.collect::<Result<_, DataError>>()?;
    Ok((generator, Arguments { generator: generator.name, values }))
}

fn unknown<'a>(what: &str, found: &str, known: impl Iterator<Item = &'a str>) -> DataError {
    let known: Vec<&str> = known.collect();
    let nearest = known.iter().min_by_key(|name| distance(name, found)).unwrap_or(&"");
    DataError::BadParameter {
        parameter: what.into(),
        value: shorten(found),
        expected: format!("`{nearest}`, or another of {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::catalogue;

    fn message(name: &str) -> String {
        parse(name, catalogue()).unwrap_err().to_string()
    }

    #[test]
    fn every_default_is_in_its_own_range_and_every_example_parses() {
        for generator in catalogue() {
            for parameter in generator.parameters {
                parameter.read(parameter.default).unwrap();
            }
            let (found, _) = parse(generator.example, catalogue()).unwrap();
            assert_eq!(found.name, generator.name);
        }
    }

    #[test]
    fn a_misspelt_generator_is_answered_with_the_nearest() {
        assert!(message("synthetic:powerlaw").contains("expected `power-law`"));
        assert!(message("synthetic:").contains("generator"));
    }

    #[test]
    fn a_misspelt_parameter_is_answered_with_the_nearest() {
        let text = message("synthetic:power-law?vertexes=3");
        assert!(text.contains("parameter of power-law = vertexes: expected `vertices`"), "{text}");
    }

    #[test]
    fn a_bad_value_is_answered_with_the_range() {
        let text = message("synthetic:power-law?change=1.5");
        assert_eq!(text, "change = 1.5: expected a number from 0 to 1");
        assert!(message("synthetic:power-law?steps=many").contains("an integer from 1"));
        assert!(message("synthetic:power-law?change=NaN").contains("from 0 to 1"));
        assert!(message("synthetic:power-law?targets=x").contains("one of random, neighbours"));
    }

    #[test]
    fn a_pair_without_value_and_a_pair_given_twice_are_refused() {
        assert!(message("synthetic:power-law?steps").contains("key=value"));
        assert!(message("synthetic:power-law?steps=3&steps=4").contains("once"));
    }

    #[test]
    fn integers_may_be_written_as_people_write_large_ones() {
        for text in ["200000", "200_000", "200k", "2e5", "0.2M"] {
            let (_, arguments) =
                parse(&format!("synthetic:power-law?edges={text}"), catalogue()).unwrap();
            assert_eq!(arguments.integer("edges"), 200_000, "{text}");
        }
        for text in ["1.5", "-1", "1e30", "", "k", "99999999999999999999"] {
            assert!(parse(&format!("synthetic:power-law?edges={text}"), catalogue()).is_err());
        }
    }

    #[test]
    fn arguments_print_as_a_complete_name_that_parses_to_themselves() {
        for generator in catalogue() {
            let (_, arguments) = parse(generator.example, catalogue()).unwrap();
            let (_, again) = parse(&arguments.to_string(), catalogue()).unwrap();
            assert_eq!(arguments, again);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed_or_refused_without_panic(text in ".{0,200}") {
            let _ = parse(&text, catalogue());
            let _ = parse(&format!("synthetic:power-law?{text}"), catalogue());
        }
    }
}
