#!/usr/bin/env bash
# Makes a Python environment with the peers, builds, and compares. Needs cargo and python3.
set -euo pipefail
cd "$(dirname "$0")/../.."
environment=target/bench-venv
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
"$environment/bin/pip" install --quiet numpy pandas polars
cargo build --quiet --release --package bench-ingest --package bench-graph --package zoetrope-cli
"$environment/bin/python" bench/ingest/compare.py
wikipedia=../shared/data/wikipedia/wikipedia.csv.gz
if [ -f "$wikipedia" ]; then
  target/release/zoetrope data convert "$wikipedia" target/bench-ingest/wikipedia.zoe --force --quiet
  target/release/bench-graph snapshots target/bench-ingest/wikipedia.zoe
else
  target/release/bench-graph snapshots
fi
