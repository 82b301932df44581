//! Rows picked by index, and rows added up by index: the ends of the edges of a snapshot.

use zoetrope_tensor::cpu::gather::{gather_rows, scatter_add_rows};
use zoetrope_tensor::{Buffer, SparseGroup};

use crate::case::{Answer, Case, numbers, sample};
use crate::clock::repeat;

pub(crate) fn measure(case: &Case, group: SparseGroup) -> Answer {
    let (indices, width) = (group.members()[0].matrix().column_indices(), case.width);
    let few = group.vertices() * width;
    let many = indices.len() * width;
    let mut answer = Answer { bytes: 4 * (indices.len() + 2 * many), ..Answer::default() };
    if case.kernel == "gather" {
        let x = Buffer::from_slice(&numbers(1, few));
        let mut y = Buffer::zeroed(many);
        let (x, y) = (x.as_slice(), y.as_mut_slice());
        answer.seconds = repeat(case.seconds, || gather_rows(x, width, indices, y));
        answer.sample = sample(y);
        return answer;
    }
    let dy = Buffer::from_slice(&numbers(1, many));
    let mut dx = Buffer::zeroed(few);
    let (dy, dx) = (dy.as_slice(), dx.as_mut_slice());
    scatter_add_rows(dy, width, indices, dx);
    answer.sample = sample(dx);
    answer.bytes += 4 * many;
    answer.flops = many;
    answer.seconds = repeat(case.seconds, || scatter_add_rows(dy, width, indices, dx));
    answer
}
