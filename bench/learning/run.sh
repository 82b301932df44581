#!/usr/bin/env bash
# Makes a Python environment with PyG-Temporal, builds, trains and compares. Needs cargo and python3.
set -euo pipefail
cd "$(dirname "$0")/../.."
environment=target/bench-venv
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
"$environment/bin/pip" install --quiet numpy torch torch_geometric
"$environment/bin/pip" install --quiet --no-deps torch_geometric_temporal
"$environment/bin/pip" install --quiet tqdm requests pandas scipy
cargo build --quiet --release --package zoetrope-cli
"$environment/bin/pip" install --quiet safetensors
"$environment/bin/python" bench/learning/weights.py
"$environment/bin/python" bench/learning/learning.py "$@"
