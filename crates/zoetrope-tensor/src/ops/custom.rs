//! Operators of other crates: what a tape needs to know of one for its backward pass.
//!
//! They compute on the host, and on a GPU if they can ([`Custom::on_gpu`]). If they cannot, their
//! operands are copied down, and results and gradients up again.

use std::fmt::Debug;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::cpu::matmul::Accumulate;
use crate::cuda::{Gpu, View, ViewMut};
use crate::matrix::Shape;
use crate::tape::{List, Op, Opened, Tape, Var};

/// An operator that this crate does not know.
///
/// It cannot fail half-way: one that depends on something outside fills its result, remembers what
/// went wrong, and whoever drives the computation asks for it between two steps.
pub trait Custom: Debug + Send + Sync {
    /// Writes the result; `y` holds unspecified values before.
    fn forward(&self, inputs: &[&[f32]], y: &mut [f32]);

    /// Adds the gradient `dy` of the result to those of the inputs; None if an input wants none.
    fn backward(&self, dy: &[f32], inputs: &mut [Option<&mut [f32]>]);

    /// Whether there is an [`overwrite`](Self::overwrite).
    fn can_overwrite(&self) -> bool {
        false
    }

    /// Writes the gradient of the only input, which holds unspecified values before: what
    /// [`backward`](Self::backward) would add to zeros, without these.
    fn overwrite(&self, _dy: &[f32], _dx: &mut [f32]) {}

    /// Whether the backward pass goes through this operator even if no gradient reached its result (it
    /// is then 0): others wait for what it does there.
    fn is_collective(&self) -> bool {
        false
    }

    /// The same on a GPU; None if it computes on the host alone.
    fn on_gpu(&self, _gpu: &Gpu) -> Option<&dyn GpuSide> {
        None
    }
}

/// What a [`Custom`] operator does on a GPU: it launches, and does not wait.
pub trait GpuSide {
    /// Writes the result; `y` holds unspecified values before.
    fn forward(&self, inputs: &[View<'_>], y: ViewMut<'_>);

    /// Adds the gradient `dy` of the result to those of the inputs; None if an input wants none.
    fn backward(&self, dy: View<'_>, inputs: &mut [Option<ViewMut<'_>>]);
}

impl Tape {
    /// The result of an operator of another crate, of the given shape. A gradient flows if any
    /// input's does.
    pub fn custom(&mut self, operator: Arc<dyn Custom>, inputs: &[Var], shape: Shape) -> Var {
        let mut y = self.pool.take(shape.len());
        match self.gpu() {
            None => {
                let values: Vec<&[f32]> = inputs.iter().map(|&input| self.value(input)).collect();
                operator.forward(&values, y.as_mut_slice());
            }
            Some(_) => {
                let place = |&input: &Var| Place::of(self.view(input));
                let values: Vec<Place> = inputs.iter().map(place).collect();
                let (operator, y) = (Arc::clone(&operator), Place::of(y.view_mut().as_view()));
                let Some(gpu) = self.gpu() else { unreachable!("the tape is on a GPU") };
                gpu.repeatedly(OnGpu { operator, inputs: values, y }.forward());
            }
        }
        let list = self.keep_list(inputs);
        self.record(Op::Custom { operator, inputs: list }, shape, y, None, inputs)
    }

    pub(super) fn custom_backward(
        &mut self,
        operator: &Arc<dyn Custom>,
        inputs: List,
        dy: &Buffer,
    ) {
        let inputs: Vec<Var> = (0..inputs.len as usize).map(|at| self.listed(inputs, at)).collect();
        if let (&[input], None, true) = (&inputs[..], self.gpu(), operator.can_overwrite()) {
            let Some(mut dx) = self.open_to_overwrite(input) else { return };
            match dx.mode {
                Accumulate::Overwrite => operator.overwrite(dy.as_slice(), dx.slice()),
                Accumulate::Add => operator.backward(dy.as_slice(), &mut [Some(dx.slice())]),
            }
            return self.close([Some(dx)]);
        }
        let mut opened: Vec<Option<Opened>> = inputs.iter().map(|&var| self.open(var)).collect();
        match self.gpu() {
            None => {
                let slices = opened.iter_mut().map(|one| one.as_mut().map(Opened::slice));
                operator.backward(dy.as_slice(), &mut slices.collect::<Vec<_>>());
            }
            Some(gpu) => {
                let place = |one: &mut Opened| Place::of(one.view().as_view());
                let places = opened.iter_mut().map(|one| one.as_mut().map(place));
                let inputs: Vec<Option<Place>> = places.collect();
                let (operator, dy) = (Arc::clone(operator), Place::of(dy.view()));
                gpu.repeatedly(OnGpu { operator, inputs, y: dy }.backward());
            }
        }
        self.close_all(opened.into_iter().flatten());
    }
}

/// Values on a GPU that keep their place for as long as an operator is repeated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    ptr: u64,
    len: usize,
}

impl Place {
    pub(super) fn of(view: View<'_>) -> Self {
        Self { ptr: view.ptr(), len: view.len() }
    }

    fn view(self) -> View<'static> {
        View::new(self.ptr, self.len)
    }

    pub(super) fn view_mut(self) -> ViewMut<'static> {
        ViewMut::new(self.ptr, self.len)
    }

    pub(super) fn read(self, gpu: &Gpu) -> Vec<f32> {
        let mut host = vec![0.0; self.len];
        gpu.download(self.view(), &mut host);
        host
    }
}

/// An operator with its operands and its result, or the gradient of that, on a GPU.
struct OnGpu<I> {
    operator: Arc<dyn Custom>,
    inputs: Vec<I>,
    y: Place,
}

impl OnGpu<Place> {
    /// What writes the result.
    fn forward(self) -> impl Fn(&Gpu) + Send + 'static {
        let Self { operator, inputs, y } = self;
        move |gpu| match operator.on_gpu(gpu) {
            Some(side) => {
                let values: Vec<View<'_>> = inputs.iter().map(|input| input.view()).collect();
                side.forward(&values, y.view_mut());
            }
            None => {
                let values: Vec<Vec<f32>> = inputs.iter().map(|input| input.read(gpu)).collect();
                let values: Vec<&[f32]> = values.iter().map(Vec::as_slice).collect();
                let mut host = vec![0.0; y.len];
                operator.forward(&values, &mut host);
                gpu.upload(&host, y.view_mut());
            }
        }
    }
}

impl OnGpu<Option<Place>> {
    /// What adds the gradients of the operands that want one.
    fn backward(self) -> impl Fn(&Gpu) + Send + 'static {
        let Self { operator, inputs, y: dy } = self;
        move |gpu| match operator.on_gpu(gpu) {
            Some(side) => {
                let views = inputs.iter().map(|one| one.map(Place::view_mut));
                side.backward(dy.view(), &mut views.collect::<Vec<_>>());
            }
            None => {
                let zeros = |one: &Option<Place>| one.map(|place| vec![0.0; place.len]);
                let mut host: Vec<_> = inputs.iter().map(zeros).collect();
                let slices = host.iter_mut().map(|one| one.as_mut().map(Vec::as_mut_slice));
                operator.backward(&dy.read(gpu), &mut slices.collect::<Vec<_>>());
                for (one, host) in inputs.iter().zip(&host) {
                    let (Some(one), Some(host)) = (one, host) else { continue };
                    let given = gpu.uploaded(host);
                    crate::cuda::elementwise::scale_add(gpu, 1.0, given.view(), one.view_mut());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `y = a + 2 b`.
    #[derive(Debug)]
    struct AddTwice {
        collective: bool,
    }

    impl Custom for AddTwice {
        fn forward(&self, inputs: &[&[f32]], y: &mut [f32]) {
            for (at, y) in y.iter_mut().enumerate() {
                *y = inputs[0][at] + 2.0 * inputs[1][at];
            }
        }

        fn backward(&self, dy: &[f32], inputs: &mut [Option<&mut [f32]>]) {
            for (factor, input) in [1.0, 2.0].into_iter().zip(inputs) {
                let Some(input) = input else { continue };
                input.iter_mut().zip(dy).for_each(|(dx, dy)| *dx += factor * dy);
            }
        }

        fn is_collective(&self) -> bool {
            self.collective
        }
    }

    fn operator(collective: bool) -> Arc<dyn Custom> {
        Arc::new(AddTwice { collective })
    }

    #[test]
    fn values_and_gradients_pass_through_an_operator_from_outside() {
        let mut tape = Tape::new();
        let a = tape.variable(1, 2, &[1.0, 2.0]).unwrap();
        let b = tape.variable(1, 2, &[10.0, 20.0]).unwrap();
        let y = tape.custom(operator(false), &[a, b], Shape::new(1, 2));
        assert_eq!(tape.value(y), [21.0, 42.0]);
        let mean = tape.mean(y);
        tape.backward(mean).unwrap();
        assert_eq!(tape.gradient(a), Some(&[0.5, 0.5][..]));
        assert_eq!(tape.gradient(b), Some(&[1.0, 1.0][..]));
    }

    #[test]
    fn a_matrix_that_is_both_inputs_gets_the_sum() {
        let mut tape = Tape::new();
        let a = tape.variable(1, 1, &[1.0]).unwrap();
        let y = tape.custom(operator(false), &[a, a], Shape::new(1, 1));
        tape.backward(y).unwrap();
        assert_eq!(tape.gradient(a), Some(&[3.0][..]));
    }

    #[test]
    fn only_a_collective_operator_is_walked_back_without_a_gradient() {
        for collective in [false, true] {
            let mut tape = Tape::new();
            let a = tape.variable(1, 1, &[1.0]).unwrap();
            let constant = tape.ones(1, 1);
            tape.custom(operator(collective), &[a, constant], Shape::new(1, 1));
            let other = tape.variable(1, 1, &[1.0]).unwrap();
            let loss = tape.scale(other, 2.0);
            tape.backward(loss).unwrap();
            assert_eq!(tape.gradient(a), collective.then_some(&[0.0][..]));
        }
    }
}
