//! `zoetrope doctor --conformance`: a card against the processor.

use std::io::IsTerminal;

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
    /// A comparison that came to no result.
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

/// Compares and reports; a failure where anything differs.
pub(super) fn run(device: &str, only: &str, json: bool) -> Result<String, Failure> {
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
    let operators = operator_group(&gpu, only);
    let models = model_group(device, only);
    let agrees = operators.differing().chain(models.differing()).next().is_none();
    let document_of = Document { schema: 1, device: format!("{gpu:?}"), agrees, operators, models };
    let report = if json { document(&document_of)? } else { table(&document_of) };
    match agrees {
        true => Ok(report),
        false => {
            let message = format!("{device} does not compute what the processor does");
            Err(Failure::other(message).report(report))
        }
    }
}

fn operator_group(gpu: &Gpu, only: &str) -> Group {
    let mut group = Group { tolerance: operators::TOLERANCE.into(), ..Group::default() };
    let device = Device::Cuda(gpu.clone());
    let cases = operators::all_cases();
    for (at, case) in cases.iter().enumerate().filter(|(_, case)| case.name.contains(only)) {
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
            // A card that faulted answers nothing any more.
            break;
        }
    }
    group
}

fn model_group(device: &str, only: &str) -> Group {
    let mut group = Group { tolerance: models::TOLERANCE, ..Group::default() };
    let cases = models::model_cases();
    for (at, case) in cases.iter().enumerate().filter(|(_, case)| case.name.contains(only)) {
        progress("models", at + 1, cases.len(), &case.name);
        let found = caught(|| case.compare(device).map_err(|error| error.to_string()));
        group.add(match found.and_then(|found| found) {
            Ok(found) => Case {
                agrees: found.agrees(),
                difference: found.difference,
                name: found.name,
                problem: None,
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
    fn a_comparison_that_panics_is_a_difference_with_its_message() {
        assert_eq!(caught(|| 3), Ok(3));
        let message = caught(|| -> u32 { panic!("rows of {} and {}", 2, 3) }).unwrap_err();
        assert_eq!(message, "panicked: rows of 2 and 3");
        let case = Case::broken("gru", message);
        assert!(!case.agrees && case.difference.is_infinite());
    }
}
