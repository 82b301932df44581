//! `zoetrope doctor --conformance`: a card against the processor.

use std::io::IsTerminal;

use serde::Serialize;
use zoetrope_tensor::conformance::{self as operators, Comparison};
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
    if json {
        println!("{}", document(&document_of)?.trim_end());
    } else {
        print!("{}", table(&document_of));
    }
    match agrees {
        true => Ok(String::new()),
        false => Err(Failure::other(format!("{device} does not compute what the processor does"))),
    }
}

fn operator_group(gpu: &Gpu, only: &str) -> Group {
    let mut group = Group { tolerance: operators::TOLERANCE.into(), ..Group::default() };
    let device = Device::Cuda(gpu.clone());
    let cases = operators::all_cases();
    for (at, case) in cases.iter().enumerate().filter(|(_, case)| case.name.contains(only)) {
        progress("operators", at + 1, cases.len(), &case.name);
        let found: Comparison = operators::compare(case, &device);
        let fault = gpu.fault().map(|fault| fault.to_string());
        group.add(Case {
            agrees: found.agrees() && fault.is_none(),
            problem: fault.clone().or_else(|| (!found.agrees()).then(|| found.matrix.clone())),
            difference: found.difference.into(),
            name: found.name,
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
        group.add(match case.compare(device) {
            Ok(found) => Case {
                agrees: found.agrees(),
                difference: found.difference,
                name: found.name,
                problem: None,
            },
            Err(error) => Case {
                name: case.name.clone(),
                difference: f64::INFINITY,
                agrees: false,
                problem: Some(error.to_string()),
            },
        });
    }
    group
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
