#!/usr/bin/env python3
"""Makes the attack corpus: small files that try to crash, hang or bloat a reader.

    python3 attacks/make.py          write attacks/files/ and attacks/EXPECTED.tsv
    python3 attacks/make.py --check  say which committed files differ from what would be written

Standard library only. The same bytes come out on every machine with the same zlib and liblzma;
what counts is the committed files, and `--check` is for whoever changes this script.

EXPECTED.tsv has one line an attack: the path under attacks/files/ (or a `synthetic:` name), `ok` or
`error`, a text that the message must contain, extra arguments, and why the file is there.
"""

import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from makers import archives, arrays, compression, folders, json_files, parquet_files, stores, tables

FILES = HERE / "files"


def main() -> int:
    attacks = []
    for maker in (tables, compression, json_files, arrays, archives, folders, parquet_files, stores):
        attacks.extend(maker.attacks())
    names = [attack.path for attack in attacks]
    assert len(set(names)) == len(names), "two attacks have one name"
    if "--check" in sys.argv[1:]:
        return check(attacks)
    shutil.rmtree(FILES, ignore_errors=True)
    for attack in attacks:
        for name, content in attack.files.items():
            path = FILES / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    (HERE / "EXPECTED.tsv").write_text(expected(attacks))
    total = sum(len(content) for attack in attacks for content in attack.files.values())
    print(f"{len(attacks)} attacks, {total} bytes")
    return 0


def check(attacks) -> int:
    wanted = {name: content for attack in attacks for name, content in attack.files.items()}
    found = {str(p.relative_to(FILES)): p.read_bytes() for p in FILES.rglob("*") if p.is_file()}
    differing = [n for n in sorted(wanted | found) if wanted.get(n) != found.get(n)]
    if (HERE / "EXPECTED.tsv").read_text() != expected(attacks):
        differing.append("EXPECTED.tsv")
    for name in differing:
        print(f"differs: {name}")
    return 1 if differing else 0


def expected(attacks) -> str:
    lines = ["path\toutcome\tmessage\targuments\twhy"]
    for a in attacks:
        lines.append("\t".join([a.path, a.outcome, a.message, a.arguments, a.why]))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
