"""Compiles every CUDA kernel with NVRTC, without a GPU: `cargo xtask kernels` runs this.

usage: compile.py FOLDER LIBRARIES

FOLDER holds NAME.cu (kernels), NAME.rs and NAME/*.rs (launchers), and *.cuh. As in the product, a translation unit is
the text of the *.cuh in front of the text of one .cu; here `#line` stands before both, so that NVRTC's
messages name the file. LIBRARIES is where NVRTC is kept; pip puts it there the first time. What compiled
once is remembered there by the hash of its text.

Fails (exit code 1) where NVRTC does, or where a launcher names a kernel that no file has. Registers that
go to local memory and kernels that no launcher names are told, not refused. Exit code 77: this machine
cannot get NVRTC.
"""

import ctypes
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# The oldest of CUDA 12 and the newest of CUDA 13: what both take, the releases between them take too.
PACKAGES = ("nvidia-cuda-nvrtc-cu12==12.0.140", "nvidia-cuda-nvrtc==13.4.92")
ARCHITECTURES = (75, 80, 90)
NOT_HERE = 77

NAMED = re.compile(r'Kernel::new\(\s*"([\w/]+)",\s*"(\w+)"')
ENTRY = re.compile(r"^\.visible \.entry (\w+)\(", re.MULTILINE)
SPILL = re.compile(r"Function properties for (\w+)\n.*?(\d+) bytes stack frame, (\d+) bytes spill stores")


class Nvrtc:
    """One release of the compiler."""

    def __init__(self, folder):
        # The compiler looks for its builtins by name alone in some releases: they must be loaded first.
        for builtins in folder.rglob("libnvrtc-builtins.so.*"):
            ctypes.CDLL(str(builtins))
        (library,) = folder.rglob("libnvrtc.so.*")
        self.library = ctypes.CDLL(str(library))
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"

    def text(self, program, what):
        """The log or the PTX of a program."""
        size = ctypes.c_size_t()
        getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        getattr(self.library, f"nvrtcGet{what}")(program, text)
        return text.value.decode(errors="replace")

    def compile(self, source, name, architecture):
        """The PTX (None where it does not compile) and the log."""
        program = ctypes.c_void_p()
        self.library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), name.encode(), 0, None, None)
        options = (f"--gpu-architecture=sm_{architecture}", "--std=c++17", "--ptxas-options=-v")
        array = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        status = self.library.nvrtcCompileProgram(program, len(options), array)
        log = self.text(program, "ProgramLog")
        ptx = self.text(program, "PTX") if status == 0 else None
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return ptx, log


def compilers(libraries):
    """The releases of PACKAGES, installed under `libraries` where they are not there yet."""
    found = []
    for package in PACKAGES:
        folder = libraries / package
        if not (folder / "whole").exists():
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
            done = subprocess.run([*pip, "--upgrade", "--target", folder, package], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                reason = (done.stderr.strip() or done.stdout.strip()).splitlines()
                print(f"pip could not install {package}: {reason[-1] if reason else done.returncode}")
                sys.exit(NOT_HERE)
            (folder / "whole").touch()
        found.append(Nvrtc(folder))
    return found


def units(folder):
    """Name and text of every translation unit, those in folders below included."""
    part = lambda path: f'#line 1 "{os.path.relpath(path)}"\n{path.read_text()}\n'  # noqa: E731
    # What folders share may use what all share.
    front = "".join(map(part, sorted(folder.rglob("*.cuh"), key=lambda path: (len(path.parts), path))))
    name = lambda path: path.relative_to(folder).with_suffix("").as_posix()  # noqa: E731
    return {name(path): front + part(path) for path in sorted(folder.rglob("*.cu"))}


def notes(log):
    """What a log of a passing compilation has to say: warnings, and registers that went to memory."""
    found = [f"{kernel}: {stores} bytes of registers spill" for kernel, _, stores in SPILL.findall(log) if int(stores)]
    found += [f"{kernel}: {stack} bytes of stack" for kernel, stack, stores in SPILL.findall(log) if int(stack) and not int(stores)]
    return found + [line for line in log.splitlines() if ": warning " in line]


def remembered(job, source, libraries):
    """The PTX's kernels (None where it does not compile) and the log, from an earlier run where that passed."""
    compiler, architecture, stem = job
    key = hashlib.sha256(f"{compiler.version} {architecture} {Path(__file__).read_text()} {source}".encode()).hexdigest()
    passed = libraries / "passed" / key
    if passed.exists():
        return json.loads(passed.read_text())
    ptx, log = compiler.compile(source, f"{stem}.cu", architecture)
    if ptx is None:
        return None, log
    found = ENTRY.findall(ptx), log
    passed.parent.mkdir(exist_ok=True)
    # Under another name first: a run that is stopped leaves no half of a file.
    half = passed.with_suffix(f".{os.getpid()}")
    half.write_text(json.dumps(found))
    half.replace(passed)
    return found


def everywhere(places):
    """Places in words."""
    return "everywhere" if len(places) == len(PACKAGES) * len(ARCHITECTURES) else ", ".join(places)


def main(folder, libraries):
    start = time.monotonic()
    sources = units(folder)
    if not sources:
        print("no kernels")
        return True
    jobs = [(compiler, architecture, stem) for compiler in compilers(libraries) for architecture in ARCHITECTURES for stem in sources]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(lambda job: remembered(job, sources[job[2]], libraries), jobs))
    refused, said, entries = {}, {}, {}
    for (compiler, architecture, stem), (kernels, log) in zip(jobs, done):
        place = f"CUDA {compiler.version} sm_{architecture}"
        if kernels is None:
            refused.setdefault(stem, []).append((place, log))
            continue
        entries.setdefault(stem, set()).update(kernels)
        for note in notes(log):
            said.setdefault(f"{stem}.cu: {note}", []).append(place)
    for note, places in said.items():
        print(f"note: {note} ({everywhere(places)})")
    for stem, failures in refused.items():
        # One log is enough: a mistake is mostly the same for every GPU.
        places, logs = zip(*failures)
        print(f"{stem}.cu does not compile ({everywhere(places)}):\n{logs[-1]}")
    passed = not refused
    if passed:
        named = {pair for path in folder.rglob("*.rs") for pair in NAMED.findall(path.read_text())}
        there = {(stem, kernel) for stem, found in entries.items() for kernel in found}
        for stem, kernel in sorted(named - there):
            passed = False
            print(f"a launcher names {kernel}, which {stem}.cu does not have")
        for stem, kernel in sorted(there - named):
            print(f"note: no launcher names {kernel} of {stem}.cu")
    count = sum(map(len, entries.values()))
    print(f"{len(sources)} files, {count} kernels, {len(jobs)} compilations in {time.monotonic() - start:.1f} s")
    return passed


if __name__ == "__main__":
    sys.exit(0 if main(Path(sys.argv[1]), Path(sys.argv[2]).resolve()) else 1)
