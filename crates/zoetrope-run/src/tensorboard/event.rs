//! The protocol-buffer messages `Event` and `Summary`, as far as scalars need them.

/// `wall_time` of `Event`, a double.
const WALL_TIME: u32 = 1;
/// `step` of `Event`, an integer.
const STEP: u32 = 2;
/// `file_version` of `Event`, a text.
const FILE_VERSION: u32 = 3;
/// `summary` of `Event`, a message.
const SUMMARY: u32 = 5;
/// `value` of `Summary`, repeated messages.
const VALUE: u32 = 1;
/// `tag` of a value, a text.
const TAG: u32 = 1;
/// `simple_value` of a value, a float.
const SIMPLE_VALUE: u32 = 2;

const VARINT: u32 = 0;
const EIGHT_BYTES: u32 = 1;
const COUNTED: u32 = 2;
const FOUR_BYTES: u32 = 5;

/// The event that a file starts with.
pub(super) fn version(wall_time: f64) -> Vec<u8> {
    let mut event = timed(wall_time);
    counted(&mut event, FILE_VERSION, b"brain.Event:2");
    event
}

/// An event with values of one step.
pub(super) fn scalars<'a>(
    wall_time: f64,
    step: u64,
    values: impl IntoIterator<Item = (&'a str, f64)>,
) -> Vec<u8> {
    let mut summary = Vec::new();
    for (tag, number) in values {
        let mut value = Vec::new();
        counted(&mut value, TAG, tag.as_bytes());
        key(&mut value, SIMPLE_VALUE, FOUR_BYTES);
        value.extend((number as f32).to_le_bytes());
        counted(&mut summary, VALUE, &value);
    }
    let mut event = timed(wall_time);
    key(&mut event, STEP, VARINT);
    varint(&mut event, step);
    counted(&mut event, SUMMARY, &summary);
    event
}

fn timed(wall_time: f64) -> Vec<u8> {
    let mut event = Vec::new();
    key(&mut event, WALL_TIME, EIGHT_BYTES);
    event.extend(wall_time.to_le_bytes());
    event
}

fn counted(to: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    key(to, field, COUNTED);
    varint(to, bytes.len() as u64);
    to.extend(bytes);
}

fn key(to: &mut Vec<u8>, field: u32, wire: u32) {
    varint(to, u64::from(field << 3 | wire));
}

/// Seven bits a byte, lowest first, the eighth says that more follow.
fn varint(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}
