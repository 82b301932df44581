#!/usr/bin/env bash
# Trains a model, tgn if MODEL names no other, for one epoch on a generated stream of 5 million vertices and 50 million events and fails
# if the process ever held 8 GiB or more. Needs cargo and python3; 1 GB of disk.
#
#   bench/events/memory.sh           every event once: hours
#   bench/events/memory.sh --quick   a hundredth of it: does it run?
#   MODEL=jodie bench/events/memory.sh   another model: jodie keeps as much and takes minutes
#
# More arguments go to `zoetrope train`. Peak memory is the kernel's VmHWM of the process, pages of the
# mapped store among it. If systemd can make a scope, the limit is also enforced. Batches of 1,000:
# on such a stream hardly two questions of a batch share a neighbour, so a larger batch saves no work,
# and what a batch computes grows with it.
set -euo pipefail
cd "$(dirname "$0")/../.."
limit_bytes=$((8 << 30))
users=4900k items=100k events=50M name=large
if [ "${1:-}" = --quick ]; then
  shift
  users=49k items=1k events=500k name=small
fi
if [ -z "${ZOETROPE:-}" ]; then
  cargo build --quiet --release --package zoetrope-cli
  ZOETROPE=target/release/zoetrope
fi
folder=target/bench-events
mkdir -p "$folder"
store=$folder/$name.zoe
[ -e "$store" ] || "$ZOETROPE" data generate "synthetic:bipartite?users=$users&items=$items&events=$events&features=0" --out "$store" --quiet
rm -rf "$folder/memory"
within=()
if systemd-run --quiet --user --scope -p MemoryMax=$limit_bytes true 2>/dev/null; then
  within=(systemd-run --quiet --user --scope -p "MemoryMax=$limit_bytes" -p MemorySwapMax=0)
fi
start=$SECONDS
"${within[@]}" "$ZOETROPE" train --data "$store" --task link-prediction --model "${MODEL:-tgn}" --epochs 1 --threads 2 \
  --set data.split=none --set train.batch_size=1000 --out "$folder/memory" --json "$@" >"$folder/memory.json"
python3 - "$folder/memory.json" "$limit_bytes" $((SECONDS - start)) "$name" <<'PYTHON'
import json, sys
sys.path.append("bench")
from machine import commit
summary, limit = json.load(open(sys.argv[1])), int(sys.argv[2])
peak, data = summary["peak_host_bytes"], summary["data"]
print(f"{data['vertices']:,} vertices, {data['events']:,} events: {sum(e['seconds'] for e in summary['epochs']):.0f} s of training, "
      f"{sys.argv[3]} s in all, peak {peak / 2**30:.2f} GiB of {limit / 2**30:.0f}")
if sys.argv[4] == "large":
    kept = {"commit": commit(), "model": summary["model"], "vertices": data["vertices"], "events": data["events"], "peak_host_bytes": peak, "limit_bytes": limit,
            "epoch_seconds": [e["seconds"] for e in summary["epochs"]], "version": summary["version"]}
    open("bench/results/events-memory.json", "w").write(json.dumps(kept) + "\n")
sys.exit(peak >= limit)
PYTHON
