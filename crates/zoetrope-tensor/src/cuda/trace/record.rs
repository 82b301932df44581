//! The beginnings of CUPTI's records, which are the same in every version since CUPTI 11: newer ones
//! (`CUpti_ActivityKernel9` to 13, `Memcpy5` to 7, `Memset4` and 5) add fields at the end only.

use std::ffi::{CStr, c_char};
use std::mem::offset_of;

/// The kind of records about copies.
pub(super) const COPY: u32 = 1;
/// The kind of records about fills.
pub(super) const FILL: u32 = 2;
/// The kind of records about kernels that does not make them wait for each other.
pub(super) const KERNEL: u32 = 10;

/// The kinds that a trace asks for.
pub(super) const KINDS: [u32; 3] = [KERNEL, COPY, FILL];

/// How every record begins.
#[repr(C)]
pub(super) struct Head {
    kind: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct KernelRecord {
    kind: u32,
    caches_and_registers: u32,
    global_caches: [u32; 2],
    start: u64,
    end: u64,
    completed: u64,
    device: u32,
    context: u32,
    stream: u32,
    grid_and_block: [i32; 6],
    memory: [i32; 4],
    correlation: u32,
    grid: i64,
    name: *const c_char,
}

/// A copy or a fill: both have their times and their stream at the same places.
#[repr(C)]
#[derive(Clone, Copy)]
struct TransferRecord {
    kind: u32,
    /// From where to where, of a copy.
    way: u8,
    rest: [u8; 3],
    bytes: u64,
    start: u64,
    end: u64,
    device: u32,
    context: u32,
    stream: u32,
}

// As a compiler lays out the structs of `cupti_activity.h` of CUPTI 12.9 and 13.4.
const _: () = {
    assert!(offset_of!(KernelRecord, start) == 16 && offset_of!(KernelRecord, end) == 24);
    assert!(offset_of!(KernelRecord, stream) == 48 && offset_of!(KernelRecord, name) == 104);
    assert!(offset_of!(TransferRecord, way) == 4 && offset_of!(TransferRecord, start) == 16);
    assert!(offset_of!(TransferRecord, end) == 24 && offset_of!(TransferRecord, stream) == 40);
};

/// What a trace needs of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Read<'a> {
    pub(super) name: &'a [u8],
    /// The stream, of copies and fills: kernels all belong to the one that computes, whatever number a
    /// recording shows them under.
    pub(super) stream: Option<u32>,
    /// Nanoseconds on CUPTI's clock.
    pub(super) start: u64,
    pub(super) end: u64,
}

/// Reads a record; None if it is of another kind or not complete.
///
/// # Safety
/// The record came out of a buffer that CUPTI filled and that nobody changes for as long as `'a`.
pub(super) unsafe fn read<'a>(record: *const Head) -> Option<Read<'a>> {
    // SAFETY: every record begins with its kind.
    let kind = unsafe { (*record).kind };
    let read = match kind {
        KERNEL => {
            // SAFETY: a record of this kind begins so.
            let record = unsafe { record.cast::<KernelRecord>().read_unaligned() };
            let name: &[u8] = if record.name.is_null() {
                b"kernel"
            } else {
                // SAFETY: a name ends with 0 and lives at least as long as its module, which is
                // loaded for ever.
                unsafe { CStr::from_ptr(record.name) }.to_bytes()
            };
            Read { name, stream: None, start: record.start, end: record.end }
        }
        COPY | FILL => {
            // SAFETY: records of these kinds begin so.
            let record = unsafe { record.cast::<TransferRecord>().read_unaligned() };
            let name: &[u8] = match (kind, record.way) {
                (FILL, _) => b"zero",
                (_, 1) => b"copy up",
                (_, 2) => b"copy down",
                _ => b"copy",
            };
            Read { name, stream: Some(record.stream), start: record.start, end: record.end }
        }
        _ => return None,
    };
    // A time that is not known is 0.
    (read.start != 0 && read.end >= read.start).then_some(read)
}

/// The most characters of a kernel's name.
const LONGEST: usize = 64;

/// A kernel's name for people: C names as they are, of mangled C++ names the path and the first
/// argument of a template that has a name; NVIDIA's libraries have names of some hundred characters.
pub(super) fn short(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let mut found = demangled(&text).unwrap_or_else(|| text.into_owned());
    if let Some((end, _)) = found.char_indices().nth(LONGEST) {
        found.truncate(end);
        found.push('…');
    }
    found
}

fn demangled(text: &str) -> Option<String> {
    let rest = text.strip_prefix("_Z")?;
    let mut rest = rest.strip_prefix('N').unwrap_or(rest);
    let mut path = Vec::new();
    while let Some((part, behind)) = counted(rest) {
        path.push(part);
        rest = behind;
    }
    let argument = rest.strip_prefix('I').and_then(counted);
    let path = Some(path.join("::")).filter(|path| !path.is_empty())?;
    Some(match argument {
        Some((argument, _)) => format!("{path}<{argument}>"),
        None => path,
    })
}

/// A word behind its length, and what comes after it.
fn counted(text: &str) -> Option<(&str, &str)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let length = text[..digits].parse().ok()?;
    text[digits..].split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kernels_are_short() {
        for (name, wanted) in [
            ("gru_forward_fused", "gru_forward_fused"),
            ("_Z13gemv2T_kernelIiiffEvT_", "gemv2T_kernel"),
            ("_ZN8cublasLt19splitKreduce_kernelILi32ELi16EEEv", "cublasLt::splitKreduce_kernel"),
            (
                "_ZN7cutlass7Kernel2I21cutlass_80_simt_sgemmEEvN",
                "cutlass::Kernel2<cutlass_80_simt_sgemm>",
            ),
            ("_Z99999short", "_Z99999short"),
            ("_Z", "_Z"),
        ] {
            assert_eq!(short(name.as_bytes()), wanted);
        }
        let long = short("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_".repeat(5).as_bytes());
        assert_eq!(long.chars().count(), LONGEST + 1);
    }

    #[test]
    fn records_without_times_are_left_out() {
        let record = |start, end| TransferRecord {
            kind: COPY,
            way: 1,
            rest: [0; 3],
            bytes: 4,
            start,
            end,
            device: 0,
            context: 0,
            stream: 7,
        };
        let read = |record: &TransferRecord| {
            // SAFETY: a whole record, laid out as CUPTI does, that lives until the end of the call.
            unsafe { read(std::ptr::from_ref(record).cast()) }
        };
        assert_eq!(read(&record(0, 0)), None);
        assert_eq!(read(&record(5, 0)), None);
        let found = read(&record(5, 9)).unwrap();
        assert_eq!(found, Read { name: b"copy up", stream: Some(7), start: 5, end: 9 });
    }
}
