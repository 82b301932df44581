//! Changes beneath checksums and compression: a file is taken apart, changed inside, and made whole
//! again, so that the checks behind the first one are reached.

use std::io::{Cursor, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::mutate::mutate;
use crate::random::Random;

/// Changes what a file holds and seals it again; false if this kind of file has no seal, or it could
/// not be opened.
pub(super) fn mutate_inside(
    random: &mut Random,
    path: &Path,
    bytes: &mut Vec<u8>,
    donor: &[u8],
) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let changed = match extension.as_ref() {
        "npz" => archive(random, bytes, donor),
        "npy" => array(random, bytes, donor),
        "gz" => gzip(random, bytes, donor),
        "zst" => zstandard(random, bytes, donor),
        "safetensors" => header_and_data(random, bytes, donor),
        "zoe" => store(random, bytes, donor),
        _ => None,
    };
    changed.map(|changed| *bytes = changed).is_some()
}

/// One member of a zip archive.
fn archive(random: &mut Random, bytes: &[u8], donor: &[u8]) -> Option<Vec<u8>> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let chosen = random.below(archive.len());
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for index in 0..archive.len() {
        let member = archive.by_index(index).ok()?;
        let name = member.name().ok()?.into_owned();
        let mut content = Vec::new();
        // Members that unpack to gigabytes are in the corpus already, and would count as the child's memory.
        member.take(1 << 20).read_to_end(&mut content).ok()?;
        if index == chosen {
            match array(random, &content, donor) {
                Some(changed) => content = changed,
                None => mutate(random, &mut content, donor),
            }
        }
        let method = *random.pick(&[CompressionMethod::Stored, CompressionMethod::Deflated]);
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(name, options).ok()?;
        writer.write_all(&content).ok()?;
    }
    Some(writer.finish().ok()?.into_inner())
}

/// The text or the values of a NumPy array.
fn array(random: &mut Random, bytes: &[u8], donor: &[u8]) -> Option<Vec<u8>> {
    let length = u16::from_le_bytes(bytes.get(8..10)?.try_into().ok()?) as usize;
    let (mut header, mut values) =
        (bytes.get(10..10 + length)?.to_vec(), bytes[10 + length..].to_vec());
    let part = if random.once_in(2) { &mut header } else { &mut values };
    mutate(random, part, donor);
    let length = u16::try_from(header.len()).ok()?;
    Some([&bytes[..8], &length.to_le_bytes(), &header, &values].concat())
}

fn gzip(random: &mut Random, bytes: &[u8], donor: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    flate2::read::GzDecoder::new(bytes).take(1 << 20).read_to_end(&mut content).ok()?;
    mutate(random, &mut content, donor);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&content).ok()?;
    encoder.finish().ok()
}

fn zstandard(random: &mut Random, bytes: &[u8], donor: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    let mut decoder = zstd::stream::read::Decoder::new(bytes).ok()?;
    // A file of the corpus asks for 2 GiB, and what this process holds counts for its children.
    decoder.window_log_max(20).ok()?;
    decoder.take(1 << 20).read_to_end(&mut content).ok()?;
    mutate(random, &mut content, donor);
    zstd::stream::encode_all(content.as_slice(), 1).ok()
}

/// The JSON header of a safetensors file, whose length stands before it.
fn header_and_data(random: &mut Random, bytes: &[u8], donor: &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?)).ok()?;
    let mut header = bytes.get(8..length.checked_add(8)?)?.to_vec();
    mutate(random, &mut header, donor);
    Some([&(header.len() as u64).to_le_bytes(), &header[..], &bytes[8 + length..]].concat())
}

/// Any byte of a store, with the checksums of its sections, its table and its header made right.
fn store(random: &mut Random, bytes: &[u8], donor: &[u8]) -> Option<Vec<u8>> {
    let mut changed = bytes.to_vec();
    // Before byte 56 and after byte 64: the checksum between them is computed.
    mutate(random, &mut changed, donor);
    let word =
        |bytes: &[u8], at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    if random.once_in(2) {
        let length = changed.len() as u64;
        changed.get_mut(16..24)?.copy_from_slice(&length.to_le_bytes());
    }
    let count = u32::from_le_bytes(changed.get(12..16)?.try_into().ok()?) as usize;
    let table_end = 64 + 64 * count.min(32);
    for entry in (64..table_end).step_by(64) {
        let offset = usize::try_from(word(&changed, entry + 40)?).ok()?;
        let size = usize::try_from(word(&changed, entry + 48)?).ok()?;
        if let Some(section) = offset.checked_add(size).and_then(|end| changed.get(offset..end)) {
            let check = xxh3_64(&xxh3_64(section).to_le_bytes());
            changed.get_mut(entry + 56..entry + 64)?.copy_from_slice(&check.to_le_bytes());
        }
    }
    let sealed = [changed.get(..56)?, changed.get(64..table_end)?].concat();
    changed[56..64].copy_from_slice(&xxh3_64(&sealed).to_le_bytes());
    Some(changed)
}

/// Makes the manifest of a checkpoint's folder agree with the files that lie there. The hash of the
/// state stays what it was.
pub(super) fn seal_manifest(folder: &Path) -> Option<()> {
    let path = folder.join("MANIFEST");
    let text = std::fs::read_to_string(&path).ok()?;
    let mut manifest: serde_json::Value = serde_json::from_str(text.lines().next()?).ok()?;
    for part in manifest.get_mut("files")?.as_array_mut()? {
        let content = std::fs::read(folder.join(part.get("name")?.as_str()?)).ok()?;
        part["bytes"] = content.len().into();
        part["sha256"] = hex(&content).into();
    }
    let line = manifest.to_string();
    std::fs::write(path, format!("{line}\n{}\n", hex(line.as_bytes()))).ok()
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array_of(values: &[u8]) -> Vec<u8> {
        let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }\n";
        let length = (header.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), values].concat()
    }

    #[test]
    fn a_changed_archive_is_still_an_archive() {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.start_file("a.npy", SimpleFileOptions::default()).unwrap();
        writer.write_all(&array_of(&[1, 2, 3, 4])).unwrap();
        let honest = writer.finish().unwrap().into_inner();
        for number in 0..50 {
            let mut bytes = honest.clone();
            let mut random = Random::new(1, number);
            assert!(mutate_inside(&mut random, Path::new("x.npz"), &mut bytes, b"donor"));
            let mut archive = ZipArchive::new(Cursor::new(&bytes)).unwrap();
            let mut content = Vec::new();
            archive.by_index(0).unwrap().read_to_end(&mut content).unwrap();
        }
    }

    #[test]
    fn a_changed_gzip_still_unpacks() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"src,dst,time\n1,2,3\n").unwrap();
        let honest = encoder.finish().unwrap();
        for number in 0..50 {
            let mut bytes = honest.clone();
            let mut random = Random::new(1, number);
            assert!(mutate_inside(&mut random, Path::new("x.csv.gz"), &mut bytes, b"donor"));
            let mut content = Vec::new();
            flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut content).unwrap();
        }
    }

    #[test]
    fn files_without_a_seal_are_left_alone() {
        let mut bytes = b"1,2,3".to_vec();
        let mut random = Random::new(1, 1);
        assert!(!mutate_inside(&mut random, Path::new("x.csv"), &mut bytes, b""));
        assert_eq!(bytes, b"1,2,3");
    }
}
