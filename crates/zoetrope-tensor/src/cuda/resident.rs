//! Host values that have a copy on the device for as long as they live.
//!
//! Features, targets, lists of rows: whatever is shared by an `Arc` and never changes is copied up
//! when an operator first reads it, and found again by the address of the `Arc`. A weak reference
//! keeps that address from being given to anything else, so a copy can never be taken for that of
//! another value; copies of values that are gone are dropped on the way.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Weak};

use bytemuck::Pod;

use super::gpu::Gpu;
use super::memory::{Consumer, Scratch};
use crate::matrix::Matrix;

/// Copies by the address of their source, their type and a number that tells variants apart.
#[derive(Default)]
pub(super) struct Residents {
    kept: HashMap<(usize, TypeId, u64), Kept>,
    sweep_at: usize,
    /// Blocks of zeros, each longer than the one before; none is ever given back, because recordings
    /// may read it.
    zeros: Vec<Arc<Scratch>>,
}

struct Kept {
    source: Weak<dyn Any + Send + Sync>,
    made: Arc<dyn Any + Send + Sync>,
}

impl Residents {
    fn find<V: Any + Send + Sync>(&self, key: (usize, TypeId, u64)) -> Option<Arc<V>> {
        Arc::clone(&self.kept.get(&key)?.made).downcast().ok()
    }

    /// Drops copies of values that are gone.
    pub(super) fn sweep(&mut self) {
        self.kept.retain(|_, kept| kept.source.strong_count() > 0);
    }

    fn keep(&mut self, key: (usize, TypeId, u64), kept: Kept) {
        if self.kept.len() >= self.sweep_at {
            self.sweep();
            self.sweep_at = 2 * self.kept.len() + 64;
        }
        self.kept.insert(key, kept);
    }
}

impl Gpu {
    /// What `make` makes of a shared value, made once while the value lives.
    pub(crate) fn derived<S, V>(
        &self,
        source: &Arc<S>,
        variant: u64,
        make: impl FnOnce() -> V,
    ) -> Arc<V>
    where
        S: Any + Send + Sync,
        V: Any + Send + Sync,
    {
        let key = (Arc::as_ptr(source) as usize, TypeId::of::<V>(), variant);
        if let Some(found) = self.residents().find(key) {
            return found;
        }
        let made = Arc::new(make());
        let source: Weak<S> = Arc::downgrade(source);
        self.residents().keep(key, Kept { source, made: Arc::clone(&made) as _ });
        made
    }

    /// The device's copy of a shared list.
    pub(crate) fn resident<T>(&self, list: &Arc<Vec<T>>) -> Arc<Scratch<T>>
    where
        T: Pod + Send + Sync,
    {
        self.derived(list, 0, || self.uploaded(list))
    }

    /// Zeros that are read and never written: at least so many.
    pub(crate) fn zeros(&self, len: usize) -> Arc<Scratch> {
        let known = self.residents().zeros.last().cloned();
        if let Some(zeros) = known.filter(|zeros| zeros.len() >= len) {
            return zeros;
        }
        let mut zeros = self.take(len);
        self.zero(zeros.view_mut());
        let zeros = Arc::new(zeros);
        self.residents().zeros.push(Arc::clone(&zeros));
        zeros
    }

    /// The device's copy of a shared matrix.
    pub fn resident_matrix(&self, matrix: &Arc<Matrix>) -> Arc<Scratch> {
        let upload = || self.uploaded(matrix.as_slice());
        self.derived(matrix, 0, || self.charging(Consumer::Features, upload))
    }

    /// A fresh copy of values on the device.
    pub(crate) fn uploaded<T: Pod>(&self, values: &[T]) -> Scratch<T> {
        let mut copy = self.take_of(values.len());
        self.upload(values, copy.view_mut());
        copy
    }
}
