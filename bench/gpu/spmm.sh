#!/usr/bin/env bash
# Sparse products of Zoetrope and of cuSPARSE (through PyTorch) on one GPU, in one call.
# Writes gpu-spmm.json and gpu-spmm.md.
#
#   bench/gpu/spmm.sh [--out DIR] [--cases D5,D6] [--widths 2,6,16,32,64,128,256] [--rounds 30]
#
# GPU_SPMM  the program: cargo build --release --package zoetrope-tensor --example gpu_spmm
# PYTHON    an interpreter with PyTorch for CUDA (python3)
set -euo pipefail
cd "$(dirname "$0")/../.."
out=bench/results
options=()
while [ $# -gt 0 ]; do
    case $1 in
    --out) out=$2 ;;
    *) options+=("$1" "$2") ;;
    esac
    shift 2
done
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${GPU_SPMM:-target/release/examples/gpu_spmm}" --out "$work" "${options[@]}" >"$work/zoetrope.json"
"${PYTHON:-python3}" -W ignore bench/gpu/cusparse.py "$work" "$out"
