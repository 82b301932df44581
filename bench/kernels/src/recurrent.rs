//! Recurrent units over stacked snapshots, with the product of their inputs.

use std::sync::Arc;

use zoetrope_tensor::{GateInput, GruKind, LstmRecurrence, Matrix, Tape, Var};

use crate::case::{Answer, Case, numbers, sample};
use crate::clock::repeat_prepared;

/// Inputs as wide as the state; gates r, z, n or i, f, g, o, as PyTorch orders them.
struct Unit<'a> {
    case: &'a Case,
    /// Input weight, recurrent weight and the two biases.
    parameters: [Matrix; 4],
    x: Arc<Matrix>,
}

impl Unit<'_> {
    fn gates(&self) -> usize {
        if self.case.kernel == "gru" { 3 } else { 4 }
    }

    /// Leaves on the tape: copying them is not timed.
    fn leaves(&self, tape: &mut Tape) -> [Var; 6] {
        let Case { vertices, width, .. } = *self.case;
        tape.reset();
        let shape = self.x.shape();
        let x = tape.variable(shape.rows, shape.cols, self.x.as_slice()).expect("sized");
        let mut slot = 0;
        let [w, u, b, c] = self.parameters.each_ref().map(|matrix| {
            slot += 1;
            tape.parameter(slot, matrix)
        });
        [x, w, u, b, c, tape.zeros(vertices, width)]
    }

    fn forward(&self, tape: &mut Tape, [x, w, u, b, c, zero]: [Var; 6]) -> Var {
        let input = GateInput::Rows { x, weight: w, bias: Some(b) };
        if self.case.kernel == "gru" {
            return tape.gru(GruKind::ResetAfter, input, zero, u, Some(c), None).expect("fits");
        }
        let recurrence = LstmRecurrence { weight: u, bias: Some(c) };
        tape.lstm(input, zero, zero, Some(recurrence), None).expect("shapes fit").hidden
    }
}

pub(crate) fn measure(case: &Case) -> Answer {
    let Case { vertices, steps, width, .. } = *case;
    let gates = if case.kernel == "gru" { 3 } else { 4 };
    let scaled = |seed, rows: usize, cols: usize| {
        let scale = 1.0 / (width as f32).sqrt();
        let values: Vec<f32> = numbers(seed, rows * cols).iter().map(|v| v * scale).collect();
        Matrix::from_slice(rows, cols, &values).expect("sized")
    };
    let cells = steps * vertices;
    let unit = Unit {
        case,
        parameters: [
            scaled(2, gates * width, width),
            scaled(3, gates * width, width),
            scaled(4, 1, gates * width),
            scaled(5, 1, gates * width),
        ],
        x: Arc::new(Matrix::from_slice(cells, width, &numbers(1, cells * width)).expect("sized")),
    };
    assert_eq!(unit.gates(), gates, "gates of the unit");
    let flops = 2 * cells * gates * width * 2 * width;
    let mut answer = Answer { flops, ..Answer::default() };
    let tape = &mut Tape::new();
    let leaves = unit.leaves(tape);
    let out = unit.forward(tape, leaves);
    answer.sample = sample(tape.value(out));
    if case.backward {
        let d_out = numbers(6, cells * width);
        answer.flops = 2 * flops;
        // In and out: what comes in, what goes out and their gradients, the gates once.
        answer.bytes = 4 * cells * width * (4 + gates);
        tape.backward_from(out, &d_out).expect("fits");
        answer.sample = sample(tape.gradient(leaves[0]).expect("wanted"));
        let tape = std::cell::RefCell::new(std::mem::take(tape));
        let prepare = || {
            let tape = &mut tape.borrow_mut();
            let leaves = unit.leaves(tape);
            unit.forward(tape, leaves)
        };
        answer.seconds = repeat_prepared(case.seconds, prepare, |out| {
            tape.borrow_mut().backward_from(out, &d_out).expect("fits");
        });
    } else {
        answer.bytes = 4 * cells * width * (2 + gates);
        let tape = std::cell::RefCell::new(std::mem::take(tape));
        let prepare = || unit.leaves(&mut tape.borrow_mut());
        answer.seconds = repeat_prepared(case.seconds, prepare, |leaves| {
            unit.forward(&mut tape.borrow_mut(), leaves);
        });
    }
    answer
}
