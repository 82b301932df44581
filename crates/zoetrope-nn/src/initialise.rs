//! First values of parameters, drawn as the reference implementations draw them.

use zoetrope_graph::random::Random;

/// How a parameter is filled at first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Initialise {
    /// All zero.
    Zeros,
    /// All one.
    Ones,
    /// All the same value.
    Constant(f32),
    /// Uniform in `±√(6 / (rows + columns))` (PyG's `glorot`, PyTorch's `xavier_uniform_`).
    Glorot,
    /// Uniform in `±bound`.
    Uniform(f32),
    /// Uniform in 0 to 1 (PyTorch's `uniform_`).
    Unit,
    /// Normal with this deviation.
    Normal(f32),
    /// From 1 down to 10⁻⁹ in equal ratios: the first frequencies of a time encoding (TGAT).
    Decades,
}

impl Initialise {
    /// What PyTorch gives a linear layer of this many inputs, weight and bias alike:
    /// uniform in `±1 / √inputs`.
    pub fn linear(inputs: usize) -> Self {
        Self::Uniform(1.0 / (inputs.max(1) as f32).sqrt())
    }

    /// Fills a parameter whose last two dimensions are `rows × cols`.
    pub(crate) fn fill(self, random: Random, rows: usize, cols: usize, values: &mut [f32]) {
        let uniform = |bound: f32, values: &mut [f32]| {
            for (at, value) in values.iter_mut().enumerate() {
                *value = (2.0 * random.unit(at as u64) as f32 - 1.0) * bound;
            }
        };
        match self {
            Self::Zeros => values.fill(0.0),
            Self::Ones => values.fill(1.0),
            Self::Constant(value) => values.fill(value),
            Self::Glorot => uniform((6.0 / (rows + cols).max(1) as f32).sqrt(), values),
            Self::Uniform(bound) => uniform(bound, values),
            Self::Unit => {
                for (at, value) in values.iter_mut().enumerate() {
                    *value = random.unit(at as u64) as f32;
                }
            }
            Self::Decades => {
                let last = values.len().max(2) - 1;
                for (at, value) in values.iter_mut().enumerate() {
                    *value = 10f64.powf(-9.0 * at as f64 / last as f64) as f32;
                }
            }
            Self::Normal(deviation) => {
                for (at, value) in values.iter_mut().enumerate() {
                    *value = random.normal(at as u64) as f32 * deviation;
                }
            }
        }
    }
}
