//! How the frames of a run are cut: as the configuration or a saved plan says.

use zoetrope_config::{Config, Frame};
use zoetrope_plan::{FramePlan, FrameRule, Plan};

use crate::error::TrainError;

/// Shortens a frame that nobody asked for and that the training part is too short for: to half of
/// the training part, so that there are as many frames as a frame has snapshots.
pub(super) fn fit_frame(config: &mut Config, training: usize) {
    let Frame::Steps(steps) = config.train.frame else { return };
    if steps <= training || training == 0 || config.is_given("train.frame") {
        return;
    }
    let fit = training.div_ceil(2);
    config.train.frame = Frame::Steps(fit);
    let because = format!("{training} snapshots to train on are fewer than the usual {steps}");
    config.settle("train.frame", fit, because);
}

/// A saved plan as the ranks that are there execute it. One process can take over a plan of several,
/// which changes nothing but who computes what; several need one that was made for as many.
pub(super) fn for_ranks(plan: FramePlan, size: usize) -> Result<FramePlan, TrainError> {
    let planned = plan.head.ranks;
    if planned == size {
        return Ok(plan);
    }
    if size == 1 {
        return Ok(plan.alone());
    }
    Err(TrainError::Unfit {
        what: format!("the plan is for {planned} ranks, but there are {size}"),
        advice: format!("use --ranks {planned}, or make another plan"),
    })
}

/// A saved plan as one of frames.
///
/// # Errors
/// If it is one of batches.
pub(crate) fn of_frames(
    plan: Option<Plan>,
    config: &Config,
) -> Result<Option<FramePlan>, TrainError> {
    match plan {
        None => Ok(None),
        Some(Plan::Frames(plan)) => Ok(Some(plan)),
        Some(Plan::Batches(_)) => Err(events_plan(config.model.name.name())),
    }
}

/// The refusal of a plan of batches by a run over snapshots.
pub(super) fn events_plan(model: &str) -> TrainError {
    TrainError::Unfit {
        what: format!("the plan lays out batches of events, but {model} learns from snapshots"),
        advice: "make another plan with `zoetrope plan`, or leave --plan out".to_owned(),
    }
}

/// How a saved plan cuts frames, which wins over the configuration.
pub(super) fn given_rule(config: &Config, plan: &FramePlan) -> Result<FrameRule, TrainError> {
    if config.train.carry_state && plan.rule.frame.is_some_and(|frame| frame != plan.rule.stride) {
        Err(TrainError::Unfit {
            what:
                "train.carry_state needs frames that follow each other, but those of the plan do \
                   not"
                .to_owned(),
            advice: "make a plan with train.carry_state=true".to_owned(),
        })
    } else {
        Ok(plan.rule)
    }
}

/// How frames are cut. A state that is carried on needs frames that follow each other without a gap
/// or an overlap.
pub(super) fn frame_rule(config: &Config) -> Result<FrameRule, TrainError> {
    let frame = match config.train.frame {
        Frame::All => None,
        Frame::Steps(steps) => Some(steps),
    };
    let stride = match (config.train.carry_state, frame) {
        (true, Some(frame)) if config.train.stride == 1 || config.train.stride == frame => frame,
        (true, Some(frame)) => {
            return Err(TrainError::Unfit {
                what: format!(
                    "train.carry_state with train.stride = {} and train.frame = {frame}: the state after a frame belongs to the snapshot that follows it",
                    config.train.stride
                ),
                advice: format!("set train.stride = {frame}"),
            });
        }
        _ => config.train.stride,
    };
    Ok(FrameRule { frame, stride, truncate: config.train.truncate })
}
