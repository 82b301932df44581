//! Causal attention of each vertex over its own time steps.

use std::cell::RefCell;

use zoetrope_tensor::{AttentionOptions, Tape, Var};

use crate::case::{Answer, Case, numbers, sample};
use crate::clock::repeat_prepared;

pub(crate) fn measure(case: &Case) -> Answer {
    let Case { vertices, steps, width, heads, .. } = *case;
    let rows = steps * vertices;
    let inputs = [1, 2, 3].map(|seed| numbers(seed, rows * width));
    let options = AttentionOptions {
        steps,
        heads,
        causal: true,
        scale: 1.0 / ((width / heads) as f32).sqrt(),
        dropout: None,
        numbers: None,
    };
    let tape = RefCell::new(Tape::new());
    let leaves = || {
        let tape = &mut tape.borrow_mut();
        tape.reset();
        inputs.each_ref().map(|input| tape.variable(rows, width, input).expect("sized"))
    };
    let forward = |qkv: [Var; 3]| {
        tape.borrow_mut().temporal_attention(qkv, None, options).expect("shapes fit")
    };
    // Scores and weighted sums of the lower triangle; softmax is not counted.
    let flops = 2 * vertices * steps * (steps + 1) * width;
    let first = leaves();
    let out = forward(first);
    let mut answer = Answer { flops, bytes: 4 * 4 * rows * width, ..Answer::default() };
    answer.sample = sample(tape.borrow().value(out));
    if !case.backward {
        answer.seconds = repeat_prepared(case.seconds, leaves, |qkv| _ = forward(qkv));
        return answer;
    }
    (answer.flops, answer.bytes) = (2 * flops, 4 * 8 * rows * width);
    let d_out = numbers(4, rows * width);
    let back = |out| tape.borrow_mut().backward_from(out, &d_out).expect("fits");
    back(out);
    answer.sample = sample(tape.borrow().gradient(first[0]).expect("wanted"));
    answer.seconds = repeat_prepared(case.seconds, || forward(leaves()), back);
    answer
}
