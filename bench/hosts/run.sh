#!/usr/bin/env bash
# Ranks as threads, processes and hosts: the same bits, and what it takes.
#
#   bench/hosts/run.sh [--ranks 2,4] [--epochs N]            threads, processes, two hosts (needs root)
#   bench/hosts/run.sh memory [--processes 1,2,4,8] [...]    host memory of each process by their number
#
# Builds with the feature mpi unless ZOETROPE names a program.
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ -z "${ZOETROPE-}" ]; then
    cargo build --release --package zoetrope-cli --features mpi --locked
    export ZOETROPE="${CARGO_TARGET_DIR:-target}/release/zoetrope"
fi
part=hosts
if [ "${1-}" = memory ]; then
    part=memory
    shift
fi
exec "${PYTHON:-python3}" "bench/hosts/$part.py" "$@"
