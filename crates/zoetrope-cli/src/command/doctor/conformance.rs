//! `zoetrope doctor --conformance`: a GPU against the processor.

use std::io::IsTerminal;
use std::str::FromStr;

use serde::Serialize;
use zoetrope_tensor::conformance as operators;
use zoetrope_tensor::{Device, Gpu};
use zoetrope_train::TrainError;
use zoetrope_train::conformance as models;

use crate::command::document;
use crate::exit::Failure;

#[derive(Serialize)]
struct Document {
    schema: u32,
    device: String,
    agrees: bool,
    operators: Group,
    models: Group,
}

#[derive(Serialize, Default)]
struct Group {
    /// The largest relative difference allowed.
    tolerance: f64,
    /// The largest one found.
    worst: f64,
    cases: Vec<Case>,
}

#[derive(Serialize)]
struct Case {
    name: String,
    difference: f64,
    agrees: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl Case {
    /// A comparison that failed before it had a result.
    fn broken(name: &str, problem: String) -> Self {
        let name = name.to_owned();
        Self { name, difference: f64::INFINITY, agrees: false, problem: Some(problem) }
    }
}

impl Group {
    fn add(&mut self, case: Case) {
        self.worst = self.worst.max(case.difference);
        self.cases.push(case);
    }

    fn differing(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(|case| !case.agrees)
    }
}

/// Which of all comparisons are made.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    /// A text that names have.
    pub(super) only: String,
    pub(super) shard: Shard,
}

impl Chosen {
    /// Whether this is one of them, the `at`-th of its list.
    fn has(&self, (at, name): (usize, &str)) -> bool {
        name.contains(&self.only) && at % self.shard.of == self.shard.number - 1
    }
}

/// One of several parts of about as many comparisons, so that processes can share them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shard {
    /// From 1 on.
    number: usize,
    of: usize,
}

impl Default for Shard {
    fn default() -> Self {
        Self { number: 1, of: 1 }
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(number, of)| {
            Some(Self { number: number.parse().ok()?, of: of.parse().ok()? })
        });
        parts
            .filter(|shard| (1..=shard.of).contains(&shard.number))
            .ok_or_else(|| "expected K/N, the K-th of N parts, such as 1/4".into())
    }
}

/// Compares and reports; a failure if anything differs.
pub(super) fn run(device: &str, chosen: &Chosen, json: bool) -> Result<String, Failure> {
    let number = match device.strip_prefix("cuda") {
        Some("") => Some(0),
        Some(number) => number.strip_prefix(':').and_then(|number| number.parse().ok()),
        None => None,
    };
    let Some(number) = number else {
        return Err(Failure::usage(format!("--device {device}: expected cuda or cuda:N")));
    };
    let gpu = Gpu::open(number).map_err(TrainError::from)?;
    gpu.load_all().map_err(TrainError::from)?;
    let operators = operator_group(&gpu, chosen);
    let models = model_group(device, chosen);
    let agrees = operators.differing().chain(models.differing()).next().is_none();
    let document_of = Document { schema: 1, device: format!("{gpu:?}"), agrees, operators, models };
    let report = if json { document(&document_of)? } else { table(&document_of) };
    if agrees {
        Ok(report)
    } else {
        let message = format!("{device} does not compute what the processor does");
        Err(Failure::other(message).report(report))
    }
}

fn operator_group(gpu: &Gpu, chosen: &Chosen) -> Group {
    let mut group = Group { tolerance: operators::TOLERANCE.into(), ..Group::default() };
    let device = Device::Cuda(gpu.clone());
    let cases = operators::all_cases();
    for (at, case) in cases.iter().enumerate().filter(|(at, case)| chosen.has((*at, &case.name))) {
        progress("operators", at + 1, cases.len(), &case.name);
        let found = caught(|| operators::compare(case, &device));
        let fault = gpu.fault().map(|fault| fault.to_string());
        group.add(match found {
            Ok(found) => Case {
                agrees: found.agrees() && fault.is_none(),
                problem: fault.clone().or_else(|| (!found.agrees()).then(|| found.matrix.clone())),
                difference: found.difference.into(),
                name: found.name,
            },
            Err(panic) => Case::broken(&case.name, fault.clone().unwrap_or(panic)),
        });
        if fault.is_some() {
            // A GPU that faulted answers nothing any more.
            break;
        }
    }
    group
}

fn model_group(device: &str, chosen: &Chosen) -> Group {
    let mut group = Group { tolerance: models::TOLERANCE, ..Group::default() };
    let cases = models::model_cases();
    for (at, case) in cases.iter().enumerate().filter(|(at, case)| chosen.has((*at, &case.name))) {
        progress("models", at + 1, cases.len(), &case.name);
        let found = caught(|| case.compare(device).map_err(|error| error.to_string()));
        group.add(match found.and_then(|found| found) {
            Ok(found) => Case {
                agrees: found.agrees(),
                difference: found.difference,
                problem: (!found.agrees()).then_some(found.of),
                name: found.name,
            },
            Err(problem) => Case::broken(&case.name, problem),
        });
    }
    group
}

/// What a comparison finds, or the message of its panic: one that breaks must not take the report
/// of all others with it.
fn caught<T>(compare: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(compare)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        format!("panicked: {}", text.unwrap_or("without a message"))
    })
}

fn progress(what: &str, at: usize, all: usize, name: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[2K{what} {at} of {all}: {name}");
        if at == all {
            eprint!("\r\x1b[2K");
        }
    }
}

fn table(found: &Document) -> String {
    let mut text = format!("{} against the processor\n", found.device);
    for (title, group) in [("operators", &found.operators), ("models", &found.models)] {
        let worst = group.cases.iter().max_by(|a, b| a.difference.total_cmp(&b.difference));
        let worst = worst.map_or(String::new(), |case| format!(" ({})", case.name));
        text.push_str(&format!(
            "{title:9}  {} compared, {} differ; largest relative difference {:.1e}{worst}, {:.0e} allowed\n",
            group.cases.len(),
            group.differing().count(),
            group.worst,
            group.tolerance,
        ));
        for case in group.differing() {
            let problem = case.problem.as_deref().unwrap_or("");
            text.push_str(&format!("  {}: {:.1e} {problem}\n", case.name, case.difference));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_what_is_chosen_and_others_are_refused() {
        let names = ["gru/a", "lstm/a", "gru/b", "gru/c", "gru/d"];
        let of = |shard: &str| {
            let chosen = Chosen { only: "gru".into(), shard: shard.parse().unwrap() };
            let all = names.iter().copied().enumerate();
            all.filter(|one| chosen.has(*one)).map(|(_, name)| name).collect::<Vec<_>>()
        };
        assert_eq!(of("1/1"), ["gru/a", "gru/b", "gru/c", "gru/d"]);
        assert_eq!(of("1/2"), ["gru/a", "gru/b", "gru/d"]);
        assert_eq!(of("2/2"), ["gru/c"]);
        for refused in ["", "1", "0/2", "3/2", "1/0", "a/b", "1/2/3"] {
            assert!(refused.parse::<Shard>().is_err(), "{refused}");
        }
    }

    #[test]
    fn a_comparison_that_panics_is_a_difference_with_its_message() {
        assert_eq!(caught(|| 3), Ok(3));
        let message = caught(|| -> u32 { panic!("rows of {} and {}", 2, 3) }).unwrap_err();
        assert_eq!(message, "panicked: rows of 2 and 3");
        let case = Case::broken("gru", message);
        assert!(!case.agrees && case.difference.is_infinite());
    }
}
