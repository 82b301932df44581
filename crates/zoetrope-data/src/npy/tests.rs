use proptest::prelude::*;

use super::*;

fn array(dictionary: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(dictionary.len() as u16).to_le_bytes());
    bytes.extend_from_slice(dictionary.as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

fn open(bytes: &[u8]) -> Result<NpyReader<&[u8]>, DataError> {
    NpyReader::new(bytes, Location::file("a.npy"))
}

fn message<T>(result: Result<T, DataError>) -> String {
    match result {
        Ok(_) => panic!("a bad array was accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_element_type_is_read_in_both_byte_orders() {
    let cases: [(&str, &[u8], f32); 14] = [
        ("|b1", &[1], 1.0),
        ("|i1", &[0xfe], -2.0),
        ("|u1", &[0xfe], 254.0),
        ("<i2", &[0xfe, 0xff], -2.0),
        (">i2", &[0xff, 0xfe], -2.0),
        ("<u2", &[1, 2], 513.0),
        (">u4", &[0, 0, 1, 2], 258.0),
        ("<i4", &[0xff, 0xff, 0xff, 0xff], -1.0),
        (">i8", &[0, 0, 0, 0, 0, 0, 0, 7], 7.0),
        ("<u8", &[7, 0, 0, 0, 0, 0, 0, 0], 7.0),
        ("<f4", &[0, 0, 0xc0, 0x3f], 1.5),
        (">f4", &[0x3f, 0xc0, 0, 0], 1.5),
        ("<f8", &[0, 0, 0, 0, 0, 0, 0xf8, 0x3f], 1.5),
        (">f8", &[0x3f, 0xf8, 0, 0, 0, 0, 0, 0], 1.5),
    ];
    for (descr, data, expected) in cases {
        let dictionary =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1,), }}\n");
        let values = open(&array(&dictionary, data)).unwrap().read_f32().unwrap();
        assert_eq!(values, [expected], "{descr}");
    }
}

#[test]
fn fortran_order_becomes_c_order() {
    let dictionary = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2), }";
    let data: Vec<u8> = (0..12).collect();
    let values = open(&array(dictionary, &data)).unwrap().read_u32().unwrap();
    // numpy.arange(12).reshape((2, 3, 2), order="F").ravel()
    assert_eq!(values, [0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11]);
}

#[test]
fn objects_records_and_strings_are_refused_by_name() {
    let refused = |descr: &str| {
        let dictionary = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}");
        message(open(&array(&dictionary, &[0; 16])))
    };
    assert!(refused("'|O'").contains("Python objects"));
    assert!(refused("[('a', '<f4')]").contains("records"));
    assert!(refused("'<U8'").contains("`<U8`"));
    assert!(refused("'<f2'").contains("`<f2`"));
}

#[test]
fn lying_headers_are_refused_without_allocating() {
    let shape =
        |shape: &str| format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    let huge = array(&shape("(1000000000000,)"), &[0; 24]);
    assert!(message(open(&huge).unwrap().read_f32()).contains("found 3 elements"));
    let overflow = array(&shape("(4294967296, 4294967296, 4294967296)"), &[]);
    assert!(message(open(&overflow)).contains("below 2^62"));
    let hidden = array(&shape("(0, 18446744073709551615, 4)"), &[]);
    assert!(message(open(&hidden)).contains("below 2^62"));
    let digits = array(&shape("(99999999999999999999,)"), &[]);
    assert!(message(open(&digits)).contains("below 2^64"));
    let negative = array(&shape("(-1,)"), &[]);
    assert!(message(open(&negative)).contains("at least 0"));
    let long = b"\x93NUMPY\x02\x00\xff\xff\xff\xff";
    assert!(message(open(long)).contains("passes the limit of 65536"));
    let trailing = array(&shape("(1,)"), &[0; 9]);
    assert!(message(open(&trailing).unwrap().read_f32()).contains("more bytes"));
}

#[test]
fn a_header_is_exactly_three_entries() {
    let bad = [
        "",
        "{",
        "{'descr'",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} + 1",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 'y'}",
        "__import__('os')",
    ];
    for dictionary in bad {
        assert!(matches!(open(&array(dictionary, &[])), Err(DataError::Invalid { .. })));
    }
}

#[test]
fn identifiers_outside_32_bits_are_named_with_their_byte() {
    let dictionary = "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }";
    let mut data = 7i64.to_le_bytes().to_vec();
    data.extend_from_slice(&(1i64 << 40).to_le_bytes());
    let text = message(open(&array(dictionary, &data)).unwrap().read_u32());
    assert!(text.contains("byte 75") && text.contains("1099511627776"), "{text}");
    let floats = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }";
    assert!(message(open(&array(floats, &data)).unwrap().read_u32()).contains("integers"));
}

#[test]
fn doubles_beyond_32_bits_are_refused_but_infinities_kept() {
    let dictionary = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }";
    let values = array(dictionary, &f64::INFINITY.to_le_bytes());
    assert_eq!(open(&values).unwrap().read_f32().unwrap(), [f32::INFINITY]);
    let values = array(dictionary, &1e300f64.to_le_bytes());
    assert!(message(open(&values).unwrap().read_f32()).contains("32-bit float"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read_back(
        rows in 0usize..9,
        values in proptest::collection::vec(any::<f32>(), 0..9),
    ) {
        let width = values.len();
        let all: Vec<f32> = std::iter::repeat_n(values, rows).flatten().collect();
        let mut bytes = Vec::new();
        write_npy(&mut bytes, &[rows, width], &all).unwrap();
        let array = open(&bytes).unwrap();
        prop_assert_eq!(array.shape(), &[rows as u64, width as u64]);
        let read = array.read_f32().unwrap();
        let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&read), bits(&all));
    }

    #[test]
    fn any_bytes_are_decided_without_a_panic(
        dictionary in "[{}()\\[\\]'\":, a-zA-Z0-9<>|-]{0,60}",
        data in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        if let Ok(array) = open(&array(&dictionary, &data)) {
            let _ = array.read_i64();
        }
        if let Ok(array) = open(&data) {
            let _ = array.read_f32();
        }
    }
}
