#!/bin/sh
# usage: fuzz/run.sh SECONDS [TARGET…]
# Runs every target (or those named) for that long and says what each found: two at a time, or
# as many as ZOETROPE_FUZZ_JOBS says.
# Needs cargo-fuzz, a C++ compiler and python3; works with a stable toolchain.
set -eu
cd "$(dirname "$0")"
seconds="${1:?usage: fuzz/run.sh SECONDS [TARGET...]}"
shift
cargo fuzz --version >/dev/null 2>&1 || { echo "cargo fuzz is missing: cargo install cargo-fuzz --locked" >&2; exit 4; }

# Sanitizer flags are unstable; this lets a stable compiler take them.
export RUSTC_BOOTSTRAP=1
python3 seeds.py
if [ "$#" -eq 0 ]; then
    cargo fuzz build
    set -- $(cargo fuzz list)
else
    for target in "$@"; do cargo fuzz build "$target"; done
fi
host=$(rustc -vV | sed -n 's/^host: //p')
mkdir -p artifacts corpus logs
memory=/dev/shm
[ -w "$memory" ] || memory="${TMPDIR:-/tmp}"
ZOETROPE_FUZZ_FOLDER=$(mktemp -d "$memory/zoetrope-fuzz.XXXXXX")
export ZOETROPE_FUZZ_FOLDER
trap 'rm -rf "$ZOETROPE_FUZZ_FOLDER"' EXIT

# Two rayon threads a process: more would only fight over the cores. An input may take 20 s and
# 1 GiB: far above the promise of the binary, because the sanitizer multiplies both.
printf '%s\n' "$@" | xargs -P "${ZOETROPE_FUZZ_JOBS:-2}" -I TARGET sh -c '
    mkdir -p "corpus/TARGET" "artifacts/TARGET"
    RAYON_NUM_THREADS=2 "target/'"$host"'/release/TARGET" "corpus/TARGET" \
        -artifact_prefix="artifacts/TARGET/" -max_total_time='"$seconds"' -timeout=20 \
        -rss_limit_mb=1024 -max_len=65536 -print_final_stats=1 >"logs/TARGET.log" 2>&1 \
        && verdict="no finding" || verdict="FINDING, see fuzz/logs/TARGET.log"
    runs=$(sed -n "s/^stat::number_of_executed_units: *//p" "logs/TARGET.log" | tail -1)
    cover=$(sed -n "s/.* cov: \([0-9]*\) .*/\1/p" "logs/TARGET.log" | tail -1)
    printf "%-18s %10s runs  %7s edges  %s\n" TARGET "${runs:-?}" "${cover:-?}" "$verdict"
'
! grep -lq "SUMMARY: " logs/*.log
