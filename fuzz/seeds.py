#!/usr/bin/env python3
"""Fills fuzz/corpus/TARGET/ with first inputs: the attack corpus and a few honest files.

Standard library only. Inputs that fuzzing found stay; only missing files are added.
"""

import gzip
import hashlib
import json
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
FILES = HERE.parent / "attacks" / "files"
sys.path.insert(0, str(HERE.parent / "attacks"))

from makers import arrays
NEXT_FILE = b"\n--next file--\n"
# Longer inputs slow a fuzzer down more than they teach it.
LONGEST = 64 << 10

# Target -> folders of the attack corpus whose files are inputs as they are.
SINGLE = {
    "edge_list": ["edge-list", "compression"],
    "jodie": ["jodie"],
    "parquet": ["parquet"],
    "npz": ["npz"],
    "pygt_json": ["pygt-json"],
    "snapshot_tar": ["snapshot-folder"],
    "store": ["store"],
    "any": ["edge-list", "jodie", "parquet", "npz", "pygt-json", "store", "compression"],
}

# Target -> folder of the attack corpus whose subfolders are inputs, and the files in their order.
JOINED = {
    "ml_triple": ("ml-triple", ["ml_x.csv", "ml_x.npy", "ml_x_node.npy"]),
    "tgl": ("tgl", ["edges.csv", "edge_features.npy", "node_features.npy", "labels.csv"]),
    "snapshot_folder": ("snapshot-folder", ["day1.txt", "day2.txt", "day3.txt"]),
    "traffic": ("traffic", ["x_adj.csv", "x_speed.csv"]),
}

HONEST = {
    "edge_list": [
        b"src,dst,time,weight,kind\na,b,2004-01-01T00:00:00Z,1.5,add\nb,a,2004-01-02T00:00:00Z,2,remove\n",
        b"# comment\n1 2 1082040961\n3 4 1082155839\n",
        b'"2004-03-23 00:00:00" 1 2 40\n"2004-03-24 10:00:01" 2 3 7\n',
        b"% asym signed\n1 2 -1 979081200\n2 3 1 979081201\n",
    ],
    "jodie": [
        b"user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n0,0,0.0,0,0.1,0.2\n1,0,6.5,1,0.3,0.4\n",
        b"u,i,ts,label\n0,5,0.0,0\n1,6,7.0,1\n",
    ],
    "pygt_json": [
        b'{"edges":[[0,1],[1,0]],"weights":[1,2],"X":[[1,2],[3,4],[5,6],[7,8],[9,1]]}',
        b'{"time_periods":2,"edge_mapping":{"edge_index":{"0":[[0,1]],"1":[[1,0]]},"edge_weight":{"0":[1],"1":[2]}},"y":[[1,2],[3,4]]}',
        b'{"0":{"edges":[[0,1]],"weights":[1],"X":[[1,2],[3,4]],"y":[1,2]},"time_periods":1,"node_ids":{"a":0,"b":1}}',
        b'{"nodes":[{"id":7,"X":{"y":[1,2,3,4,5]},"y":[1,2,3,4,5]},{"id":9,"X":{"y":[1,2,3,4,5]},"y":[1,2,3,4,5]}],"links":[{"source":7,"target":9,"weight":2}]}',
    ],
    "synthetic_name": [
        b"demo", b"uniform?vertices=100&steps=5&density=0.1", b"power-law?seed=7", b"bipartite?events=1000",
        b"sbm?communities=3", b"aml", b"dgc",
    ],
}


def negatives(strategy: str, sources: bool) -> bytes:
    """A list of fixed negatives: two events for validation, one for test, two negatives each."""
    metadata = json.dumps({
        "schema": 1, "strategy": strategy, "per_event": 2, "seed": 1, "avoid_positives": True,
        "vertices": 4, "validation_events": 2, "test_events": 1, "fallback": 0, "missing": 0,
        "events_sha256": "00" * 32,
    }).encode()
    matrix = arrays.npy("<u4", "(3, 2)", struct.pack("<6I", 0, 1, 2, 3, 0, 1))
    members = [
        ("src.npy", arrays.u32(0, 1, 2)), ("dst.npy", arrays.u32(1, 2, 3)),
        ("time.npy", arrays.npy("<i8", "(3,)", struct.pack("<3q", 5, 6, 7))), ("negatives.npy", matrix),
    ]
    if sources:
        members.append(("negative_sources.npy", matrix))
    members.append(("metadata.npy", arrays.npy("|u1", f"({len(metadata)},)", metadata)))
    return arrays.zipped(members)


def main():
    count = sum(add("negatives", negatives(*kind)) for kind in [("random", False), ("historical", True)])
    for target, folders in SINGLE.items():
        for folder in folders:
            for path in sorted((FILES / folder).glob("*")):
                count += path.is_file() and add(target, path.read_bytes())
    for target, (folder, names) in JOINED.items():
        for inner in sorted(path for path in (FILES / folder).glob("*") if path.is_dir()):
            parts = [inner / name for name in names]
            contents = [part.read_bytes() if part.exists() else b"" for part in parts]
            while len(contents) > 1 and not contents[-1]:
                contents.pop()
            count += add(target, NEXT_FILE.join(contents))
    for target, inputs in HONEST.items():
        for content in inputs:
            count += add(target, content)
    print(f"{count} inputs added")


def unpacks_to_much(content: bytes) -> bool:
    """Bombs: each run of one takes seconds under a sanitizer, and a mutation of one is noise."""
    try:
        return len(gzip.decompress(content)) > 1 << 20
    except (OSError, EOFError, ValueError, gzip.zlib.error):
        return False


def add(target: str, content: bytes) -> bool:
    if len(content) > LONGEST or unpacks_to_much(content):
        return False
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed-{hashlib.sha1(content).hexdigest()[:16]}"
    if path.exists():
        return False
    path.write_bytes(content)
    return True


if __name__ == "__main__":
    main()
