//! Which vector instructions the kernels use, chosen once per process.
//!
//! Kernels are written once, generic over [`pulp::Simd`]; `Cpu::run` compiles them for each
//! instruction set and picks at run time. The environment variable `ZOETROPE_SIMD`
//! (`scalar`, `neon`, `avx2`, `avx512`) lowers the choice; a value that is unknown or that the
//! processor lacks means the best that is available and not above it.
//!
//! Matrix products go through `gemm-f32`, which makes its own choice; the variable does not
//! reach it.

use std::fmt;
use std::sync::OnceLock;

use pulp::{Scalar, Simd, WithSimd};

/// An instruction set that kernels are compiled for, from narrow to wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// One lane at a time.
    Scalar,
    /// Four lanes (64-bit Arm).
    Neon,
    /// Eight lanes with fused multiply-add (x86-64-v3).
    Avx2,
    /// Sixteen lanes (x86-64-v4).
    Avx512,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scalar => "scalar",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        })
    }
}

impl Level {
    /// The level that a name of `ZOETROPE_SIMD` stands for.
    fn parse(name: &str) -> Option<Self> {
        [Self::Scalar, Self::Neon, Self::Avx2, Self::Avx512]
            .into_iter()
            .find(|level| level.to_string() == name.trim().to_ascii_lowercase())
    }
}

/// Proof that the processor has the instructions of a level.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cpu {
    Scalar,
    #[cfg(target_arch = "aarch64")]
    Neon(pulp::aarch64::Neon),
    #[cfg(target_arch = "x86_64")]
    Avx2(pulp::x86::V3),
    #[cfg(target_arch = "x86_64")]
    Avx512(pulp::x86::V4),
}

impl Cpu {
    /// The best level that this processor has and that is not above `limit`.
    fn at_most(limit: Level) -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if limit >= Level::Avx512
                && let Some(token) = pulp::x86::V4::try_new()
            {
                return Self::Avx512(token);
            }
            if limit >= Level::Avx2
                && let Some(token) = pulp::x86::V3::try_new()
            {
                return Self::Avx2(token);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if limit >= Level::Neon
            && let Some(token) = pulp::aarch64::Neon::try_new()
        {
            return Self::Neon(token);
        }
        let _ = limit;
        Self::Scalar
    }

    pub(crate) fn level(self) -> Level {
        match self {
            Self::Scalar => Level::Scalar,
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => Level::Neon,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => Level::Avx2,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => Level::Avx512,
        }
    }

    /// The same, or a narrower level if rows of `width` elements would leave half of a vector
    /// empty.
    pub(crate) fn for_width(self, width: usize) -> Self {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(wide) if width <= 8 => Self::Avx2(*wide),
            other => {
                let _ = width;
                other
            }
        }
    }

    /// Runs `op` compiled for this level.
    #[inline(always)]
    pub(crate) fn run<Op: WithSimd>(self, op: Op) -> Op::Output {
        match self {
            Self::Scalar => op.with_simd(Scalar),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(simd) => Simd::vectorize(simd, op),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(simd) => Simd::vectorize(simd, op),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(simd) => Simd::vectorize(simd, op),
        }
    }
}

/// The level that kernels run at in this process.
pub fn level() -> Level {
    chosen().level()
}

fn chosen() -> Cpu {
    static CHOSEN: OnceLock<Cpu> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let wish = std::env::var("ZOETROPE_SIMD").ok().and_then(|name| Level::parse(&name));
        Cpu::at_most(wish.unwrap_or(Level::Avx512))
    })
}

/// The level for a kernel called on this thread; read once, before a parallel region.
#[cfg(not(test))]
#[inline]
pub(crate) fn current() -> Cpu {
    chosen()
}

#[cfg(test)]
pub(crate) use forced::{current, levels, with_level};

/// Lets tests run a kernel at every level that the processor has.
#[cfg(test)]
mod forced {
    use super::{Cpu, Level, chosen};
    use std::cell::Cell;

    thread_local! {
        static FORCED: Cell<Option<Cpu>> = const { Cell::new(None) };
    }

    pub(crate) fn current() -> Cpu {
        FORCED.get().unwrap_or_else(chosen)
    }

    pub(crate) fn levels() -> Vec<Level> {
        [Level::Scalar, Level::Neon, Level::Avx2, Level::Avx512]
            .into_iter()
            .filter(|&level| Cpu::at_most(level).level() == level)
            .collect()
    }

    pub(crate) fn with_level<R>(level: Level, f: impl FnOnce() -> R) -> R {
        let before = FORCED.replace(Some(Cpu::at_most(level)));
        let result = f();
        FORCED.set(before);
        result
    }
}

/// A function of `N` vectors, and of the output's old value if `READS_OUTPUT` says so.
pub(crate) trait Lanewise<const N: usize>: Sync {
    const READS_OUTPUT: bool = false;

    fn apply<S: Simd>(&self, simd: S, x: [S::f32s; N], y: S::f32s) -> S::f32s;
}

/// Applies a [`Lanewise`] function to slices of one length.
pub(crate) struct Map<'a, F, const N: usize> {
    pub(crate) f: &'a F,
    pub(crate) x: [&'a [f32]; N],
    pub(crate) y: &'a mut [f32],
}

impl<F: Lanewise<N>, const N: usize> WithSimd for Map<'_, F, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { f, x, y } = self;
        let len = y.len();
        let zero = simd.splat_f32s(0.0);
        let whole = len / S::F32_LANES;
        let mut heads = [&[][..]; N];
        let mut tails = [&[][..]; N];
        for j in 0..N {
            let (head, tail) = S::as_simd_f32s(&x[j][..len]);
            heads[j] = &head[..whole];
            tails[j] = tail;
        }
        let (out, out_tail) = S::as_mut_simd_f32s(y);
        let mut input = [zero; N];
        for (i, out) in out[..whole].iter_mut().enumerate() {
            for j in 0..N {
                input[j] = heads[j][i];
            }
            *out = f.apply(simd, input, if F::READS_OUTPUT { *out } else { zero });
        }
        if !out_tail.is_empty() {
            for j in 0..N {
                input[j] = simd.partial_load_f32s(tails[j]);
            }
            let old = if F::READS_OUTPUT { simd.partial_load_f32s(out_tail) } else { zero };
            simd.partial_store_f32s(out_tail, f.apply(simd, input, old));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_levels_are_read_back() {
        for level in [Level::Scalar, Level::Neon, Level::Avx2, Level::Avx512] {
            assert_eq!(Level::parse(&level.to_string()), Some(level));
        }
        assert_eq!(Level::parse(" AVX2 "), Some(Level::Avx2));
        assert_eq!(Level::parse("sse9"), None);
    }

    #[test]
    fn a_limit_is_never_exceeded() {
        for limit in [Level::Scalar, Level::Neon, Level::Avx2, Level::Avx512] {
            assert!(Cpu::at_most(limit).level() <= limit);
        }
        assert_eq!(Cpu::at_most(Level::Scalar).level(), Level::Scalar);
    }
}
