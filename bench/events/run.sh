#!/usr/bin/env bash
# Zoetrope and its peers on the same stream of events, in turn, on the same cores. Needs cargo and python3.
#
#   bench/events/run.sh                   everything, about 15 minutes on two idle cores with all peers
#   bench/events/run.sh --quick           one epoch over the first events: does everyone run?
#   bench/events/run.sh --models tgn --peers pyg --rounds 2
#
# PyG and TGM come from the package index. TGL and TGLite are taken from checkouts that are already
# prepared: TGL_HOME (its sampler built there) and TGLITE_HOME; TGL_PYTHON and TGLITE_PYTHON name
# interpreters that have what they need. Without them their earlier figures are quoted.
set -euo pipefail
cd "$(dirname "$0")/../.."
bench/environment.sh pygt
if [ -n "${TGL_HOME:-}" ] && [ -z "${TGL_PYTHON:-}" ]; then
  bench/environment.sh dgl || echo "DGL could not be installed: TGL's figures are quoted" >&2
fi
[ -n "${ZOETROPE:-}" ] || cargo build --quiet --release --package zoetrope-cli
exec target/bench-venv/bin/python bench/events/events.py "$@"
