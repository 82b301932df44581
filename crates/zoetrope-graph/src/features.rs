//! Dense values per vertex and step: features and targets.

use crate::error::GraphError;

/// Features of vertices: `steps × vertices × width`, or one step that holds for all.
#[derive(Debug, Clone, PartialEq)]
pub struct VertexFeatures {
    steps: usize,
    vertices: usize,
    width: usize,
    values: Vec<f32>,
}

impl VertexFeatures {
    /// Takes `values` in row-major order of (step, vertex, feature).
    ///
    /// # Errors
    /// [`GraphError::LengthMismatch`] if `values` is not `steps × vertices × width` long.
    pub fn new(
        steps: usize,
        vertices: usize,
        width: usize,
        values: Vec<f32>,
    ) -> Result<Self, GraphError> {
        expect_length("features", steps.saturating_mul(vertices).saturating_mul(width), &values)?;
        Ok(Self { steps, vertices, width, values })
    }

    /// The number of steps; 1 if the features do not change.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// Features per vertex and step.
    pub fn width(&self) -> usize {
        self.width
    }

    /// All values in row-major order of (step, vertex, feature).
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// All values in the same order, to be changed in place.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// The `vertices × width` matrix of a step; constant features hold for every step.
    ///
    /// # Panics
    /// If the features change and `step` is not below [`steps`](Self::steps).
    pub fn at(&self, step: usize) -> &[f32] {
        let size = self.vertices * self.width;
        let step = if self.steps == 1 { 0 } else { step };
        &self.values[step * size..(step + 1) * size]
    }
}

/// One target per step and vertex: a number, or a class.
#[derive(Debug, Clone, PartialEq)]
pub struct Targets {
    steps: usize,
    vertices: usize,
    classes: Option<u32>,
    values: Vec<f32>,
}

impl Targets {
    /// Takes `values` in row-major order of (step, vertex). With `classes`, each value is a class
    /// number; without, a quantity to regress.
    ///
    /// # Errors
    /// [`GraphError::LengthMismatch`] if `values` is not `steps × vertices` long.
    pub fn new(
        steps: usize,
        vertices: usize,
        classes: Option<u32>,
        values: Vec<f32>,
    ) -> Result<Self, GraphError> {
        expect_length("targets", steps.saturating_mul(vertices), &values)?;
        Ok(Self { steps, vertices, classes, values })
    }

    /// The number of steps; 1 if targets do not change (a static class per vertex).
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// The number of classes, if the targets are classes.
    pub fn classes(&self) -> Option<u32> {
        self.classes
    }

    /// All values in row-major order of (step, vertex).
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}

fn expect_length(column: &'static str, expected: usize, values: &[f32]) -> Result<(), GraphError> {
    if values.len() == expected {
        Ok(())
    } else {
        Err(GraphError::LengthMismatch { column, expected, got: values.len() })
    }
}
