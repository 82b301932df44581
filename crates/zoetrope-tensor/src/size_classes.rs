//! Free things by size: what pools of memory keep for their next user.

/// Things of different sizes, of which the smallest that is large enough is found.
#[derive(Debug)]
pub(crate) struct SizeClasses<T> {
    by_size: Vec<(usize, Vec<T>)>,
}

impl<T> Default for SizeClasses<T> {
    fn default() -> Self {
        Self { by_size: Vec::new() }
    }
}

impl<T> SizeClasses<T> {
    /// A thing of this size, or one that is up to a quarter larger, with its size.
    pub(crate) fn take(&mut self, size: usize) -> Option<(usize, T)> {
        let first = self.by_size.partition_point(|(own, _)| *own < size);
        let enough = self.by_size[first..].iter_mut();
        let mut near = enough.take_while(|(own, _)| *own <= size + size / 4);
        near.find_map(|(own, all)| Some((*own, all.pop()?)))
    }

    /// A thing that is a little too small for this size, by up to a quarter, with its size.
    pub(crate) fn take_smaller(&mut self, size: usize) -> Option<(usize, T)> {
        let end = self.by_size.partition_point(|(own, _)| *own < size);
        let mut near =
            self.by_size[..end].iter_mut().rev().take_while(|(own, _)| *own >= size - size / 4);
        near.find_map(|(own, all)| Some((*own, all.pop()?)))
    }

    /// Puts a thing of this size back.
    pub(crate) fn give(&mut self, size: usize, thing: T) {
        match self.by_size.binary_search_by_key(&size, |(own, _)| *own) {
            Ok(at) => self.by_size[at].1.push(thing),
            Err(at) => self.by_size.insert(at, (size, vec![thing])),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_size.iter().all(|(_, all)| all.is_empty())
    }

    /// Takes everything, with its size.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (usize, T)> {
        let all = std::mem::take(&mut self.by_size);
        all.into_iter().flat_map(|(size, all)| all.into_iter().map(move |thing| (size, thing)))
    }
}

/// The size class of a request, a multiple of `grain`: eight classes between powers of two, and 64
/// from `large` on, if what is wasted counts more than how many classes there are.
pub(crate) fn size_class(size: usize, grain: usize, large: usize) -> usize {
    let size = size.max(1).next_multiple_of(grain);
    let classes = if size < large { 16 } else { 128 };
    size.next_multiple_of((size.next_power_of_two() / classes).max(grain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_class_wastes_little() {
        for size in (1..20_000).chain((1 << 18..1 << 20).step_by(999)) {
            let class = size_class(size, 16, 1 << 18);
            let most = if size < 1 << 18 { size / 8 + 16 } else { size / 64 };
            assert!(class >= size && class <= size + most, "{size} → {class}");
            assert_eq!(size_class(class, 16, 1 << 18), class);
        }
    }

    #[test]
    fn the_smallest_that_is_large_enough_is_found() {
        let mut size_classes = SizeClasses::default();
        for size in [64, 100, 72, 64] {
            size_classes.give(size, size);
        }
        let found = [65, 60, 64, 64, 90].map(|size| size_classes.take(size).map(|(size, _)| size));
        assert_eq!(found, [Some(72), Some(64), Some(64), None, Some(100)]);
        assert!(size_classes.is_empty());
        size_classes.give(80, 80);
        let found =
            [80, 120, 100].map(|size| size_classes.take_smaller(size).map(|(size, _)| size));
        assert_eq!(found, [None, None, Some(80)]);
    }
}
