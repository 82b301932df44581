//! Events of which many have one time: no generator makes such, and rules for equal times act on nothing else.

use std::fmt::Write as _;

/// The name of the file.
pub(super) const FILE: &str = "ties.csv";

/// Events that share a time.
const AT_ONE_TIME: u64 = 8;

const EVENTS: u64 = 480;

/// The file: users who come back to items, with a weight and a label.
pub(super) fn text() -> String {
    let mut text = "src,dst,time,weight,label,f\n".to_owned();
    for event in 0..EVENTS {
        let drawn = mixed(event);
        let user = drawn % 24;
        // Four events in five go to one of two items of the user's own.
        let own = if drawn >> 8 & 1 == 0 { user % 10 } else { (user + 3) % 10 };
        let item = if (drawn >> 16).is_multiple_of(5) { (drawn >> 24) % 10 } else { own };
        let (time, weight) = (event / AT_ONE_TIME * 7200, 1 + (drawn >> 32) % 9);
        let label = u64::from((drawn >> 40).is_multiple_of(4));
        let _ =
            writeln!(text, "{user},{},{time},{weight},{label},0.{}", 24 + item, drawn >> 50 & 7);
    }
    text
}

/// SplitMix64 of a number.
fn mixed(number: u64) -> u64 {
    let bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
