//! Sparse times dense, and the floor of its access pattern.
//!
//! The floor is measured with the same columns, the same x and the same result in the same run: a
//! loop that only loads the rows that the columns name and adds them to registers, asking for them
//! so many entries ahead as is fastest (`gather`), plus a loop that only reads values and places of rows
//! and writes the result (`stream`). Their sum is what the memory system needs for this access
//! pattern; the product has to multiply, to end rows and to store sums on top of that.

use std::hint::black_box;

use zoetrope_tensor::cpu::arranged::Arranged;
use zoetrope_tensor::cpu::floor::{gather_sum, stream_through};
use zoetrope_tensor::cpu::matmul::Accumulate;
use zoetrope_tensor::cpu::spmm::spmm_group;
use zoetrope_tensor::{Buffer, SparseGroup};

use crate::case::{Answer, Case, numbers, sample};
use crate::clock::repeat;

/// How many entries ahead the gathering loop may ask for rows; the fastest counts.
const AHEAD: [usize; 4] = [0, 8, 16, 32];

pub(crate) fn measure(case: &Case, group: SparseGroup) -> Answer {
    let (width, vertices) = (case.width, group.vertices());
    let views: Vec<&Arranged> = group
        .members()
        .iter()
        .map(|member| if case.backward { member.transposed_arranged() } else { member.arranged() })
        .collect();
    let len = group.len() * vertices * width;
    let x = Buffer::from_slice(&numbers(1, len));
    let mut y = Buffer::zeroed(len);
    let (x, y) = (x.as_slice(), y.as_mut_slice());
    let mut answer = Answer {
        bytes: 4 * width * (group.entries() + group.len() * vertices)
            + views.iter().map(|view| view.bytes()).sum::<usize>(),
        flops: 2 * group.entries() * width,
        ..Answer::default()
    };
    spmm_group(&views, x, width, y, Accumulate::Overwrite);
    answer.sample = sample(y);
    let product = |y: &mut [f32]| spmm_group(&views, x, width, y, Accumulate::Overwrite);
    // In turn, so that a slow moment of the machine meets the product and its floor alike.
    let share = case.seconds / 8.0;
    let mut seconds = repeat(2.0 * share, || product(y));
    for ahead in AHEAD {
        let runs = repeat(share, || _ = black_box(gather_sum(&views, x, width, ahead)));
        answer.parts.insert(format!("gather_{ahead}"), runs);
    }
    let runs = repeat(share, || _ = black_box(stream_through(&views, width, y)));
    answer.parts.insert("stream".into(), runs);
    seconds.extend(repeat(share, || product(y)));
    answer.seconds = seconds;
    answer
}
