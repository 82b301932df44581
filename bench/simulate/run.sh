#!/usr/bin/env bash
# Predicted against measured epochs of one node: calibrates this machine, then trains and simulates. Options: simulate.py --help
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -n "${ZOETROPE:-}" ] || cargo build --release --locked -p zoetrope-cli
exec python3 bench/simulate/simulate.py "$@"
