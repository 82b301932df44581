//! Frames: the windows of snapshots that an epoch walks through.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::PlanError;

/// Some consecutive snapshots that are computed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The first snapshot, counted from the start of the sequence.
    pub start: usize,
    /// The number of snapshots.
    pub steps: usize,
    /// The number of snapshots that a structure encoder takes at once.
    pub group: usize,
}

impl Frame {
    /// Some snapshots that structure encoders take all at once.
    pub fn whole(snapshots: Range<usize>) -> Self {
        let steps = snapshots.len();
        Self { start: snapshots.start, steps, group: steps }
    }

    /// The snapshots.
    pub fn range(self) -> Range<usize> {
        self.start..self.start + self.steps
    }
}

/// The most groups of a frame that a model takes.
pub const MAX_GROUPS: usize = 64;

/// The groups of `steps` snapshots, `group` in each, as ranges within them. A pass that is longer than the
/// planned frames (evaluation) has larger groups if there would be too many.
pub fn groups(steps: usize, group: usize) -> Vec<Range<usize>> {
    let size = group.max(steps.div_ceil(MAX_GROUPS)).clamp(1, steps.max(1));
    (0..steps).step_by(size).map(|start| start..(start + size).min(steps)).collect()
}

/// Cuts groups further, before each place at which `is_cut` says so.
pub(crate) fn split(
    groups: Vec<Range<usize>>,
    is_cut: impl Fn(usize) -> bool,
) -> Vec<Range<usize>> {
    let mut cut = Vec::with_capacity(groups.len());
    for Range { start, end } in groups {
        let mut from = start;
        for at in (start + 1..end).filter(|&at| is_cut(at)) {
            cut.push(from..at);
            from = at;
        }
        cut.push(from..end);
    }
    cut
}

/// How frames are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameRule {
    /// Snapshots in a frame; None takes the whole range as one frame.
    pub frame: Option<usize>,
    /// Snapshots from the start of one frame to the start of the next.
    pub stride: usize,
    /// Snapshots after which the gradient no longer flows back; None flows through the frame.
    pub truncate: Option<usize>,
}

impl FrameRule {
    /// The frames of a range of snapshots: those that lie in it wholly, in time order.
    ///
    /// # Errors
    /// If the range is empty or shorter than a frame.
    pub fn cut(self, snapshots: Range<usize>) -> Result<Vec<Frame>, PlanError> {
        if snapshots.is_empty() {
            return Err(PlanError::NoSnapshots);
        }
        let steps = self.frame.unwrap_or(snapshots.len());
        if steps > snapshots.len() {
            return Err(PlanError::FrameTooLong { frame: steps, snapshots: snapshots.len() });
        }
        let last = snapshots.end - steps;
        let starts = (snapshots.start..=last).step_by(self.stride.max(1));
        Ok(starts.map(|start| Frame::whole(start..start + steps)).collect())
    }

    /// The stretches of a frame between which the gradient does not flow.
    pub fn stretches(self, frame: Frame) -> impl Iterator<Item = Frame> {
        let step = self.truncate.unwrap_or(frame.steps).max(1);
        (0..frame.steps).step_by(step).map(move |from| Frame {
            start: frame.start + from,
            steps: step.min(frame.steps - from),
            group: frame.group,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(frame: Option<usize>, stride: usize) -> FrameRule {
        FrameRule { frame, stride, truncate: None }
    }

    #[test]
    fn frames_slide_by_the_stride_and_stay_inside() {
        let starts = |frame, stride, range| {
            let frames = rule(Some(frame), stride).cut(range).unwrap();
            frames.iter().map(|frame| frame.start).collect::<Vec<_>>()
        };
        assert_eq!(starts(4, 1, 2..8), [2, 3, 4]);
        assert_eq!(starts(4, 4, 0..11), [0, 4]);
        assert_eq!(starts(3, 2, 0..7), [0, 2, 4]);
    }

    #[test]
    fn the_whole_range_is_one_frame_where_no_length_is_given() {
        assert_eq!(rule(None, 1).cut(3..9).unwrap(), [Frame::whole(3..9)]);
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused() {
        let error = rule(Some(5), 1).cut(0..4).unwrap_err();
        assert_eq!(error, PlanError::FrameTooLong { frame: 5, snapshots: 4 });
        assert_eq!(rule(Some(5), 1).cut(3..3).unwrap_err(), PlanError::NoSnapshots);
    }

    #[test]
    fn groups_cover_a_frame() {
        assert_eq!(groups(8, 3), [0..3, 3..6, 6..8]);
        assert_eq!(groups(700, 1).len(), MAX_GROUPS);
        assert_eq!(groups(4, 9), vec![0..4; 1]);
    }

    #[test]
    fn stretches_cover_a_frame_in_order() {
        let rule = FrameRule { frame: Some(7), stride: 1, truncate: Some(3) };
        let stretches: Vec<_> = rule.stretches(Frame::whole(2..9)).collect();
        assert_eq!(
            stretches.iter().map(|s| (s.start, s.steps)).collect::<Vec<_>>(),
            [(2, 3), (5, 3), (8, 1)]
        );
    }
}
