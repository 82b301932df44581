#!/usr/bin/env bash
# Builds and measures what a checkpoint after every epoch costs. Needs cargo and python3.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --quiet --release --package zoetrope-cli
python3 bench/checkpoints/checkpoints.py "$@"
