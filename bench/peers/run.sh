#!/usr/bin/env bash
# Zoetrope and its peers on the same work, in turn, on the same cores. Needs cargo and python3.
#
#   bench/peers/run.sh                              everything, about 20 minutes on two idle cores
#   bench/peers/run.sh --quick                      one round of one timed epoch: is it the same work?
#   bench/peers/run.sh --cases D1,D4 --models tgcn --rounds 5
#   bench/peers/run.sh --compare OLD.json NEW.json  how far two runs lie apart
set -euo pipefail
cd "$(dirname "$0")/../.."
bench/environment.sh pygt
if [ "${1:-}" != --compare ]; then
  bench/environment.sh dgl || echo "DGL could not be installed: its rows are left out" >&2
  [ -n "${ZOETROPE:-}" ] || cargo build --quiet --release --package zoetrope-cli
fi
exec target/bench-venv/bin/python bench/peers/peers.py "$@"
