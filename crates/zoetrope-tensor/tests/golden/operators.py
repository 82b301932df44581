"""Writes `operators.safetensors`: results and gradients of every operator of the tape.

    python operators.py

Needs torch, torch_geometric, numpy and safetensors. Inputs are not stored: they follow from the
name of a case by the formula of `catalogue/mod.rs`, and so does the weighting that turns a
result into the number whose gradients are taken. All is computed in f64 and stored as f32, so
the file says what is true and not what another f32 library rounds to.
"""

import itertools
import pathlib

import numpy as np
import torch
from safetensors.numpy import save_file
from torch.nn import functional as F
from torch_geometric.nn import GATConv
from torch_geometric.utils import softmax as edge_softmax

torch.set_default_dtype(torch.float64)

GRADIENT = {"plain", "small", "positive"}
results = {}


def numbers(name, kind, count):
    """The numbers of an input."""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = ((seed ^ byte) * 0x0100000001B3) % 2**64
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(
            0x9E3779B97F4A7C15
        )
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    k = ((z ^ (z >> np.uint64(31))) >> np.uint64(52)).astype(np.float64)
    plain = (2 * k - 4095) / 2048
    plain = plain + 0.0625 * np.sign(plain)
    bit = (k >= 1365).astype(np.float64)
    return {
        "plain": plain,
        "constant": plain,
        "small": plain / 4,
        "positive": np.abs(plain) + 0.75,
        "mask": bit,
        "weight": bit * np.abs(plain),
    }[kind]


def case(name, inputs, function):
    """Computes one case; an input is `(kind, rows, columns)`."""
    tensors = []
    for at, (kind, rows, cols) in enumerate(inputs):
        values = numbers(f"{name}#{at}", kind, rows * cols).reshape(rows, cols)
        tensors.append(torch.tensor(values, requires_grad=kind in GRADIENT))
    out = function(*tensors)
    if out.dim() == 0:
        out = out.reshape(1, 1)
    weighting = torch.tensor(numbers(f"{name}#out", "plain", out.numel())).reshape(out.shape)
    wanted = [t for t in tensors if t.requires_grad]
    gradients = torch.autograd.grad((out * weighting).sum(), wanted, allow_unused=True)
    gradients = iter(gradients)
    assert name not in results, name
    results[name] = None
    store(f"{name}=out", out)
    for at, tensor in enumerate(tensors):
        if tensor.requires_grad:
            gradient = next(gradients)
            store(f"{name}={at}", torch.zeros_like(tensor) if gradient is None else gradient)


def store(key, tensor):
    results[key] = tensor.detach().numpy().astype(np.float32)


def plain(rows, cols):
    return ("plain", rows, cols)


def small(rows, cols):
    return ("small", rows, cols)


# Graphs: per snapshot the number of vertices and the edges (destination, source, weight).

ODD = [(0, 1), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3), (3, 0)]
STAR = [(2, 0), (2, 1), (2, 2), (2, 3), (2, 4)]
GRAPHS = {
    "empty": [(0, [])],
    "one": [(1, [])],
    "loop": [(1, [(0, 0)]), (1, [])],
    "odd": [(5, ODD), (5, []), (5, STAR)],
    "both": [(3, [(0, 1), (0, 2), (1, 0), (2, 0), (2, 2)])],
    "long": [(3, [(t % 3, (t + 1) % 3)]) for t in range(18)],
}


def weights(name, step, edges):
    if name == "both":
        return torch.full((len(edges),), 0.5)
    return torch.tensor(numbers(f"graph/{name}/{step}", "plain", len(edges)))


def stacked(name):
    """Destinations, sources and weights of all edges in the stacked numbering, and its rows."""
    to, source, value, start = [], [], [], 0
    for step, (vertices, edges) in enumerate(GRAPHS[name]):
        to += [start + r for r, _ in edges]
        source += [start + c for _, c in edges]
        value.append(weights(name, step, edges))
        start += vertices
    return (
        torch.tensor(to, dtype=torch.long),
        torch.tensor(source, dtype=torch.long),
        torch.cat(value),
        start,
    )


ACTIVATIONS = {
    "identity": lambda x: x,
    "relu": torch.relu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "elu": lambda x: F.elu(x, 1.5),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softplus": F.softplus,
}


def products():
    shapes = [(1, 1, 1), (3, 5, 2), (17, 3, 5), (1, 17, 1), (0, 3, 2), (3, 0, 2), (2, 3, 0), (9, 33, 7)]
    turn = lambda x, code: x.T if code == "t" else x
    for (m, k, n), (a, b) in itertools.product(shapes, itertools.product("nt", repeat=2)):
        left = plain(k, m) if a == "t" else plain(m, k)
        right = plain(n, k) if b == "t" else plain(k, n)
        case(
            f"matmul/{a}{b}/{m}x{k}x{n}",
            [left, right],
            lambda x, y, a=a, b=b: turn(x, a) @ turn(y, b),
        )
    case("matmul/same/3x5", [plain(3, 5)], lambda x: x @ x.T)
    case("matmul/same/4x4", [plain(4, 4)], lambda x: x @ x)
    for rows, inner, out in [(1, 1, 1), (7, 3, 5), (5, 17, 2), (0, 3, 2), (2, 0, 3)]:
        shape = f"{rows}x{inner}x{out}"
        x, w = plain(rows, inner), plain(out, inner)
        case(f"linear/bare/{shape}", [x, w], F.linear)
        case(
            f"linear/bias/{shape}",
            [x, w, plain(1, out)],
            lambda x, w, b: torch.tanh(F.linear(x, w, b[0])),
        )
        case(
            f"linear/plus/{shape}",
            [x, w, plain(rows, out)],
            lambda x, w, p: torch.sigmoid(F.linear(x, w) + p),
        )
    for name, activation in ACTIVATIONS.items():
        case(
            f"linear/all/{name}",
            [plain(6, 5), plain(3, 5), plain(1, 3), plain(6, 3)],
            lambda x, w, b, p, f=activation: f(F.linear(x, w, b[0]) + p),
        )
    stepwise = lambda x, w, steps, turned: torch.cat(
        [a @ (b.T if turned else b) for a, b in zip(x.tensor_split(steps), w.tensor_split(steps))]
    )
    for steps, rows, inner, out in [(1, 3, 2, 2), (3, 5, 2, 1), (2, 17, 5, 3), (2, 0, 3, 2)]:
        for code in "nt":
            weight = plain(steps * out, inner) if code == "t" else plain(steps * inner, out)
            case(
                f"matmul_steps/{code}/{steps}x{rows}x{inner}x{out}",
                [plain(steps * rows, inner), weight],
                lambda x, w, steps=steps, turned=code == "t": stepwise(x, w, steps, turned),
            )
    case("matmul_steps/same/4x2", [plain(4, 2)], lambda x: stepwise(x, x, 2, False))
    headwise = lambda x, w, heads, turned: torch.cat(
        [
            a @ (b.T if turned else b)
            for a, b in zip(x.tensor_split(heads, dim=1), w.tensor_split(heads))
        ],
        dim=1,
    )
    for heads, rows, inner, out in [(1, 3, 2, 5), (2, 5, 3, 4), (3, 17, 5, 1), (2, 0, 3, 2)]:
        for code in "nt":
            weight = plain(heads * out, inner) if code == "t" else plain(heads * inner, out)
            case(
                f"head_products/{code}/{heads}x{rows}x{inner}x{out}",
                [plain(rows, heads * inner), weight],
                lambda x, w, heads=heads, turned=code == "t": headwise(x, w, heads, turned),
            )
    case("head_products/same/4x4", [plain(4, 4)], lambda x: headwise(x, x, 2, False))
    for rows, inner, out in [(1, 1, 1), (7, 3, 2), (5, 17, 1), (9, 2, 1), (4, 5, 3), (0, 3, 2)]:
        case(
            f"readout/{rows}x{inner}x{out}",
            [plain(rows, inner), plain(out, inner), plain(1, out)],
            lambda x, w, b: F.linear(F.relu(x), w, b[0]),
        )
    for name, width in itertools.product(GRAPHS, [1, 2, 5, 17]):
        to, source, value, rows = stacked(name)
        matrix = torch.sparse_coo_tensor(torch.stack([to, source]), value, (rows, rows))
        dense = matrix.to_dense()
        # torch.sparse refuses matrices without rows.
        multiply = (lambda x, m=matrix: torch.sparse.mm(m, x)) if rows else (lambda x, m=dense: m @ x)
        case(f"spmm/{name}/{width}", [plain(rows, width)], multiply)


def elementwise():
    for rows, cols in [(1, 1), (3, 5), (7, 17), (0, 3), (3, 0)]:
        shape, x = f"{rows}x{cols}", plain(rows, cols)
        case(f"add/{shape}", [x, x], torch.add)
        case(f"sub/{shape}", [x, x], torch.sub)
        case(f"add_scaled/{shape}", [x, x], lambda a, b: a - 0.75 * b)
        case(f"mul/{shape}", [x, x], torch.mul)
        case(f"scale/{shape}", [x], lambda x: 1.5 * x)
        case(f"add_bias/{shape}", [x, plain(1, cols)], torch.add)
        case(f"row_scale/{shape}", [x, plain(rows, 1)], torch.mul)
    for name, activation in ACTIVATIONS.items():
        for rows, cols in [(1, 1), (5, 17), (0, 2)]:
            case(f"activate/{name}/{rows}x{cols}", [plain(rows, cols)], activation)
    case("add/same", [plain(3, 5)], lambda x: x + x)
    case("mul/same", [plain(3, 5)], lambda x: x * x)
    case("row_scale/same", [plain(5, 1)], lambda x: x * x)
    case("add_bias/same", [plain(1, 5)], lambda x: x + x)
    case("chain/same", [plain(3, 5)], lambda x: x * torch.tanh(x))
    sigmoid, tanh = torch.sigmoid, torch.tanh
    for rows, cols in [(1, 1), (3, 5), (19, 17), (0, 2)]:
        shape, x, p = f"{rows}x{cols}", plain(rows, cols), ("positive", rows, cols)
        case(f"chain/product/{shape}", [x, x], lambda a, b: tanh(a * b))
        case(
            f"chain/gru/{shape}",
            [x, x, x],
            lambda z, h, n: sigmoid(z) * h + (1 - sigmoid(z)) * tanh(n),
        )
        case(f"chain/rational/{shape}", [x, p], lambda a, b: -0.3 * ((a - 0.5) / b) ** 2)
        case(
            f"chain/kinks/{shape}",
            [x, x],
            lambda a, b: torch.relu(a) - F.leaky_relu(b, 0.1),
        )
        case(
            f"chain/roots/{shape}",
            [p, p, p],
            lambda a, b, c: torch.sqrt(a) * torch.log(b) + torch.exp(-c),
        )


def scattered(x, indices, rows):
    index = torch.tensor(indices, dtype=torch.long)
    return torch.zeros(rows, x.shape[1]).index_add(0, index, x)


def parts():
    for rows, cols, start, end in [(5, 3, 1, 4), (5, 17, 0, 5), (1, 1, 0, 1), (3, 2, 2, 2)]:
        shape = f"{rows}x{cols}/{start}..{end}"
        case(f"rows/{shape}", [plain(rows, cols)], lambda x, s=start, e=end: x[s:e])
        case(f"columns/{shape}", [plain(cols, rows)], lambda x, s=start, e=end: x[:, s:e])
    for rows, cols, other in [(4, 3, 6), (1, 5, 5), (0, 3, 0), (2, 17, 1)]:
        width = rows * cols // other if other else cols
        case(
            f"reshape/{rows}x{cols}",
            [plain(rows, cols)],
            lambda x, r=other, c=width: x.reshape(r, c),
        )
    case("concat_rows", [plain(2, 3), plain(0, 3), plain(1, 3)], lambda *x: torch.cat(x))
    case("concat_rows/one", [plain(2, 17)], lambda *x: torch.cat(x))
    wide = [plain(3, 1), plain(3, 0), plain(3, 17), plain(3, 2)]
    case("concat_columns", wide, lambda *x: torch.cat(x, 1))
    case("concat_columns/no_rows", [plain(0, 1), plain(0, 2)], lambda *x: torch.cat(x, 1))
    case(
        "concat_ranges",
        [plain(3, 4), plain(3, 17), plain(3, 2)],
        lambda x, y, z: torch.cat([x[:, 1:3], y, x[:, 2:2], z[:, 1:2], y[:, 16:17]], 1),
    )
    case(
        "concat_ranges/no_rows",
        [plain(0, 3), plain(0, 2)],
        lambda x, y: torch.cat([x[:, 1:3], y[:, 0:1]], 1),
    )
    case(
        "concat_ranges/steps",
        [plain(2, 3), ("constant", 8, 3)],
        lambda x, y: torch.cat([x, y[0:2], y[6:8, 2:3]], 1),
    )
    picks = [
        ("repeated", 4, 3, [3, 0, 0, 3, 3, 1]),
        ("one_row", 1, 17, [0, 0, 0]),
        ("none", 3, 2, []),
        ("wide", 5, 17, [4, 2]),
        ("narrow", 5, 1, [1, 1, 4, 0]),
    ]
    for name, rows, cols, indices in picks:
        index = torch.tensor(indices, dtype=torch.long)
        case(f"gather/{name}", [plain(rows, cols)], lambda x, i=index: x[i])
    sums = [
        ("repeated", 5, 3, [3, 0, 0, 3, 3, 1]),
        ("one_row", 1, 17, [0, 0, 0]),
        ("none", 3, 2, []),
        ("narrow", 5, 1, [1, 1, 4, 0]),
        ("no_rows", 0, 3, []),
    ]
    for name, rows, cols, indices in sums:
        case(
            f"scatter_add/{name}",
            [plain(len(indices), cols)],
            lambda x, i=indices, n=rows: scattered(x, i, n),
        )
    case(
        "alias/scattered_twice",
        [plain(3, 2)],
        lambda x: scattered(x, [1, 1, 0], 3) * scattered(x, [0, 2, 2], 3),
    )
    case("alias/rows_that_overlap", [plain(5, 3)], lambda x: x[0:4] * x[1:5])
    case("alias/rows_apart", [plain(6, 3)], lambda x: x[0:3] @ x[3:6].T)
    case(
        "alias/rows_of_a_result",
        [plain(6, 3), plain(3, 3)],
        lambda x, y: (x @ y)[0:2].T @ (x @ y)[4:6],
    )
    case(
        "alias/reshaped_parameter",
        [plain(2, 6), plain(3, 4)],
        lambda x, w: torch.tanh(x.reshape(3, 4) @ w.T) @ w.reshape(4, 3).T - x.reshape(3, 4),
    )
    case(
        "alias/row_range_of_a_reshape",
        [plain(4, 6)],
        lambda x: x.reshape(8, 3)[2:6].T @ x.reshape(8, 3)[2:6],
    )

    def concatenated(x):
        tall = torch.cat([x, x[0:2], x])
        return torch.cat([tall, tall], 1)

    case("alias/concatenated_twice", [plain(3, 2)], concatenated)

    def ranges(x):
        top, middle = (x * x)[0:3], (x * x)[2:5]
        return torch.cat([top[:, 1:4], middle, top[:, 3:5], middle[:, 2:4], top], 1)

    case("alias/ranges_that_overlap", [plain(6, 5)], ranges)
    case("alias/linear_with_itself", [plain(4, 4)], lambda x: torch.tanh(x @ x.T + x))


SEQUENCES = [(1, 1, 1), (3, 5, 2), (4, 1, 3), (2, 3, 17), (2, 3, 16), (2, 0, 3)]
OPTIONS = [("bare", False, False), ("bias", True, False), ("bias_mask", True, True)]


def through_module(module, gates, weight, bias):
    """The parameters that make a torch module read its gates as given: its input weight is the
    identity."""
    width = gates.shape[1]
    return {
        "weight_ih_l0": torch.eye(width),
        "bias_ih_l0": torch.zeros(width),
        "weight_hh_l0": weight,
        "bias_hh_l0": torch.zeros(width) if bias is None else bias[0],
    }


def gru_after(gates, state, weight, bias=None, mask=None):
    """torch.nn.GRU; a masked vertex keeps its state."""
    (n, h), steps = state.shape, gates.shape[0] // max(state.shape[0], 1)
    if n == 0:
        return torch.zeros(0, h) + 0 * (gates.sum() + state.sum() + weight.sum())
    module = torch.nn.GRU(3 * h, h)
    parameters = through_module(module, gates, weight, bias)
    states = []
    for t in range(steps):
        x = gates[t * n : (t + 1) * n].reshape(1, n, 3 * h)
        new, _ = torch.func.functional_call(module, parameters, (x, state.reshape(1, n, h)))
        new = new.reshape(n, h)
        state = new if mask is None else torch.where(mask[t * n : (t + 1) * n] != 0, new, state)
        states.append(state)
    return torch.cat(states)


def gru_before(gates, state, weight, bias=None, mask=None):
    """The original paper's unit, as T-GCN has it: torch has no module of it."""
    (n, h), steps = state.shape, gates.shape[0] // max(state.shape[0], 1)
    if n == 0:
        return torch.zeros(0, h) + 0 * (gates.sum() + state.sum() + weight.sum())
    bias = torch.zeros(1, 3 * h) if bias is None else bias
    states = []
    for t in range(steps):
        r_in, z_in, n_in = gates[t * n : (t + 1) * n].split(h, 1)
        r_w, z_w, n_w = weight.split(h)
        r_b, z_b, n_b = bias.split(h, 1)
        r = torch.sigmoid(r_in + state @ r_w.T + r_b)
        z = torch.sigmoid(z_in + state @ z_w.T + z_b)
        candidate = torch.tanh(n_in + (r * state) @ n_w.T + n_b)
        new = z * state + (1 - z) * candidate
        state = new if mask is None else torch.where(mask[t * n : (t + 1) * n] != 0, new, state)
        states.append(state)
    return torch.cat(states)


def lstm(gates, hidden, cell, weight=None, bias=None, mask=None):
    """torch.nn.LSTM: all hidden states, then the last cell states; a masked vertex keeps both."""
    (n, h), steps = hidden.shape, gates.shape[0] // max(hidden.shape[0], 1)
    if n == 0:
        return torch.zeros(0, h) + 0 * (gates.sum() + hidden.sum() + cell.sum())
    module = torch.nn.LSTM(4 * h, h)
    weight = torch.zeros(4 * h, h) if weight is None else weight
    parameters = through_module(module, gates, weight, bias)
    states = []
    for t in range(steps):
        x = gates[t * n : (t + 1) * n].reshape(1, n, 4 * h)
        start = (hidden.reshape(1, n, h), cell.reshape(1, n, h))
        _, (new_h, new_c) = torch.func.functional_call(module, parameters, (x, start))
        new_h, new_c = new_h.reshape(n, h), new_c.reshape(n, h)
        if mask is not None:
            there = mask[t * n : (t + 1) * n] != 0
            new_h, new_c = torch.where(there, new_h, hidden), torch.where(there, new_c, cell)
        hidden, cell = new_h, new_c
        states.append(hidden)
    return torch.cat([*states, cell])


def recurrent():
    for kind, unit in [("after", gru_after), ("before", gru_before)]:
        for (steps, n, h), (options, biased, masked) in itertools.product(SEQUENCES, OPTIONS):
            inputs = [plain(steps * n, 3 * h), plain(n, h), small(3 * h, h)]
            inputs += [plain(1, 3 * h)] * biased + [("mask", steps * n, 1)] * masked
            case(f"gru/{kind}/{options}/{steps}x{n}x{h}", inputs, unit)
        inputs = [plain(4, 6), plain(2, 2), small(6, 2), ("mask", 4, 1)]
        for (steps, n, h), width in itertools.product(SEQUENCES, [1, 16, 18]):
            rows = [plain(steps * n, width), plain(n, h), small(3 * h, h), plain(1, 3 * h)]
            case(
                f"gru/{kind}/rows/{steps}x{n}x{h}x{width}",
                [*rows, small(3 * h, width), plain(1, 3 * h)],
                lambda x, s, u, c, w, b, f=unit: f(x @ w.T + b, s, u, c),
            )
        case(f"gru/{kind}/mask/2x2x2", inputs, lambda g, s, w, m, f=unit: f(g, s, w, None, m))
    for (steps, n, h), (options, biased, masked) in itertools.product(SEQUENCES, OPTIONS):
        inputs = [plain(steps * n, 4 * h), plain(n, h), plain(n, h), small(4 * h, h)]
        inputs += [plain(1, 4 * h)] * biased + [("mask", steps * n, 1)] * masked
        case(f"lstm/{options}/{steps}x{n}x{h}", inputs, lstm)
    for n, h in [(1, 1), (5, 3), (2, 17)]:
        inputs = [plain(n, 4 * h), plain(n, h), plain(n, h), ("mask", n, 1)]
        case(f"lstm/pointwise/{n}x{h}", inputs[:3], lstm)
        case(
            f"lstm/pointwise_mask/{n}x{h}",
            inputs,
            lambda g, s, c, m: lstm(g, s, c, None, None, m),
        )
    for (steps, n, h), width in itertools.product(SEQUENCES, [1, 16, 18]):
        inputs = [plain(steps * n, width), plain(n, h), plain(n, h), small(4 * h, h)]
        inputs += [small(4 * h, width), plain(1, 4 * h)]
        case(
            f"lstm/rows/{steps}x{n}x{h}x{width}",
            inputs,
            lambda x, s, c, u, w, b: lstm(x @ w.T + b, s, c, u),
        )
    case("lstm/same_states", [plain(3, 8), plain(3, 2)], lambda g, s: lstm(g, s, s)[:3])
    evolution()


def evolve_gru(steps):
    """torch's unit of one step, with the state as its input."""

    def run(state, w, u, b, c):
        states = []
        for _ in range(steps):
            state = torch.gru_cell(state, state, w, u, b[0], c[0])
            states.append(state)
        return torch.cat([*states, state])

    return run


def evolve_lstm(steps):
    """The same of an LSTM, whose bias is another one for each row."""

    def run(state, w, u, cell, bias):
        states = []
        for _ in range(steps):
            n = state.shape[0]
            both = lstm(state @ w.T + bias, state, cell, u)
            state, cell = both[:n], both[n:]
            states.append(state)
        return torch.cat([*states, cell])

    return run


def evolution():
    for name, gates, unit in [("gru", 3, evolve_gru), ("lstm", 4, evolve_lstm)]:

        def inputs(n, h, gates=gates):
            rest = [plain(1, 3 * h)] * 2 if gates == 3 else [plain(n, h), plain(n, 4 * h)]
            return [plain(n, h), small(gates * h, h), small(gates * h, h), *rest]

        for steps, n, h in SEQUENCES:
            case(f"evolve/{name}/{steps}x{n}x{h}", inputs(n, h), unit(steps))
        state, weight, _, first, bias = inputs(3, 2)
        case(
            f"evolve/{name}/same_weights",
            [state, weight, first, bias],
            lambda s, w, a, b, f=unit(3): f(s, w, w, a, b),
        )


def temporal(query, key, value, mask, steps, heads, causal, scale):
    """torch's attention; cells that are not there are taken out of the softmax and set to 0."""
    rows, width = query.shape
    n = rows // steps
    split = lambda x: x.reshape(steps, n, heads, width // heads).permute(1, 2, 0, 3)
    allowed = torch.ones(n, 1, steps, steps, dtype=torch.bool)
    if causal:
        allowed = allowed & torch.ones(steps, steps, dtype=torch.bool).tril()
    if mask is not None:
        there = mask.reshape(steps, n).T != 0
        allowed = allowed & there.reshape(n, 1, 1, steps) & there.reshape(n, 1, steps, 1)
    attended = allowed.any(-1, keepdim=True)
    # A row without anything to attend to is 0 / 0 for torch: let it see all, then remove it.
    out = F.scaled_dot_product_attention(
        split(query), split(key), split(value), attn_mask=allowed | ~attended, scale=scale
    )
    out = torch.where(attended, out, torch.zeros(()))
    return out.permute(2, 0, 1, 3).reshape(rows, width)


def temporal_layer(x, positions, projections, weight, bias, mask, steps, heads, scale):
    """DySAT's layer: positions, projections, attention, linear layer and both residuals."""
    x = x + positions[:steps].repeat_interleave(x.shape[0] // steps, 0)
    out = temporal(*(x @ w for w in projections), mask, steps, heads, True, scale)
    return F.relu(F.linear(out, weight, 16 * bias[0])) + out + x


def attention():
    for rows, cols in [(1, 1), (3, 5), (4, 17), (2, 2), (0, 3), (3, 0)]:
        case(f"softmax/{rows}x{cols}", [plain(rows, cols)], lambda x: torch.softmax(x, 1))
    for name in GRAPHS:
        to, _, _, rows = stacked(name)
        case(
            f"segment_softmax/{name}",
            [plain(len(to), 1)],
            lambda x, to=to, rows=rows: edge_softmax(x, to, num_nodes=rows),
        )
    shapes = [(1, 1, 1, 1), (3, 2, 1, 5), (4, 3, 2, 3), (2, 5, 1, 17), (5, 1, 3, 2), (2, 0, 1, 3)]
    options = [
        ("all", False, False),
        ("causal", True, False),
        ("masked", False, True),
        ("causal_masked", True, True),
    ]
    for (steps, n, heads, width), (name, causal, masked) in itertools.product(shapes, options):
        inputs = [plain(steps * n, heads * width)] * 3 + [("mask", steps * n, 1)] * masked
        case(
            f"temporal_attention/{name}/{steps}x{n}x{heads}x{width}",
            inputs,
            lambda q, k, v, m=None, s=steps, h=heads, c=causal: temporal(q, k, v, m, s, h, c, 0.4),
        )
    case(
        "temporal_attention/same",
        [plain(6, 4)],
        lambda x: temporal(x, x, x, None, 3, 2, True, 0.5),
    )
    shapes = [(1, 1, 1, 1), (3, 2, 1, 5), (4, 3, 2, 3), (2, 19, 1, 7), (5, 1, 3, 2), (2, 0, 1, 3)]
    options = [("causal", False), ("causal_masked", True)]
    for (steps, n, heads, width), (name, masked) in itertools.product(shapes, options):
        d = heads * width
        inputs = [plain(steps * n, d), plain(steps + 1, d)] + [("small", d, d)] * 4 + [plain(1, d)]
        case(
            f"temporal_layer/{name}/{steps}x{n}x{heads}x{width}",
            inputs + [("mask", steps * n, 1)] * masked,
            lambda x, p, q, k, v, w, b, m=None, s=steps, h=heads: temporal_layer(
                x, p, (q, k, v), w, b, m, s, h, 0.4
            ),
        )
    for name, (heads, width) in itertools.product(GRAPHS, [(1, 1), (1, 5), (3, 2), (2, 17)]):
        rows = stacked(name)[3]
        inputs = [plain(rows, heads * width), plain(rows, heads), plain(rows, heads)]
        for kind, function in [("plain", gat_conv), ("weighted", gat_weighted)]:
            case(
                f"gat/{kind}/{name}/{heads}x{width}",
                inputs,
                lambda x, s, d, g=name, h=heads, f=function: f(g, x, s, d, h, 0.2),
            )
    case("gat/same_scores", [plain(15, 2)], lambda x: gat_conv("odd", x, x, x, 2, 0.1))


def gat_conv(name, x, source, destination, heads, slope):
    """torch_geometric's GATConv from its scores on: the scores are given instead of computed."""
    to, start, _, rows = stacked(name)
    conv = GATConv(1, x.shape[1] // heads, heads, add_self_loops=False, negative_slope=slope)
    edges = torch.stack([start, to])
    alpha = conv.edge_updater(
        edges, alpha=(source, destination), edge_attr=None, size=(rows, rows)
    )
    features = x.reshape(rows, heads, x.shape[1] // heads)
    out = conv.propagate(edges, x=(features, features), alpha=alpha, size=(rows, rows))
    return out.reshape(rows, x.shape[1])


def gat_weighted(name, x, source, destination, heads, slope):
    """DySAT's form: the weight of an edge multiplies the sum of both scores."""
    to, start, value, rows = stacked(name)
    scores = F.leaky_relu(value[:, None] * (source[start] + destination[to]), slope)
    alpha = edge_softmax(scores, to, num_nodes=rows)
    features = x.reshape(rows, heads, x.shape[1] // heads)[start] * alpha[:, :, None]
    out = torch.zeros(rows, heads, x.shape[1] // heads).index_add(0, to, features)
    return out.reshape(rows, x.shape[1])


def norms():
    def batch(x, scale, shift):
        # F.batch_norm refuses batches of one row or none.
        if x.shape[0] > 1:
            return F.batch_norm(x, None, None, scale[0], shift[0], training=True, eps=0.05)
        variance = x.var(0, unbiased=False)
        return (x - x.mean(0)) / torch.sqrt(variance + 0.05) * scale + shift

    def shared(x, scale, shift):
        # Three more rows on another rank, of mean 0.5 and variance 0.25; no gradient comes from them.
        rows = x.shape[0] + 3
        mean = (x.sum(0) + 1.5) / rows
        variance = (((x - mean) ** 2).sum(0) + 3 * (0.25 + (0.5 - mean) ** 2)) / rows
        return (x - mean) / torch.sqrt(variance + 0.05) * scale + shift

    def fixed(x, scale, shift):
        column = torch.arange(x.shape[1])
        mean, variance = 0.25 * column - 0.5, 0.5 + 0.125 * column
        return F.batch_norm(x, mean, variance, scale[0], shift[0], training=False, eps=0.05)

    def layer(x, scale, shift):
        return F.layer_norm(x, (x.shape[1],), scale[0], shift[0], eps=0.05)

    for rows, cols in [(1, 3), (2, 1), (5, 3), (33, 17), (0, 2)]:
        inputs = [plain(rows, cols), plain(1, cols), plain(1, cols)]
        empty = lambda x, scale, shift: x * scale + shift
        case(f"batch_norm/{rows}x{cols}", inputs, batch if rows else empty)
        case(f"shared_batch_norm/{rows}x{cols}", inputs, shared if rows else empty)
        case(f"batch_norm_fixed/{rows}x{cols}", inputs, fixed if rows else empty)
    for rows, cols in [(1, 1), (3, 2), (3, 5), (5, 17), (0, 3)]:
        inputs = [plain(rows, cols), plain(1, cols), plain(1, cols)]
        case(f"layer_norm/{rows}x{cols}", inputs, layer)
    case("layer_norm/same", [plain(1, 5)], lambda x: layer(x, x, x))
    case("batch_norm/rows_of_one", [plain(6, 3)], lambda x: batch(x[0:4], x[4:5], x[5:6]))
    for rows, cols in [(1, 1), (1, 5), (17, 1), (0, 1)]:
        case(f"unit_vector/{rows}x{cols}", [plain(rows, cols)], lambda x: x / torch.norm(x))
    for rows, cols in [(1, 1), (3, 5), (2, 17)]:
        case(f"mean/{rows}x{cols}", [plain(rows, cols)], torch.mean)


def weighted_mean(terms, weight):
    if weight is None:
        return terms.mean()
    total = weight.sum()
    return (terms * weight).sum() / total if total > 0 else 0 * terms.sum()


def losses():
    def terms(name, prediction, target):
        if name == "mse":
            return F.mse_loss(prediction, target, reduction="none")
        if name == "mae":
            return F.l1_loss(prediction, target, reduction="none")
        positive = torch.tensor(2.5 if name == "bce_positive" else 1.0)
        return F.binary_cross_entropy_with_logits(
            prediction, target, pos_weight=positive, reduction="none"
        )

    for name, (rows, cols) in itertools.product(
        ["mse", "mae", "bce", "bce_positive"], [(1, 1), (3, 5), (4, 17)]
    ):
        shape = f"{rows}x{cols}"
        inputs = [plain(rows, cols), ("mask" if "bce" in name else "constant", rows, cols)]
        function = lambda p, t, w=None, n=name: weighted_mean(terms(n, p, t), w)
        case(f"loss/{name}/{shape}", inputs, function)
        case(f"loss/{name}/weight/{shape}", inputs + [("weight", rows, cols)], function)
        case(f"loss/{name}/mask/{shape}", inputs + [("mask", rows, cols)], function)
    for rows, classes in [(1, 1), (3, 2), (5, 3), (4, 17)]:
        labels = torch.tensor([(7 * row + 1) % classes for row in range(2, rows + 2)])

        def entropy(logits, weight=None, labels=labels):
            terms = F.cross_entropy(logits, labels, reduction="none")
            return weighted_mean(terms, None if weight is None else weight[:, 0])

        shape = f"{rows}x{classes}"
        case(f"cross_entropy/{shape}", [plain(rows, classes)], entropy)
        inputs = [plain(rows, classes), ("weight", rows, 1)]
        case(f"cross_entropy/weight/{shape}", inputs, entropy)


# Attention over sampled neighbours: where the slots of each target begin, the query of each target,
# source and event of each slot, and the numbers of queries, sources and events.
LAYOUTS = {
    "shared": ([0, 3, 3, 4, 9], [1, 0, 1, 2], [2, 0, 2, 1, 2, 3, 2, 0, 2], [0, 1, 2, 3, 1, 1, 0, 2, 3], (4, 5, 4)),
    "one": ([0, 1], [0], [0], [0], (1, 1, 1)),
    "long": ([0, 21], [0], [i % 3 for i in range(21)], [i % 5 for i in range(21)], (1, 3, 5)),
    "no_slots": ([0, 0, 0], [0, 1], [], [], (2, 1, 1)),
    "no_targets": ([0], [], [], [], (2, 3, 1)),
}
# Heads, then the widths of rows, features and time encoding; 0 for a part that is absent.
WIDTHS = [(1, 1, 1, 1), (2, 5, 3, 17), (3, 17, 2, 1), (2, 3, 0, 2), (1, 0, 3, 2), (2, 5, 2, 0), (1, 0, 0, 0)]


def neighbour_attention(layout, heads, widths, scale, slope, operands):
    offsets, query, source, event, _ = LAYOUTS[layout]
    operands = iter(operands)
    queries = next(operands)
    deltas = torch.tensor(numbers(f"deltas/{layout}", "plain", len(source)))
    parts = []
    if widths[0]:
        parts.append(next(operands)[torch.tensor(source, dtype=torch.long)])
    if widths[1]:
        parts.append(next(operands)[torch.tensor(event, dtype=torch.long)])
    if widths[2]:
        weight, bias = next(operands), next(operands)
        parts.append(torch.cos(deltas[:, None] * weight.reshape(1, -1) + bias.reshape(1, -1)))
    x = torch.cat([*parts, torch.ones(len(source), 1)], 1)
    counts = torch.tensor(offsets).diff()
    to = torch.repeat_interleave(torch.arange(len(query)), counts)
    asked = torch.tensor(query, dtype=torch.long)[to]
    q = queries[asked].reshape(len(source), heads, x.shape[1])
    scores = scale * (q * x[:, None, :]).sum(2)
    if slope is not None:
        scores = F.leaky_relu(scores, slope)
    alpha = edge_softmax(scores, to, num_nodes=len(query))
    out = torch.zeros(len(query), heads, x.shape[1])
    out = out.index_add(0, to, alpha[:, :, None] * x[:, None, :])
    return out.reshape(len(query), heads * x.shape[1])


def neighbours():
    for rows, width in [(1, 1), (5, 3), (70, 17), (0, 2)]:
        deltas = torch.tensor(numbers(f"deltas/{rows}", "plain", rows)) * 8
        case(
            f"time_encoding/{rows}x{width}",
            [plain(width, 1), plain(1, width)],
            lambda w, b, d=deltas: torch.cos(d[:, None] * w.reshape(1, -1) + b),
        )
    case(
        "time_encoding/same",
        [plain(3, 1)],
        lambda w: torch.cos(
            torch.tensor(numbers("deltas/5", "plain", 5))[:, None] * 8 * w.reshape(1, -1)
            + w.reshape(1, -1)
        ),
    )
    for layout, (heads, *widths) in itertools.product(LAYOUTS, WIDTHS):
        x = sum(widths) + 1
        queries, sources, events = LAYOUTS[layout][4]
        inputs = [small(queries, heads * x)]
        inputs += [plain(sources, widths[0])] * (widths[0] > 0)
        inputs += [("constant", events, widths[1])] * (widths[1] > 0)
        inputs += [plain(widths[2], 1), plain(1, widths[2])] * (widths[2] > 0)
        for kind, slope in [("plain", None), ("skewed", 0.2)]:
            case(
                f"neighbour_attention/{kind}/{layout}/{heads}x{'x'.join(map(str, widths))}",
                inputs,
                lambda *v, l=layout, h=heads, w=widths, s=slope: neighbour_attention(l, h, w, 0.6, s, v),
            )


def message_cells():
    sizes = [(1, 1, 1, 1, 1, 1), (5, 2, 2, 3, 3, 2), (7, 17, 17, 4, 5, 3), (6, 3, 5, 2, 0, 4), (40, 5, 0, 9, 2, 1), (0, 3, 3, 1, 2, 2)]
    for kind, gates, unit in [("gru", 3, torch.gru_cell), ("rnn", 1, torch.rnn_tanh_cell)]:
        for n, hidden, other, events, features, time in sizes:
            rows = torch.tensor([5 * at % events for at in range(n)], dtype=torch.long)

            def cell(pair, *v, unit=unit, rows=rows, hidden=hidden, wide=features > 0):
                parts = [pair] + ([v[0][rows]] if wide else [])
                encoded, weight, recurrent, bias, own = v[wide:]
                message, state = torch.cat([*parts, encoded], 1), pair[:, :hidden]
                if len(rows) != 5:  # a message of zeros more
                    message, state = (torch.cat([x, torch.zeros(1, x.shape[1])]) for x in (message, state))
                return unit(message, state, weight, recurrent, bias[0], own[0])

            inputs = [("constant", n, hidden + other)]
            inputs += [("constant", events, features)] * (features > 0)
            wide = gates * hidden
            inputs += [plain(n, time), plain(wide, hidden + other + features + time)]
            inputs += [plain(wide, hidden), plain(1, wide), plain(1, wide)]
            case(f"message_cell/{kind}/{n}x{hidden}x{other}x{events}x{features}x{time}", inputs, cell)


for family in [products, elementwise, parts, recurrent, attention, neighbours, message_cells, norms, losses]:
    family()
tensors = {key: value for key, value in results.items() if value is not None}
path = pathlib.Path(__file__).with_name("operators.safetensors")
save_file(tensors, path)
print(f"{len(results) - len(tensors)} cases, {path.stat().st_size} bytes")
