"""Delimited text: edge lists and JODIE tables."""

import gzip

from .attack import error, ok

ROWS = b"1,2,10\n2,3,20\n3,1,30\n"
# Enough honest rows that one bad row cannot pass for another meaning of its column.
THIRTY = b"".join(b"%d,%d,%d\n" % (i % 7, i % 5, 10 * i) for i in range(30))
DAYS = b"".join(b"%d,%d,2001-01-%02d 00:00:00\n" % (i % 7, i % 5, i + 1) for i in range(30))
JODIE = b"user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n"


JODIE_ROWS = JODIE + b"".join(b"%d,%d,%d.0,0,0.1,0.2\n" % (i % 7, i % 5, i) for i in range(30))


def squeezed(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


def attacks():
    return [*whole_files(), *encodings(), *identifiers(), *times(), *rows(), *jodie()]


def whole_files():
    yield error("edge-list/empty.csv", b"", "", "nothing at all")
    yield error("edge-list/one-newline.csv", b"\n", "", "one empty line")
    yield error("edge-list/only-newlines.csv", b"\n" * 5000, "", "empty lines only")
    yield error("edge-list/only-blanks.txt", b" \t  \n" * 100, "", "blanks only")
    yield error("edge-list/only-comments.txt", b"# a\n% b\n# c\n" * 10, "", "comments only")
    yield error("edge-list/only-header.csv", b"src,dst,time\n", "", "a header and no row")
    yield error("edge-list/only-commas.csv", b",,,\n" * 50, "", "fields that are all empty")
    yield error("edge-list/one-column.txt", b"1\n2\n3\n", "", "no second vertex")
    yield error("edge-list/random.csv", scrambled(4096), "", "bytes without meaning")
    yield error("edge-list/picture.csv", b"\x89PNG\r\n\x1a\n" + bytes(200), "", "a picture with a csv name")
    yield error("edge-list/program.csv", b"\x7fELF\x02\x01\x01" + bytes(300), "", "a program with a csv name")
    yield ok("edge-list/no-last-newline.csv", ROWS[:-1], "the last line has no end")


def encodings():
    yield ok("edge-list/bom.csv", b"\xef\xbb\xbfsrc,dst,time\n" + ROWS, "a byte order mark before the header")
    yield ok("edge-list/bom-no-header.csv", b"\xef\xbb\xbf" + ROWS, "a byte order mark before the first number")
    yield ok("edge-list/crlf.csv", b"src,dst,time\r\n" + ROWS.replace(b"\n", b"\r\n"), "lines end as on Windows")
    yield error("edge-list/cr-only.csv", ROWS.replace(b"\n", b"\r"), "", "lines end as on an old Macintosh")
    yield error("edge-list/utf16.csv", ROWS.decode().encode("utf-16"), "", "two bytes a character")
    yield error("edge-list/nul-bytes.csv", THIRTY + b"1\x00,2,20\n", "", "a NUL inside a number")
    yield error("edge-list/nul-line.csv", THIRTY + bytes(64) + b"\n", "", "a block of NULs, as after a crash of the machine")
    yield ok("edge-list/invalid-utf8-id.csv", b"a\xff\xfeb,c,10\nc,d,20\n", "a text identifier that is not UTF-8")
    yield error("edge-list/invalid-utf8-time.csv", THIRTY + b"1,2,\xff\xfe\n", ":31", "a time that is not UTF-8")
    yield error("edge-list/escape-sequences.csv", THIRTY + b"1,2,\x1b]0;owned\x07\x1b[2J\n", ":31", "terminal commands in a field that a message quotes")
    yield error("edge-list/unbalanced-quote.csv", b'src,dst,time\n"a,b,10\nb,c,20\n' + b"c,d,30\n" * 200, "", "a quote that never closes")
    yield ok("edge-list/quoted.csv", b'src,dst,time\n"a ""x"", y",b,10\nb,c,20\n', "quotes and a comma inside quotes")
    yield error("edge-list/text-after-quote.csv", b'src,dst,time\n' + THIRTY + b'"a"b,c,10\n', ":32", "text after a closing quote")


def identifiers():
    yield ok("edge-list/id-2-to-40.csv", b"0,1,10\n1,1099511627776,20\n", "one vertex id of 2^40: a table by id would take a tebibyte")
    yield ok("edge-list/id-i64-limits.csv", b"-9223372036854775808,9223372036854775807,10\n0,1,20\n", "the least and the greatest 64-bit id")
    yield ok("edge-list/id-beyond-64-bits.csv", b"1,123456789012345678901234567890,10\n2,3,20\n", "an id that no integer holds becomes text")
    yield ok("edge-list/id-negative.csv", b"-1,-2,10\n-2,3,20\n", "negative ids")
    yield ok("edge-list/id-float.csv", b"1.5,2,10\n2,3,20\n", "an id with a fraction is a text")
    yield error("edge-list/id-late-text.csv", b"".join(b"%d,%d,%d\n" % (i, i + 1, i) for i in range(3000)) + b"x,1,3000\n", ":3001", "integer ids for 3,000 rows, then a text")
    yield ok("edge-list/id-long.csv.gz", squeezed(b"a,b,1\n" + b"q" * (1 << 20) + b",b,2\n"), "an id of a mebibyte")
    yield error("edge-list/id-empty.csv", b"src,dst,time\n1,2,10\n,2,20\n", ":3", "a row without a source")
    yield ok("edge-list/id-same.csv", b"1,1,1\n1,1,1\n1,1,1\n", "one vertex, three self-loops at one time")


def times():
    yield error("edge-list/time-nan.csv", THIRTY + b"1,2,nan\n", ":31", "a time that is not a number")
    yield error("edge-list/time-infinite.csv", THIRTY + b"1,2,inf\n", ":31", "an infinite time")
    yield error("edge-list/time-1e300.csv", THIRTY + b"1,2,1e300\n", ":31", "a time that no 64-bit integer holds")
    yield error("edge-list/time-beyond-64-bits.csv", THIRTY + b"1,2,99999999999999999999999\n", ":31", "a time of 77 bits")
    yield ok("edge-list/time-i64-limits.csv", b"1,2,-9223372036854775808\n1,2,9223372036854775807\n", "a range of time that no 64-bit integer holds")
    yield ok("edge-list/time-unordered.csv", b"1,2,30\n2,3,10\n3,1,20\n", "rows out of time order")
    yield ok("edge-list/time-negative.csv", b"1,2,-30\n2,3,-10\n", "times before the origin")
    yield ok("edge-list/time-year-9999.csv", b"1,2,9999-12-31 23:59:59\n2,3,2001-01-01 00:00:00\n", "the last second of the last year")
    yield ok("edge-list/time-all-words.csv", b"1,2,late\n2,3,early\n", "a third column of words is no time: positions are")
    yield error("edge-list/time-year-10000.csv", DAYS + b"2,3,10000-01-01 00:00:00\n", ":31", "a year of five digits")
    yield error("edge-list/time-year-before-0.csv", DAYS + b"2,3,-001-01-01 00:00:00\n", ":31", "a year before the first")
    yield error("edge-list/time-february-30.csv", DAYS + b"2,3,2001-02-30\n", ":31", "a day that does not exist")
    yield error("edge-list/time-hour-25.csv", DAYS + b"2,3,2001-02-03 25:00:00\n", ":31", "an hour that does not exist")
    yield error("edge-list/time-becomes-date.csv", THIRTY + b"2,3,2001-01-01\n", ":31", "numbers first, then a date")


def rows():
    yield error("edge-list/ragged.csv", b"src,dst,time\n" + THIRTY + b"1,2\n1,2,20,1,5,6\n", ":33", "rows of different lengths")
    yield error("edge-list/mixed-separators.csv", THIRTY + b"1\t2\t20\n1 2 30\n", ":31", "three separators in one file")
    yield error("edge-list/million-columns.csv.gz", squeezed(b"1," * 1_000_000 + b"1\n"), "", "a million columns")
    yield error("edge-list/million-names.csv.gz", squeezed(b",".join([b"name"] * 1_000_000) + b"\n1,2,3\n"), "", "a header of a million names")
    yield error("edge-list/ten-thousand-bad-rows.csv.gz", squeezed(THIRTY * 400 + b"1,2,x\n" * 10_000), "more", "ten thousand errors: some are shown, all are counted")
    yield error("edge-list/weight-text.csv", b"src,dst,time,weight\n" + b"1,2,10,1.5\n" * 20 + b"1,2,20,heavy\n", ":22", "a weight that is a word")
    yield ok("edge-list/weight-nan.csv", b"src,dst,time,f\n1,2,10,nan\n1,2,20,1\n", "a feature that is not a number is counted as missing")
    yield error("edge-list/one-line-no-end.csv.gz", squeezed(b"1" * (7 << 20)), "", "one number of seven million digits")
    yield error("edge-list/million-quotes.csv.gz", squeezed(b'src,dst,time\n"' + b'""' * 1_000_000), "", "a million escaped quotes in one field that never closes")
    yield error("edge-list/header-repeats.csv", b"src,dst,time\n" + THIRTY + b"src,dst,time\n" + THIRTY, ":32", "files glued together, headers and all")


def jodie():
    yield error("jodie/only-header.csv", JODIE, "", "a header and no event")
    yield error("jodie/two-rows-one-short.csv", JODIE + b"0,0,0.0,0,0.1,0.2\n0,1\n", "", "two rows, of which one stops early")
    yield error("jodie/two-columns.csv", JODIE + b"0,0\n0,1\n", "", "rows that stop before the time")
    yield error("jodie/short-row.csv", JODIE_ROWS + b"0,1\n", ":32", "a row that stops early")
    yield error("jodie/word-feature.csv", JODIE_ROWS + b"0,1,5.0,0,many,0.2\n", ":32", "a feature that is a word")
    yield error("jodie/fewer-features.csv", JODIE_ROWS + b"0,1,5.0,0,0.1\n", ":32", "a row with fewer features than the first")
    yield error("jodie/more-features.csv", JODIE_ROWS + b"0,1,5.0,0,0.1,0.2,0.3\n", ":32", "a row with more features than the first")
    yield error("jodie/label-word.csv", JODIE_ROWS + b"0,1,5.0,banned,0.1,0.2\n", ":32", "a label that is a word")
    yield error("jodie/time-nan.csv", JODIE_ROWS + b"0,1,nan,0,0.1,0.2\n", ":32", "a time that is not a number")
    yield ok("jodie/item-2-to-40.csv", JODIE + b"0,0,0.0,0,0.1\n0,1099511627776,5.0,0,0.1\n", "one item id of 2^40")
    yield error("jodie/million-features.csv.gz", squeezed(JODIE + b"0,0,0.0,0" + b",0" * 1_000_000 + b"\n"), "", "a million features in one row")


def scrambled(count: int) -> bytes:
    """Bytes of a linear congruential generator: the same on every machine."""
    state, out = 12345, bytearray()
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        out.append(state >> 56)
    return bytes(out)
