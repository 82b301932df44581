#!/usr/bin/env bash
# Makes a Python environment with PyTorch, builds, and compares. Needs cargo and python3.
# Options go to compare.py: --quick, --only TEXT, --rounds N.
set -euo pipefail
cd "$(dirname "$0")/../.."
bench/environment.sh pygt
cargo build --quiet --release --package bench-kernels
exec target/bench-venv/bin/python bench/kernels/compare.py "$@"
