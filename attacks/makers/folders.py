"""Folders: traffic matrices and snapshots in files."""

from .attack import Attack, folder

VALUES = b"s1,s2,s3\n" + b"1.5,2.5,3.5\n" * 20
SQUARE = b"1,0.5,0\n0.5,1,0\n0,0,1\n"


def attacks():
    return [*traffic(), *snapshots(), *names()]


def traffic():
    def pair(name, adjacency, values, outcome, message, why):
        return folder(f"traffic/{name}", {"x_adj.csv": adjacency, "x_speed.csv": values}, outcome, message, why, "--format traffic")

    yield pair("honest", SQUARE, VALUES, "ok", "", "an honest pair")
    yield pair("not-square", SQUARE + b"0,0,0\n", VALUES, "error", "", "a matrix of four rows and three columns")
    yield pair("ragged-matrix", b"1,0.5,0\n0.5,1\n0,0,1\n", VALUES, "error", "x_adj.csv:2", "a row that stops early")
    yield pair("word-in-matrix", SQUARE.replace(b"0.5,1", b"half,1"), VALUES, "error", "x_adj.csv:2", "a word among weights")
    yield pair("nan-in-matrix", SQUARE.replace(b"0.5,1", b"nan,1"), VALUES, "error", "row 2", "a weight that is not a number")
    yield pair("infinite-in-matrix", SQUARE.replace(b"0.5,1", b"inf,1"), VALUES, "error", "x_adj.csv:2", "an infinite weight")
    yield pair("fewer-sensors", SQUARE, b"1.5,2.5\n" * 20, "error", "x_speed.csv", "values for two of three sensors")
    yield pair("ragged-values", SQUARE, VALUES + b"1,2\n", "error", "x_speed.csv:22", "a step that lacks a sensor")
    yield pair("word-in-values", SQUARE, VALUES + b"1,2,fast\n", "error", "x_speed.csv:22", "a word among values")
    yield pair("empty-values", SQUARE, b"", "error", "one square matrix and one table", "no value at all")
    yield pair("empty-matrix", b"", VALUES, "error", "one square matrix and one table", "no weight at all")


def snapshots():
    day = b"1 2\n2 3\n"
    yield folder("snapshot-folder/honest", {"day1.txt": day, "day2.txt": day}, "ok", "", "an honest folder")
    yield folder("snapshot-folder/bad-day", {"day1.txt": day, "day2.txt": b"1 2\nx\n"}, "error", "day2.txt:2", "a bad row in the second file")
    yield folder("snapshot-folder/mixed", {"day1.txt": day, "notes.md": b"# notes\n", "picture.png": b"\x89PNG\r\n\x1a\n"}, "error", "", "files of several kinds")


def names():
    for name, why in [
        ("synthetic:", "no name"),
        ("synthetic:nothing", "a generator that does not exist"),
        ("synthetic:uniform?vertices=1e18", "a graph that no machine holds"),
        ("synthetic:uniform?vertices=-1", "a negative number of vertices"),
        ("synthetic:uniform?vertices=99999999999999999999", "a number that no integer holds"),
        ("synthetic:uniform?colour=red", "a parameter that does not exist"),
        ("synthetic:uniform?vertices=10&vertices=20", "a parameter twice"),
        ("synthetic:uniform?vertices", "a parameter without a value"),
        ("synthetic:uniform?seed=nan", "a seed that is not a number"),
        ("synthetic:power-law?change=nan", "a rate that is not a number"),
    ]:
        yield Attack(name, {}, "error", "", why)
