#!/usr/bin/env bash
# Makes a Python environment with PyTorch, builds, and compares. Needs cargo and python3.
# Options go to compare.py: --quick, --only TEXT, --rounds N.
set -euo pipefail
cd "$(dirname "$0")/../.."
environment=target/bench-venv
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
"$environment/bin/pip" install --quiet numpy torch
cargo build --quiet --release --package bench-kernels
"$environment/bin/python" bench/kernels/compare.py "$@"
