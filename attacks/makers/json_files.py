"""PyG-Temporal JSON."""

import gzip
import json

from .attack import error, ok

STATIC = {"edges": [[0, 1], [1, 2], [2, 0]], "node_ids": {"a": 0, "b": 1, "c": 2}, "FX": [[0.1, 0.2, 0.3]] * 8}


def attacks():
    return [*syntax(), *numbers(), *shapes(), *other_layouts()]


def dump(document) -> bytes:
    return json.dumps(document).encode()


def changed(**changes) -> bytes:
    return dump({**STATIC, **changes})


def syntax():
    yield ok("pygt-json/honest.json", dump(STATIC), "an honest file")
    yield ok("pygt-json/bom.json", b"\xef\xbb\xbf" + dump(STATIC), "a byte order mark")
    yield error("pygt-json/truncated.json", dump(STATIC)[:-9], "", "a document that stops")
    yield error("pygt-json/garbage-after.json", dump(STATIC) + b"}}", "", "brackets after the end")
    yield error("pygt-json/two-documents.json", dump(STATIC) * 2, "", "two documents end to end")
    yield error("pygt-json/deep-arrays.json.gz", gzip.compress(b'{"edges":' + b"[" * 200_000, 9, mtime=0), "", "200,000 arrays inside each other: recursion would overflow the stack")
    yield error("pygt-json/deep-objects.json.gz", gzip.compress(b'{"a":' * 200_000, 9, mtime=0), "", "200,000 objects inside each other")
    yield error("pygt-json/deep-closed.json.gz", gzip.compress(b'{"edges":' + b"[" * 100_000 + b"]" * 100_000 + b"}", 9, mtime=0), "", "the same, well formed")
    yield error("pygt-json/duplicate-keys.json", dump(STATIC)[:-1] + b', "edges": [[0, 2]]}', "edges", "two lists of edges")
    yield error("pygt-json/invalid-utf8.json", b'{"edges": [[0,1]], "\xff\xfe": 1}', "", "a key that is not UTF-8")
    yield error("pygt-json/lone-surrogate.json", b'{"edges": [[0,1]], "node_ids": {"\\ud800": 0}, "FX": [[1.0]]}', "", "half of a UTF-16 pair")
    yield error("pygt-json/nul-byte.json", dump(STATIC)[:20] + b"\x00" + dump(STATIC)[20:], "", "a NUL between tokens")
    yield error("pygt-json/empty-object.json", b"{}", "", "nothing inside")
    yield error("pygt-json/top-level-array.json", b"[[0,1],[1,2]]", "", "an array where an object should be")
    yield error("pygt-json/many-keys.json.gz", gzip.compress(b"{" + b",".join(b'"%d":0' % i for i in range(60_000)) + b"}", 9, mtime=0), "", "60,000 keys, none of them known")
    yield error("pygt-json/long-key.json.gz", gzip.compress(b'{"' + b"k" * (4 << 20) + b'": 1}', 9, mtime=0), "", "a key of 4 MiB")


def numbers():
    yield error("pygt-json/nan-literal.json", dump(STATIC).replace(b"0.3", b"NaN", 1), "", "NaN, which Python writes and JSON does not know")
    yield error("pygt-json/infinity-literal.json", dump(STATIC).replace(b"0.3", b"Infinity", 1), "", "Infinity, likewise")
    yield error("pygt-json/number-1e400.json", dump(STATIC).replace(b"0.3", b"1e400", 1), "", "a number beyond every float")
    yield error("pygt-json/number-100000-digits.json", dump(STATIC).replace(b"[0, 1]", b"[" + b"9" * 100_000 + b", 1]"), "", "a vertex of 100,000 digits")
    yield error("pygt-json/vertex-2-to-40.json", changed(edges=[[0, 1], [1, 1 << 40]]), "", "one vertex of 2^40")
    yield error("pygt-json/vertex-negative.json", changed(edges=[[0, 1], [1, -1]]), "", "a negative vertex")
    yield error("pygt-json/vertex-fraction.json", changed(edges=[[0, 1], [1, 1.5]]), "", "a vertex with a fraction")
    yield error("pygt-json/vertex-out-of-range.json", changed(edges=[[0, 1], [1, 3]]), "", "a vertex that the series do not have")


def shapes():
    yield error("pygt-json/edge-triple.json", changed(edges=[[0, 1, 2], [1, 2, 0]]), "", "edges of three vertices")
    yield error("pygt-json/edge-single.json", changed(edges=[[0], [1]]), "", "edges of one vertex")
    yield error("pygt-json/edges-text.json", changed(edges="[[0,1]]"), "", "edges in a string")
    yield error("pygt-json/series-ragged.json", changed(FX=[[0.1, 0.2, 0.3], [0.1, 0.2]]), "", "a step that lacks a vertex")
    yield error("pygt-json/series-empty.json", changed(FX=[]), "", "no step at all")
    yield error("pygt-json/series-text.json", changed(FX=[["a", "b", "c"]] * 8), "", "words for values")
    yield error("pygt-json/series-missing.json", dump({"edges": [[0, 1]]}), "", "edges without values")
    yield error("pygt-json/weights-short.json", dump({"edges": [[0, 1], [1, 0]], "weights": [1.0], "X": [[0.1, 0.2]] * 8}), "", "fewer weights than edges")


def other_layouts():
    def covid(periods, steps=2):
        edges = {str(t): [[0, 1], [1, 0]] for t in range(steps)}
        weights = {str(t): [1.0, 2.0] for t in range(steps)}
        mapping = {"edge_index": edges, "edge_weight": weights}
        return {"edge_mapping": mapping, "time_periods": periods, "y": [[1.0, 2.0]] * steps}

    yield error("pygt-json/periods-1e18.json", dump(covid(10**18)), "", "a declared length of 10^18 steps")
    yield error("pygt-json/periods-negative.json", dump(covid(-1)), "", "a declared length of -1")
    yield error("pygt-json/periods-missing-step.json", dump(covid(5)), "", "five steps declared, two present")
    short = covid(2)
    short["edge_mapping"]["edge_weight"]["1"] = [1.0]
    yield error("pygt-json/step-weights-short.json", dump(short), "", "a step with fewer weights than edges")
    tennis = {"0": {"edges": [[0, 1]], "weights": [1], "X": [[1, 2], [3, 4]], "y": [1, 2]}, "time_periods": 10**9}
    yield error("pygt-json/tennis-periods-1e9.json", dump(tennis), "", "a declared length of 10^9 steps, one present")
    link = {"nodes": [{"id": 7, "X": {"y": [1.0, 2.0]}, "y": [1.0, 2.0]}], "links": [{"source": 7, "target": 8, "weight": 1.0}]}
    yield error("pygt-json/link-to-nowhere.json", dump(link), "", "a link to a vertex that is not there")
    twins = {"nodes": [dict(link["nodes"][0]), dict(link["nodes"][0])], "links": [{"source": 7, "target": 7, "weight": 1.0}]}
    yield error("pygt-json/node-twice.json", dump(twins), "", "two vertices with one id")
