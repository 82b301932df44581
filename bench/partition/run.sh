#!/usr/bin/env bash
# Makes a Python environment with METIS and Mt-KaHyPar, builds, compares partitions and draws volumes. Needs cargo and python3.
# Options go to compare.py: --parts, --only.
set -euo pipefail
cd "$(dirname "$0")/../.."
environment=target/bench-partition-venv
if [ ! -x "$environment/bin/python" ]; then
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet numpy pymetis mtkahypar
fi
cargo build --quiet --release --package bench-partition
"$environment/bin/python" bench/partition/compare.py "$@"
exec python3 bench/partition/table2.py
