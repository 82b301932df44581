#!/usr/bin/env bash
# Builds the emulator and its self-test, and runs the test with threads in both orders and on two threads of
# the host. Takes the folder of build.sh.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
eval "$("$here/build.sh" "$@")"
folder=$ZOETROPE_CUDA_PATH

program=$(mktemp "$folder/self_test.XXXXXX")
trap 'rm -f "$program"' EXIT
g++ -std=c++17 -O1 -Wall -Wextra -Werror -o "$program" "$here/tests/self_test.cpp" -Wl,-rpath,"$folder" \
    "$folder/libcuda.so.1" "$folder/libnvrtc.so.13" "$folder/libcublasLt.so.13"

"$program" "$here/tests/kernels.cuh"
ZOETROPE_EMULATED_ORDER=backward "$program" "$here/tests/kernels.cuh"
ZOETROPE_EMULATED_THREADS=2 ZOETROPE_EMULATED_SANITIZE=1 "$program" "$here/tests/kernels.cuh"
