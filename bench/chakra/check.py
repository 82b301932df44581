"""Reads Chakra execution traces by their schema and counts what is in them.

    zoetrope sim job.toml --machine esdg --ranks 16 --chakra traces --json > sim.json
    pip install protobuf grpcio-tools
    python bench/chakra/check.py et_def.proto traces sim.json

`et_def.proto` is `schema/protobuf/et_def.proto` of mlcommons/chakra. Fails unless every byte of every trace is read, every
dependency is an earlier node, and the simulation counted as many tasks of each kind as the traces have.
"""

import collections
import importlib
import json
import pathlib
import sys
import tempfile

from google.protobuf.internal.decoder import _DecodeVarint32
from grpc_tools import protoc


def schema(path):
    folder = tempfile.mkdtemp()
    path = pathlib.Path(path).resolve()
    wrong = protoc.main(["protoc", f"-I{path.parent}", f"--python_out={folder}", str(path)])
    assert wrong == 0, "the schema does not compile"
    sys.path.insert(0, folder)
    return importlib.import_module(path.stem + "_pb2")


def messages(data):
    at = 0
    while at < len(data):
        length, at = _DecodeVarint32(data, at)
        yield data[at : at + length]
        at += length
    assert at == len(data), "the last message is whole"


def main(proto, folder, simulation):
    definition = schema(proto)
    epoch = json.load(open(simulation))["epoch"]
    counts, sizes = collections.Counter(), collections.Counter()
    for rank in range(epoch["ranks"]):
        first, *rest = messages((pathlib.Path(folder) / f"zoetrope.{rank}.et").read_bytes())
        head = definition.GlobalMetadata.FromString(first)
        assert head.version == "0.0.4"
        for number, data in enumerate(rest):
            node = definition.Node.FromString(data)
            assert node.id == number
            assert all(earlier < number for earlier in [*node.data_deps, *node.ctrl_deps])
            attributes = {one.name: one for one in node.attr}
            assert not attributes["is_cpu_op"].bool_val
            counts[node.name] += 1
            sizes[definition.NodeType.Name(node.type)] += 1
            if node.type == definition.COMM_COLL_NODE:
                kind = definition.CollectiveCommType.Name(attributes["comm_type"].int64_val)
                sizes[kind, "bytes"] += attributes["comm_size"].int64_val
    told = {one["kind"]: one["tasks"] for one in epoch["kinds"]}
    assert counts == collections.Counter(told), f"{counts} {told}"
    print(f"{epoch['ranks']} traces, {sum(counts.values())} nodes, as many of each kind as simulated")
    for what, number in sorted(sizes.items(), key=str):
        print(f"  {what}: {number}")


if __name__ == "__main__":
    main(*sys.argv[1:])
