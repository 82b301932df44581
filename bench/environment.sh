#!/usr/bin/env bash
# Makes a Python environment under target/ from the ordinary package index, once.
#
# usage: bench/environment.sh pygt|dgl
#   pygt   target/bench-venv: PyTorch, PyG, PyG-Temporal, and TGM if it installs
#   dgl    target/bench-dgl: DGL 2.1, which needs PyTorch 2.2.1 and NumPy 1
#
# Fails if what it is named after cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/.."

fresh() { # folder
  [ -x "$1/bin/python" ] || python3 -m venv "$1"
}

case "${1:-}" in
  pygt)
    environment=target/bench-venv
    [ -f "$environment/made-pygt" ] && exit 0
    fresh "$environment"
    "$environment/bin/pip" install --quiet numpy torch torch_geometric safetensors tqdm requests pandas scipy
    # Its declared dependency torch_sparse has no wheel; the layers import only a class name from it.
    "$environment/bin/pip" install --quiet --no-deps torch_geometric_temporal
    "$environment/bin/pip" install --quiet --no-deps tgm-lib==0.1.0b1 || echo "TGM could not be installed" >&2
    touch "$environment/made-pygt"
    ;;
  dgl)
    environment=target/bench-dgl
    [ -f "$environment/made-dgl" ] && exit 0
    fresh "$environment"
    "$environment/bin/pip" install --quiet "numpy<2" torch==2.2.1 torchdata==0.7.1 dgl==2.1.0 \
      safetensors pandas pydantic pyyaml scipy
    "$environment/bin/python" -c "import dgl.nn.pytorch"
    touch "$environment/made-dgl"
    ;;
  *)
    sed -n 's/^# \{0,1\}//p' "$0" | sed -n '2,$p' >&2
    exit 2
    ;;
esac
