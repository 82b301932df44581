#!/usr/bin/env bash
# What sending differences instead of whole snapshots saves on one GPU (ESDG, section 6.2, figure 4).
# For a machine with the GPU; it needs no cargo, no git and no network, and Python's standard library only.
#
#   bench/transfer/run.sh                               every case and model
#   bench/transfer/run.sh --cases as-733 --models tm-gcn --out DIR
#   bench/transfer/run.sh --tiny --out DIR              does it run at all? (on an emulated GPU as well)
#
# ZOETROPE  the program (target/release/zoetrope)
# DATA      the folder with as-733/ and epinions-trust/ (../shared/data)
# COMMIT    what ZOETROPE was built from, if the checkout is a copy without git
set -euo pipefail
cd "$(dirname "$0")/../.."
exec "${PYTHON:-python3}" bench/transfer/transfer.py "$@"
