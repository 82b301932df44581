#!/usr/bin/env bash
# Makes a Python environment with PyG, builds, and compares. Needs cargo, python3 and, for TGL, a C++ compiler and
# TGL_CHECKOUT=PATH (a checkout of github.com/amazon-science/tgl). Options go to compare.py: --data, --rounds, --seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
bench/environment.sh pygt
if [ -n "${TGL_CHECKOUT:-}" ]; then
  target/bench-venv/bin/pip install --quiet pybind11 setuptools
fi
cargo build --quiet --release --package bench-sampler
exec target/bench-venv/bin/python bench/sampler/compare.py "$@"
