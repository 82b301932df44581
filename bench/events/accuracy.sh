#!/usr/bin/env bash
# What the event models learn on five streams, beside EdgeBank. Needs cargo and python3 alone.
#
#   bench/events/accuracy.sh           the whole table
#   bench/events/accuracy.sh --quick   one epoch on the shortest stream
#   bench/events/accuracy.sh --resume  what is not measured yet: a call that was stopped goes on
#   bench/events/accuracy.sh --sets wikipedia,enron --models tgn,tgat --epochs 5
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -n "${ZOETROPE:-}" ] || cargo build --quiet --release --package zoetrope-cli
exec python3 bench/events/accuracy.py "$@"
