use super::*;

/// CRC-32C bit by bit from its definition, so that a wrong table cannot agree with itself.
fn slow_crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        for bit in 0..8 {
            let mixed = (crc ^ u32::from(byte >> bit)) & 1;
            crc >>= 1;
            if mixed == 1 {
                crc ^= 0x82f6_3b78;
            }
        }
    }
    !crc
}

fn unmasked(stored: u32) -> u32 {
    stored.wrapping_sub(0xa282_ead8).rotate_left(15)
}

/// The payloads of a file of records, every checksum verified.
fn payloads(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().unwrap());
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        assert_eq!(unmasked(word(&bytes[8..])), slow_crc32c(&bytes[..8]));
        let payload = &bytes[12..12 + length];
        assert_eq!(unmasked(word(&bytes[12 + length..])), slow_crc32c(payload));
        found.push(payload.to_vec());
        bytes = &bytes[16 + length..];
    }
    found
}

/// A field of a message: its number and its bytes (for an integer, its value in 8 bytes).
fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        number
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let length = match key & 7 {
            0 => {
                found.push((key >> 3, varint(&mut bytes).to_le_bytes().to_vec()));
                continue;
            }
            1 => 8,
            2 => varint(&mut bytes) as usize,
            5 => 4,
            wire => panic!("wire type {wire}"),
        };
        found.push((key >> 3, bytes[..length].to_vec()));
        bytes = &bytes[length..];
    }
    found
}

#[test]
fn the_checksum_is_that_of_the_standard() {
    // The check value of CRC-32C, and the vectors of RFC 3720, appendix B.4.
    assert_eq!(checksum::crc32c(b"123456789"), 0xe306_9283);
    assert_eq!(checksum::crc32c(&[0; 32]), 0x8a91_36aa);
    assert_eq!(checksum::crc32c(&[0xff; 32]), 0x62a8_ab43);
    let rising: Vec<u8> = (0..32).collect();
    assert_eq!(checksum::crc32c(&rising), 0x46dd_794e);
    assert_eq!(slow_crc32c(b"123456789"), 0xe306_9283);
}

#[test]
fn an_independent_reader_finds_every_scalar() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = EventFile::create(folder.path()).unwrap();
    file.scalars(300, [("loss/train", 0.25), ("val/mse", f64::NAN)]).unwrap();
    let name = file.path().file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with("events.out.tfevents."), "{name}");
    let payloads = payloads(&std::fs::read(file.path()).unwrap());
    assert_eq!(payloads.len(), 2);
    assert_eq!(fields(&payloads[0])[1], (3, b"brain.Event:2".to_vec()));
    let event = fields(&payloads[1]);
    assert_eq!(event[1], (2, 300u64.to_le_bytes().to_vec()));
    let values: Vec<_> = fields(&event[2].1).into_iter().map(|(_, value)| fields(&value)).collect();
    assert_eq!(values[0][0], (1, b"loss/train".to_vec()));
    assert_eq!(values[0][1], (2, 0.25f32.to_le_bytes().to_vec()));
    let undefined = f32::from_le_bytes(values[1][1].1.clone().try_into().unwrap());
    assert!(undefined.is_nan());
}

#[test]
fn two_files_of_one_second_have_different_names() {
    let folder = tempfile::tempdir().unwrap();
    let first = EventFile::create(folder.path()).unwrap();
    let second = EventFile::create(folder.path()).unwrap();
    assert_ne!(first.path(), second.path());
}
