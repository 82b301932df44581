#!/usr/bin/env bash
# Ranks whose GPUs are linked by NCCL, against ranks that go by way of the host: the same bits, how long epochs
# take, and whether a rank that is killed is named. For a machine with a GPU and mpirun; it needs no cargo, no git
# and no network, and Python's standard library only.
#
#   bench/cards/run.sh                    every model and strategy, linked and by way of the host
#   bench/cards/run.sh blocks             a timeline larger than the memory of each rank's GPU
#   bench/cards/run.sh [blocks] --tiny --out DIR   does it run at all?
#   bench/cards/run.sh blocks --tiny --threads --out DIR   the same without mpirun
#
# On a machine with one GPU the ranks share it: each is given another NCCL_HOSTID, so that NCCL takes them for
# ranks of different hosts and moves bytes over sockets. Times are then no measure of NCCL between GPUs.
#
# ZOETROPE  the program, with the feature mpi (target/release/zoetrope)
# COMMIT    what ZOETROPE was built from, if the checkout is a copy without git
set -euo pipefail
cd "$(dirname "$0")/../.."
script=cards
if [ "${1:-}" = blocks ]; then
  script=blocks
  shift
fi
exec "${PYTHON:-python3}" "bench/cards/$script.py" "$@"
