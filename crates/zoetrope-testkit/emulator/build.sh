#!/usr/bin/env bash
# Builds the emulated libcuda, libnvrtc, libcublasLt, libcupti and libnccl, unless they are newer than their sources,
# and prints the line that points Zoetrope at them:
#
#     eval "$(crates/zoetrope-testkit/emulator/build.sh [DIR])"
#
# DIR is $CARGO_TARGET_DIR/cuda-emulator, or target/cuda-emulator of the checkout, where it is not given.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-${CARGO_TARGET_DIR:-$here/../../../target}/cuda-emulator}
mkdir -p "$folder/include" "$folder/cache"
folder=$(cd "$folder" && pwd)

# One build at a time: test programs may start together.
exec 9>"$folder/.lock"
flock 9

compile() { # library, soname, then sources and flags
    local library=$1
    shift
    g++ -std=c++17 -O2 -Wall -Wextra -Werror -pthread -fPIC -shared -fvisibility=hidden -Wl,-soname,"$library" -Wl,-rpath,'$ORIGIN' \
        -o "$folder/.$library.new" "$@"
    mv "$folder/.$library.new" "$folder/$library"
    ln -sf "$library" "$folder/${library%%.so*}.so"
}

if [ ! -e "$folder/.built" ] || [ -n "$(find "$here" -name '*.cpp' -newer "$folder/.built" -o -name '*.h' -newer "$folder/.built" -o -name build.sh -newer "$folder/.built")" ]; then
    stamp=$(mktemp "$folder/.stamp.XXXXXX")
    (
        cd "$here"
        cp abi.h device_*.h "$folder/include/"
        compile libcuda.so.1 device.cpp memory.cpp stream.cpp graph.cpp module.cpp block.cpp fibers.cpp -ldl
        compile libnvrtc.so.13 nvrtc.cpp rewrite.cpp -ldl
        compile libcublasLt.so.13 blas.cpp "$folder/libcuda.so.1"
        compile libcupti.so.13 cupti.cpp "$folder/libcuda.so.1"
        compile libnccl.so.2 nccl.cpp "$folder/libcuda.so.1"
    ) >&2
    mv "$stamp" "$folder/.built"
fi

echo "export ZOETROPE_CUDA_PATH=$folder"
