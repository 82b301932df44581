//! What operators of a tape compute of the values of all ranks: sums, and the statistics of batch norms.
//!
//! An operator of a tape cannot fail: if a rank is lost, the numbers are 0 and [`Ranks::check`] returns the
//! error.

use std::sync::Arc;

use zoetrope_tensor::{Custom, Tape, TogetherWith, Var};

use crate::ranks::{Ranks, Reduction};

impl TogetherWith for Ranks {
    fn all_gather(&self, own: &[f32]) -> Vec<f32> {
        let all = Ranks::all_gather(self, own);
        all.unwrap_or_else(|_| vec![0.0; own.len() * self.size()])
    }
}

impl Ranks {
    /// The sum of a small matrix over all ranks, in their order; all have the same on their tapes then. In the
    /// backward pass, in which all ranks take part, gradients are added up in the same way: what each rank
    /// makes of the sum counts.
    pub fn sum_on_tape(&self, tape: &mut Tape, x: Var) -> Var {
        let shape = tape.shape(x);
        tape.custom(Arc::new(Sum(self.clone())), &[x], shape)
    }
}

#[derive(Debug)]
struct Sum(Ranks);

impl Sum {
    fn of(&self, own: &[f32]) -> Vec<f32> {
        let mut sum = own.to_vec();
        if self.0.all_reduce(&mut sum, Reduction::Sum).is_err() {
            sum.fill(0.0);
        }
        sum
    }
}

impl Custom for Sum {
    fn forward(&self, inputs: &[&[f32]], y: &mut [f32]) {
        y.copy_from_slice(&self.of(inputs[0]));
    }

    fn backward(&self, dy: &[f32], inputs: &mut [Option<&mut [f32]>]) {
        let sum = self.of(dy);
        let Some(dx) = &mut inputs[0] else { return };
        dx.iter_mut().zip(sum).for_each(|(dx, sum)| *dx += sum);
    }

    fn is_collective(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Timeouts, threads};

    #[test]
    fn a_sum_is_the_same_everywhere_and_its_gradient_comes_from_everywhere() {
        let found = threads::run(3, Timeouts::default(), |ranks| {
            let mut tape = Tape::new();
            let own = ranks.rank() as f32 + 1.0;
            let x = tape.variable(1, 2, &[own, 10.0 * own]).unwrap();
            let sum = ranks.sum_on_tape(&mut tape, x);
            let value = tape.value(sum).to_vec();
            tape.backward_from(sum, &[own, 1.0]).unwrap();
            ranks.check()?;
            Ok::<_, crate::DistError>((value, tape.gradient(x).unwrap().to_vec()))
        });
        for (value, gradient) in found.unwrap() {
            assert_eq!((value, gradient), (vec![6.0, 60.0], vec![6.0, 3.0]));
        }
    }
}
