#!/usr/bin/env bash
# plan.overlap with and without over a slow cable: two processes, two network namespaces (needs root and tc).
#
#   bench/overlap/run.sh [--rates 1gbit,10gbit] [--models tm-gcn,cd-gcn]
#
# Builds with the feature mpi unless ZOETROPE names a program.
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ -z "${ZOETROPE-}" ]; then
    cargo build --release --package zoetrope-cli --features mpi --locked
    export ZOETROPE="${CARGO_TARGET_DIR:-target}/release/zoetrope"
fi
exec "${PYTHON:-python3}" bench/overlap/overlap.py "$@"
