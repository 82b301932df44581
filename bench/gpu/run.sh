#!/usr/bin/env bash
# What one GPU does: conformance, speed beside PyG-Temporal and PyG, traces, memory, repeatability.
# For a machine with the GPU; it needs no cargo, no git and no network.
#
#   bench/gpu/run.sh                                     every part
#   bench/gpu/run.sh --parts frames --cases D1,D4        some of it; the rest of gpu.json stays
#   bench/gpu/run.sh --seconds 560 --out DIR             stops in time, writes to DIR
#   bench/gpu/run.sh --device cpu --quick --out DIR      does it run at all? (conformance, frames, tgn, repeat)
#
# ZOETROPE       the program (target/release/zoetrope)
# GPU_SPMM       of the part spmm (target/release/examples/gpu_spmm)
# PYTHON         an interpreter with PyTorch, PyG, numpy, safetensors (python3)
# PYGT           a folder with the package torch_geometric_temporal 0.56.2, if PYTHON has it not installed
# ENGLAND_COVID  england_covid.json.gz (../shared/data/england-covid)
# WIKIPEDIA      the folder of wikipedia.csv.gz (../shared/data/wikipedia)
# COMMIT         what ZOETROPE was built from, if the checkout is a copy without git
set -euo pipefail
cd "$(dirname "$0")/../.."
export PYTHON="${PYTHON:-python3}" PYTHONUNBUFFERED=1
exec "$PYTHON" -W ignore bench/gpu/gpu.py "$@"
