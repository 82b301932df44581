//! Changes of bytes: as bytes, and as text with numbers, words and lines.

use crate::random::Random;

/// A change never makes an input longer than this.
const MOST_BYTES: usize = 1 << 20;

/// Numbers at the edges of what programs expect.
const NUMBERS: [&str; 34] = [
    "0",
    "-0",
    "-1",
    "1",
    "2",
    "0.5",
    "-0.0",
    "127",
    "255",
    "256",
    "32768",
    "65535",
    "65536",
    "4000000",
    "2147483647",
    "2147483648",
    "-2147483649",
    "4294967295",
    "4294967296",
    "1099511627776",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e19",
    "1e38",
    "1e39",
    "1e308",
    "-1e309",
    "1e-320",
    "nan",
    "inf",
];

/// Words that mean something to one reader or another.
const WORDS: [&str; 22] = [
    "",
    "none",
    "all",
    "auto",
    "null",
    "true",
    "NaN",
    "-Infinity",
    "../../x",
    "/dev/zero",
    "-",
    "\u{1b}]0;x\u{7}",
    "\u{1b}[2J",
    "\u{0}",
    "\u{feff}",
    "\"",
    "\u{202e}x",
    "%s%n",
    "1970-01-01",
    "9999-12-31T23:59:60Z",
    "[[[[[[[[",
    "synthetic:demo",
];

/// Integers at the edges of their types.
const INTEGERS: [u64; 14] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    1 << 40,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// Changes bytes in one to four places; `donor` lends pieces.
pub(super) fn mutate(random: &mut Random, bytes: &mut Vec<u8>, donor: &[u8]) {
    let text = is_text(bytes);
    let changes = 1 + random.below(4).min(random.below(4));
    for _ in 0..changes {
        // Text is sometimes damaged as bytes, too; bytes never as text.
        if text && !random.once_in(4) {
            change_text(random, bytes);
        } else {
            change_bytes(random, bytes, donor);
        }
        bytes.truncate(MOST_BYTES);
    }
}

/// Whether most of the first bytes are printable.
fn is_text(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(512)];
    let printable = |byte: &&u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r');
    head.iter().filter(printable).count() * 20 >= head.len() * 19
}

/// A range of at most `most` bytes.
fn range(random: &mut Random, length: usize, most: usize) -> std::ops::Range<usize> {
    let start = random.below(length + 1);
    let end = start + random.below((length - start).min(most) + 1);
    start..end
}

fn change_bytes(random: &mut Random, bytes: &mut Vec<u8>, donor: &[u8]) {
    let length = bytes.len();
    match random.below(12) {
        0..=2 if length > 0 => {
            let bit = random.below(8 * length);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        3..=5 if length > 0 => {
            let width = *random.pick(&[1, 2, 4, 8]);
            let value = random.pick(&INTEGERS).to_le_bytes();
            let mut at = random.below(length);
            if random.once_in(2) {
                at -= at % width;
            }
            let end = (at + width).min(length);
            bytes[at..end].copy_from_slice(&value[..end - at]);
        }
        6 => bytes.truncate(random.below(length + 1)),
        7 => drop(bytes.drain(range(random, length, 256))),
        8 => {
            let piece = bytes[range(random, length, 1024)].to_vec();
            let times = *random.pick(&[1, 1, 2, 16, 256]);
            let at = random.below(length + 1);
            bytes.splice(at..at, piece.repeat(times));
        }
        9 => {
            let fill = *random.pick(&[0, 0xff, b'0', b'\n']);
            let place = range(random, length, 64);
            bytes[place].fill(fill);
        }
        10 => {
            let piece = donor[range(random, donor.len(), 512)].to_vec();
            let place = range(random, length, 512);
            bytes.splice(place, piece);
        }
        _ => {
            let count = 1 + random.below(16);
            let noise: Vec<u8> = (0..count).map(|_| random.next_u64() as u8).collect();
            let at = random.below(length + 1);
            bytes.splice(at..at, noise);
        }
    }
}

fn change_text(random: &mut Random, bytes: &mut Vec<u8>) {
    match random.below(16) {
        0..=5 => replace_token(random, bytes, |byte| matches!(byte, b'0'..=b'9' | b'.'), &NUMBERS),
        6..=7 => replace_token(random, bytes, |byte| byte.is_ascii_alphabetic(), &WORDS),
        8 => replace_token(random, bytes, |byte| byte.is_ascii_alphanumeric(), &NUMBERS),
        9 => {
            let at = random.below(bytes.len() + 1);
            let word = random.pick(&WORDS).bytes().collect::<Vec<_>>();
            bytes.splice(at..at, word);
        }
        10 => remove_structure(random, bytes),
        11 => {
            let open = *random.pick(&[b"[".as_slice(), b"{\"a\":", b"(", b"\"\""]);
            let at = random.below(bytes.len() + 1);
            let depth = *random.pick(&[2, 200, 20_000]);
            bytes.splice(at..at, open.repeat(depth));
        }
        kind => change_lines(random, bytes, kind),
    }
}

/// Replaces a run of bytes of one sort by something else.
fn replace_token(
    random: &mut Random,
    bytes: &mut Vec<u8>,
    is_part: impl Fn(&u8) -> bool,
    by: &[&str],
) {
    let starts: Vec<usize> = (0..bytes.len())
        .filter(|&at| is_part(&bytes[at]) && (at == 0 || !is_part(&bytes[at - 1])))
        .collect();
    if starts.is_empty() {
        return;
    }
    let start = *random.pick(&starts);
    let end = (start..bytes.len()).find(|&at| !is_part(&bytes[at])).unwrap_or(bytes.len());
    let by = random.pick(by).bytes().collect::<Vec<_>>();
    bytes.splice(start..end, by);
}

/// Removes, doubles or exchanges a character that holds a document together.
fn remove_structure(random: &mut Random, bytes: &mut Vec<u8>) {
    let is_structure = |byte: &u8| b",;:=\"'[](){}\t \n".contains(byte);
    let places: Vec<usize> = (0..bytes.len()).filter(|&at| is_structure(&bytes[at])).collect();
    if places.is_empty() {
        return;
    }
    let at = *random.pick(&places);
    match random.below(3) {
        0 => drop(bytes.remove(at)),
        1 => bytes.insert(at, bytes[at]),
        _ => bytes[at] = *random.pick(b",;:=\"'[](){}\t \n"),
    }
}

fn change_lines(random: &mut Random, bytes: &mut Vec<u8>, kind: usize) {
    let mut lines: Vec<Vec<u8>> =
        bytes.split_inclusive(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return;
    }
    let (one, other) = (random.below(lines.len()), random.below(lines.len()));
    match kind {
        12 => drop(lines.remove(one)),
        13 => {
            let times = *random.pick(&[1, 2, 500]);
            // What this program holds would count as memory of the child that it starts.
            let times = times.min(MOST_BYTES / lines[one].len().max(1));
            let copies = vec![lines[one].clone(); times];
            lines.splice(other..other, copies);
        }
        14 => lines.swap(one, other),
        _ => {
            // Few lines are where statistics, splits and windows run out.
            let keep = 1 + random.below(4);
            lines.truncate(keep);
        }
    }
    *bytes = lines.concat();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_reproduces_its_changes_and_most_of_them_change_something() {
        let honest = b"src,dst,time\n1,2,3\n4,5,6\n".to_vec();
        let once = |number| {
            let mut bytes = honest.clone();
            mutate(&mut Random::new(3, number), &mut bytes, b"{\"donor\":[1,2,3]}");
            bytes
        };
        let changed = (0..500).filter(|&number| once(number) != honest).count();
        assert!(changed > 400, "{changed}");
        assert!((0..500).all(|number| once(number) == once(number)));
    }

    #[test]
    fn nothing_at_all_can_be_changed_too() {
        for number in 0..500 {
            let mut bytes = Vec::new();
            mutate(&mut Random::new(4, number), &mut bytes, b"");
            assert!(bytes.len() <= MOST_BYTES);
        }
    }
}
