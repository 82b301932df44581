//! Named fault points of a run; without the feature `faults`, which no user's build has, nothing.
//!
//! What can happen at one is described in `zoetrope_dist::fault_point`.

use std::borrow::Cow;
use std::io;

/// Passes a point at which the process may end or hang, or an operation fail.
///
/// # Errors
/// If it is asked to fail.
#[cfg(feature = "faults")]
pub fn point(name: &str) -> io::Result<()> {
    use zoetrope_dist::fault_point::{Mishap, pass};
    match pass(name) {
        Some(Mishap::Fails(error)) => Err(error),
        _ => Ok(()),
    }
}

/// Passes a point at which bytes are written: what is written of them, and whether it ends well.
///
/// # Errors
/// If it is asked to fail.
#[cfg(feature = "faults")]
pub fn writing<'a>(name: &str, bytes: &'a [u8]) -> io::Result<(Cow<'a, [u8]>, bool)> {
    use zoetrope_dist::fault_point::{Mishap, pass};
    match pass(name) {
        Some(Mishap::Fails(error)) => Err(error),
        Some(Mishap::ShortWrite) => Ok((Cow::Borrowed(&bytes[..bytes.len() / 2]), false)),
        Some(Mishap::BitFlip) => {
            let mut changed = bytes.to_vec();
            if let Some(byte) = changed.get_mut(bytes.len() / 2) {
                *byte ^= 1;
            }
            Ok((Cow::Owned(changed), true))
        }
        None => Ok((Cow::Borrowed(bytes), true)),
    }
}

/// Passes a point at which nothing happens.
///
/// # Errors
/// None.
#[cfg(not(feature = "faults"))]
#[inline]
pub fn point(_: &str) -> io::Result<()> {
    Ok(())
}

/// Passes a point at which bytes are written as they are.
///
/// # Errors
/// None.
#[cfg(not(feature = "faults"))]
#[inline]
pub fn writing<'a>(_: &str, bytes: &'a [u8]) -> io::Result<(Cow<'a, [u8]>, bool)> {
    Ok((Cow::Borrowed(bytes), true))
}
