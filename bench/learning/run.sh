#!/usr/bin/env bash
# Makes a Python environment with PyG-Temporal, builds, trains and compares. Needs cargo and python3.
set -euo pipefail
cd "$(dirname "$0")/../.."
bench/environment.sh pygt
cargo build --quiet --release --package zoetrope-cli
target/bench-venv/bin/python bench/learning/weights.py
target/bench-venv/bin/python bench/learning/learning.py "$@"
