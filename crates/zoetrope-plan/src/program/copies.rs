//! Which snapshots are sent to a GPU when, if they do not stay there: two groups have room, one that is
//! read and one on its way.

use std::ops::Range;

use super::builder::Builder;
use super::facts::CopySizes;

/// Groups of snapshots on a GPU.
#[derive(Debug)]
pub(super) struct Copies<'a> {
    sizes: Option<&'a CopySizes>,
    current: Range<usize>,
    coming: Option<(Range<usize>, usize)>,
}

fn holds(group: &Range<usize>, steps: &Range<usize>) -> bool {
    group.start <= steps.start && steps.end <= group.end
}

impl<'a> Copies<'a> {
    pub(super) fn new(sizes: Option<&'a CopySizes>) -> Self {
        Self { sizes, current: 0..0, coming: None }
    }

    /// Before the products of some snapshots: sends them unless they are there or on their way, and lets
    /// products wait for them. Then begins to send `next`.
    pub(super) fn enter(
        &mut self,
        program: &mut Builder,
        steps: &Range<usize>,
        next: Option<&Range<usize>>,
    ) {
        if !holds(&self.current, steps) {
            self.prefetch(program, steps);
            if let Some((group, id)) = self.coming.take() {
                program.wait_for(id);
                self.current = group;
            }
        }
        if let Some(next) = next {
            self.prefetch(program, next);
        }
    }

    fn prefetch(&mut self, program: &mut Builder, steps: &Range<usize>) {
        let is_coming = self.coming.as_ref().is_some_and(|(group, _)| holds(group, steps));
        if is_coming || holds(&self.current, steps) {
            return;
        }
        let bytes = self.sizes.map(|sizes| sizes.whole[steps.clone()].iter().sum());
        self.coming = Some((steps.clone(), program.copy(bytes)));
    }
}
