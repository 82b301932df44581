//! One list of cases for every operator of the tape: the tests of golden values, gradients,
//! memory and threads all run through it, so that an operator is added in one place. Part of the
//! library, so that the `zoetrope` binary can compare a GPU with the CPU on a machine without cargo.
//!
//! Inputs are a function of the case's name, made by the same formula in `golden/operators.py`:
//! golden files hold results only.
#![allow(
    missing_docs,
    clippy::missing_panics_doc,
    clippy::missing_errors_doc,
    reason = "a case that cannot be made is a bug of this list"
)]

mod attention;
mod attention_paths;
mod compare;
mod dense;
mod elementwise;
pub mod graphs;
pub mod large;
mod losses;
pub mod messages;
pub mod neighbours;
mod norms;
mod parts;
mod products;
mod recurrent;
mod sequences;
mod shapes;
mod sparse_products;
mod stacked;

use crate::{Device, Tape, TensorError, Var};

pub use compare::{Comparison, TOLERANCE, all_cases, compare};

pub type Outcome = Result<Var, TensorError>;
type Build = Box<dyn Fn(&mut Tape, &[Var]) -> Outcome + Send + Sync>;

/// What numbers an input holds, and whether its gradient is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Between −2.1 and 2.1, at least 1/16 away from 0, with a gradient.
    Plain,
    /// A quarter of that: recurrent weights, so that gates do not saturate.
    Small,
    /// At least 3/4, with a gradient.
    Positive,
    /// As plain, without a gradient.
    Constant,
    /// 0 or 1, without a gradient.
    Mask,
    /// 0 or positive, without a gradient.
    Weight,
}

/// A matrix that a case reads.
#[derive(Debug, Clone, Copy)]
pub struct Input {
    pub rows: usize,
    pub cols: usize,
    pub kind: Kind,
}

impl Input {
    pub fn wants_gradient(self) -> bool {
        matches!(self.kind, Kind::Plain | Kind::Small | Kind::Positive)
    }
}

fn input(kind: Kind) -> impl Fn(usize, usize) -> Input {
    move |rows, cols| Input { rows, cols, kind }
}

fn plain(rows: usize, cols: usize) -> Input {
    input(Kind::Plain)(rows, cols)
}

fn small(rows: usize, cols: usize) -> Input {
    input(Kind::Small)(rows, cols)
}

fn positive(rows: usize, cols: usize) -> Input {
    input(Kind::Positive)(rows, cols)
}

fn constant(rows: usize, cols: usize) -> Input {
    input(Kind::Constant)(rows, cols)
}

fn mask(rows: usize, cols: usize) -> Input {
    input(Kind::Mask)(rows, cols)
}

fn weight(rows: usize, cols: usize) -> Input {
    input(Kind::Weight)(rows, cols)
}

/// One use of an operator.
pub struct Case {
    pub name: String,
    pub inputs: Vec<Input>,
    build: Build,
}

impl Case {
    /// The values of all inputs.
    pub fn values(&self) -> Vec<Vec<f32>> {
        let one = |(at, input): (usize, &Input)| {
            numbers(&format!("{}#{at}", self.name), input.kind, input.rows * input.cols)
        };
        self.inputs.iter().enumerate().map(one).collect()
    }

    /// What the result is multiplied with to make one number of it.
    pub fn weighting(&self, len: usize) -> Vec<f32> {
        numbers(&format!("{}#out", self.name), Kind::Plain, len)
    }

    /// Puts the inputs on a tape.
    pub fn place(&self, tape: &mut Tape, values: &[Vec<f32>], vars: &mut Vec<Var>) {
        vars.clear();
        for (input, values) in self.inputs.iter().zip(values) {
            let (rows, cols) = (input.rows, input.cols);
            vars.push(if input.wants_gradient() {
                tape.variable(rows, cols, values).expect("the length fits")
            } else {
                tape.copied(rows, cols, values).expect("the length fits")
            });
        }
    }

    /// Applies the operator.
    pub fn run(&self, tape: &mut Tape, vars: &[Var]) -> Var {
        (self.build)(tape, vars).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// The result and the gradients of all inputs (empty if none is wanted), from a fresh tape.
    pub fn results(&self) -> (Vec<f32>, Vec<Vec<f32>>) {
        self.results_on(Device::Cpu)
    }

    /// The same from a tape of a device.
    pub fn results_on(&self, device: Device) -> (Vec<f32>, Vec<Vec<f32>>) {
        let (mut tape, mut vars) = (Tape::on(device), Vec::new());
        self.place(&mut tape, &self.values(), &mut vars);
        let out = self.run(&mut tape, &vars);
        let result = tape.read(out);
        tape.backward_from(out, &self.weighting(result.len())).expect("the length fits");
        let gradient = |(input, var): (&Input, &Var)| match tape.gradient_block(*var) {
            Some(gradient) => gradient.to_vec(),
            None if input.wants_gradient() => vec![0.0; input.rows * input.cols],
            None => Vec::new(),
        };
        let gradients = self.inputs.iter().zip(&vars).map(gradient).collect();
        (result, gradients)
    }
}

/// Cases under construction.
#[derive(Default)]
struct List(Vec<Case>);

impl List {
    fn add(
        &mut self,
        name: impl Into<String>,
        inputs: &[Input],
        build: impl Fn(&mut Tape, &[Var]) -> Outcome + Send + Sync + 'static,
    ) {
        let (name, inputs, build) = (name.into(), inputs.to_vec(), Box::new(build));
        self.0.push(Case { name, inputs, build });
    }
}

/// Every operator on small and odd shapes.
pub fn small_cases() -> Vec<Case> {
    let mut list = List::default();
    products::add(&mut list);
    elementwise::add(&mut list);
    parts::add(&mut list);
    recurrent::add(&mut list);
    attention::add(&mut list);
    messages::add(&mut list);
    neighbours::add(&mut list);
    norms::add(&mut list);
    losses::add(&mut list);
    list.0
}

/// Numbers that follow from a name, exact in f32.
pub fn numbers(name: &str, kind: Kind, len: usize) -> Vec<f32> {
    let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let number = |at: usize| {
        let mut z = seed.wrapping_add((at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let k = ((z ^ (z >> 31)) >> 52) as f32;
        let plain = (2.0 * k - 4095.0) / 2048.0;
        let plain = plain + 0.0625 * plain.signum();
        let bit = if k >= 1365.0 { 1.0 } else { 0.0 };
        match kind {
            Kind::Plain | Kind::Constant => plain,
            Kind::Small => plain / 4.0,
            Kind::Positive => plain.abs() + 0.75,
            Kind::Mask => bit,
            Kind::Weight => bit * plain.abs(),
        }
    };
    (0..len).map(number).collect()
}
