//! Whether a lower precision is good enough: the loss of the first frame, in it and in f32.

use zoetrope_dist::Reduction;
use zoetrope_nn::Forward;
use zoetrope_nn::forward::Updates;
use zoetrope_plan::{Frame, Precision};
use zoetrope_tensor::cuda;

use super::Session;
use crate::error::TrainError;
use crate::snapshots::engine::{Piece, PieceRun};
use crate::snapshots::task::Questions;

impl Session {
    /// Before the first update on a GPU in a lower precision: refuses it if the loss of the
    /// first frame is not that of f32. Nothing of the run changes.
    pub(super) fn check_precision(&mut self, frame: Frame) -> Result<(), TrainError> {
        let Some(planned) = self.plan.gpu else { return Ok(()) };
        let asked = planned.precision;
        let Some(gpu) = self.tape.device().gpu().cloned() else { return Ok(()) };
        if asked == Precision::F32 || self.learner.progress.frames > 0 {
            return Ok(());
        }
        // Products of more snapshots than are there at a time wait for theirs themselves.
        if self.runner.sends_pieces() && !self.works_in_blocks() {
            self.runner.enter(&gpu, &Piece::whole(frame.range(), frame.group))?;
        }
        let lower = gpu.precision();
        let found = self.first_loss(frame)?;
        gpu.set_precision(cuda::Precision::F32);
        let exact = self.first_loss(frame);
        gpu.set_precision(lower);
        match (exact?, found) {
            (Some(exact), Some(found)) => judge(asked, exact, found),
            _ => Ok(()),
        }
    }

    /// The loss of the first stretch of a frame as training computes it, if it has one. Ranks that share cells
    /// have some of its snapshots each, and find the loss together.
    fn first_loss(&mut self, frame: Frame) -> Result<Option<f64>, TrainError> {
        let Some(stretch) = self.plan.rule.stretches(frame).next() else { return Ok(None) };
        let last = stretch.range().end - 1;
        let asked = if self.only_last() { last..last + 1 } else { stretch.range() };
        self.tape.reset();
        // Statistics of the batch are not kept: they are found again by the first update.
        let mut updates = Updates::default();
        let (seed, parameters) = (self.config.train.seed, &self.network.parameters);
        let mut forward = Forward::training(&mut self.tape, parameters, &mut updates, seed, 0);
        let state = self.carried.attach(forward.tape)?;
        let piece = Piece::whole(stretch.range(), stretch.group);
        let questions = Questions { steps: asked, epoch: 0 };
        let (runner, task, network) = (&mut self.runner, self.task.as_mut(), &self.network);
        let run = PieceRun { runner, task, network };
        let ran = run.run(&mut forward, &piece, state, Some(&questions))?;
        let mut sums = [0.0, 0.0];
        if let Some((loss, answers)) = ran.loss {
            sums = [f64::from(self.tape.read(loss)[0]) * answers, answers];
        }
        if let Some(sharing) = self.runner.sharing() {
            sharing.ranks.all_reduce(&mut sums, Reduction::Sum)?;
        }
        let [sum, answers] = sums;
        Ok((answers > 0.0).then(|| sum / answers))
    }
}

/// How far a loss may be from that of f32, relative to it: some hundred roundings of an operand
/// (2⁻¹¹ and 2⁻⁸), which mostly cancel in a mean.
fn tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 0.0,
        Precision::Tf32 => 1e-3,
        Precision::Bf16 => 1e-2,
    }
}

fn judge(asked: Precision, exact: f64, found: f64) -> Result<(), TrainError> {
    // If f32 itself fails, training reports it.
    if !exact.is_finite() || (found - exact).abs() <= tolerance(asked) * exact.abs() {
        return Ok(());
    }
    let name = name_of(asked);
    Err(TrainError::Unfit {
        what: format!(
            "train.precision = {name}: the loss of the first frame is {found:.6} instead of {exact:.6}, more than {} % apart",
            tolerance(asked) * 100.0
        ),
        advice: "use --precision f32".to_owned(),
    })
}

fn name_of(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 => "f32",
        Precision::Tf32 => "tf32",
        Precision::Bf16 => "bf16",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_close_to_that_of_f32_passes_and_another_is_refused_with_both() {
        let judge = |precision, found| judge(precision, 2.0, found);
        assert!(judge(Precision::Tf32, 2.0019).is_ok());
        assert!(judge(Precision::Bf16, 1.981).is_ok());
        assert!(judge(Precision::Bf16, 2.021).is_err());
        let refusal = judge(Precision::Tf32, 1.99).unwrap_err().to_string();
        for part in ["tf32", "1.990000", "2.000000", "0.1 %", "--precision f32"] {
            assert!(refusal.contains(part), "{refusal}");
        }
    }

    #[test]
    fn a_loss_that_is_not_finite_is_refused_unless_f32_has_none_either() {
        assert!(judge(Precision::Bf16, 2.0, f64::NAN).is_err());
        assert!(judge(Precision::Bf16, f64::NAN, f64::NAN).is_ok());
    }
}
