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

# Linking needs a C compiler; so do the zstd and xz decoders.
if ! command -v cc >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ]; then root=""; else root="sudo"; fi
    if command -v apt-get >/dev/null 2>&1 && { [ -z "$root" ] || command -v sudo >/dev/null 2>&1; }; then
        say "no C compiler: installing gcc and libc6-dev"
        $root apt-get update -qq
        $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev
    else
        say "cc is missing: install a C compiler (on Debian: apt-get install gcc libc6-dev)"
        exit 4
    fi
fi

# A minimal Rust has neither rustfmt nor clippy. Where they cannot be added, their steps are
# skipped and say so.
for component in rustfmt:fmt clippy:clippy; do
    if ! cargo "${component#*:}" --version >/dev/null 2>&1 && command -v rustup >/dev/null 2>&1; then
        say "adding ${component%:*}"
        rustup component add "${component%:*}" || say "${component%:*} could not be added"
    fi
done

command -v python3 >/dev/null 2>&1 \
    || say "python3 is missing: only the scripts that make golden values and attacks need it"

exec cargo xtask ci
