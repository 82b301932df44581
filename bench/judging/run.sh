#!/usr/bin/env bash
# What judging takes, beside another version. Needs no cargo, no git and no network if ZOETROPE is there.
#
#   bench/judging/run.sh --before BINARY                          as-733 on one and on two threads
#   bench/judging/run.sh --before BINARY --device cuda --threads 16 --cases "as-733 links;D6 nodes"
#
# ZOETROPE  the program (target/release/zoetrope)
# BEFORE    the other version, as --before
# AS_733    as-733.tar.xz (../shared/data/as-733)
# COMMIT    what ZOETROPE was built from, if the checkout is a copy without git
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ -z "${ZOETROPE-}" ]; then
    cargo build --release --package zoetrope-cli --locked
    export ZOETROPE="${CARGO_TARGET_DIR:-target}/release/zoetrope"
fi
exec "${PYTHON:-python3}" bench/judging/judging.py "$@"
