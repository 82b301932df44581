#!/bin/sh
# The one test command: checks what the machine offers, adds what it can, and runs every check.
# Works on a fresh Debian machine that has Rust and nothing else.
set -eu
cd "$(dirname "$0")"

say() { printf 'test.sh: %s\n' "$*" >&2; }

# Rust itself is not installed here: how it comes onto a machine is the owner's choice.
if ! command -v cargo >/dev/null 2>&1 && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
    PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
    export PATH
fi
if ! command -v cargo >/dev/null 2>&1; then
    say "cargo is missing: install Rust 1.88 or newer (rustup is the usual way), then run this again"
    exit 4
fi

# add REASON PACKAGE...: by apt-get, as root or with sudo; fails if there is neither.
add() {
    if [ "$(id -u)" = 0 ]; then root=""; else root="sudo"; fi
    command -v apt-get >/dev/null 2>&1 || return 1
    [ -z "$root" ] || command -v sudo >/dev/null 2>&1 || return 1
    say "$1: installing $(shift && echo "$@")"
    shift
    $root apt-get update -qq \
        && $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

# Linking needs a C compiler; so do the zstd and xz decoders.
if ! command -v cc >/dev/null 2>&1; then
    if ! add "no C compiler" gcc libc6-dev; then
        say "cc is missing: install a C compiler (on Debian: apt-get install gcc libc6-dev)"
        exit 4
    fi
fi

# The tests run the CUDA kernels on an emulated GPU, which g++ builds.
if ! command -v g++ >/dev/null 2>&1; then
    if ! add "no C++ compiler" g++; then
        say "g++ is missing: install a C++ compiler (on Debian: apt-get install g++)"
        exit 4
    fi
fi

# Ranks are also tested as processes of real MPI jobs. If there is no MPI, that step is skipped
# and says so.
if ! command -v mpirun >/dev/null 2>&1; then
    add "no MPI" openmpi-bin || say "mpirun is missing: ranks will not be tested over MPI"
fi

# A minimal Rust has neither rustfmt nor clippy. If they cannot be added, their steps are
# skipped and say so.
for component in rustfmt:fmt clippy:clippy; do
    if ! cargo "${component#*:}" --version >/dev/null 2>&1 && command -v rustup >/dev/null 2>&1; then
        say "adding ${component%:*}"
        rustup component add "${component%:*}" || say "${component%:*} could not be added"
    fi
done

# The step `kernels` compiles the CUDA kernels with NVRTC, which pip gets. If it cannot, the step
# is skipped and says so.
if ! python3 -m pip --version >/dev/null 2>&1; then
    add "no Python with pip" python3 python3-pip \
        || say "python3 with pip is missing: the CUDA kernels will not be compiled"
fi

# A build server starts from nothing each time: what would speed up a second build only fills its disk.
if [ -n "${CI:-}" ]; then
    CARGO_INCREMENTAL=0
    export CARGO_INCREMENTAL
fi

exec cargo xtask ci
