#!/usr/bin/env bash
# Ranks as threads, processes and hosts: the same bits, and what becomes of a run when one of them ends or hangs.
#
#   bench/faults/run.sh hosts     [--ranks 2,4] [--epochs N]                 threads, processes, two hosts (needs root)
#   bench/faults/run.sh faults    [--repeats N] [--engines threads,MPI] [--faults kill,exit,panic,stop,loop]
#
# Builds with the features mpi and faults unless ZOETROPE names a program.
set -euo pipefail
cd "$(dirname "$0")/../.."
part=$1
shift
if [ -z "${ZOETROPE-}" ]; then
    cargo build --release --package zoetrope-cli --features mpi,faults --locked
    export ZOETROPE="${CARGO_TARGET_DIR:-target}/release/zoetrope"
fi
exec "${PYTHON:-python3}" "bench/faults/$part.py" "$@"
