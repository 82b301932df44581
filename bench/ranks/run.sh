#!/usr/bin/env bash
# What blocks save (ESDG, section 3.1) and what ranks gain (sections 4 and 6) on one machine.
#
#   bench/ranks/run.sh                          memory by blocks, runs under a limit, scaling
#   bench/ranks/run.sh --parts scaling --rounds 5
#   bench/ranks/run.sh --tiny --out DIR         does it run at all?
#
# ZOETROPE  the program; built here, with MPI, if it is not named
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ -z "${ZOETROPE:-}" ]; then
    cargo build --release --locked --package zoetrope-cli --features mpi
    export ZOETROPE=target/release/zoetrope
fi
exec "${PYTHON:-python3}" bench/ranks/ranks.py "$@"
