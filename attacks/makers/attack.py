"""What an attack is."""

import dataclasses


@dataclasses.dataclass
class Attack:
    """Files to write, the path that the program is given, and what it must answer."""

    path: str
    files: dict
    outcome: str
    message: str
    why: str
    arguments: str = ""


def ok(path, content, why, arguments=""):
    """A file that looks wrong but must be read."""
    return Attack(path, {path: content}, "ok", "", why, arguments)


def error(path, content, message, why, arguments=""):
    """A file that must be refused with a message that contains `message`."""
    return Attack(path, {path: content}, "error", message, why, arguments)


def folder(path, files, outcome, message, why, arguments=""):
    """Several files; the program is given their folder."""
    return Attack(path, {f"{path}/{name}": content for name, content in files.items()}, outcome, message, why, arguments)
