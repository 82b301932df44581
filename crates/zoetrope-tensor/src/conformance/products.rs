//! Matrix products, linear layers and sparse products.

use crate::Activation;

use super::graphs::{self, group};
use super::{Input, List, plain};

pub(super) const ACTIVATIONS: [(&str, Activation); 7] = [
    ("identity", Activation::Identity),
    ("relu", Activation::Relu),
    ("leaky_relu", Activation::LeakyRelu(0.2)),
    ("elu", Activation::Elu(1.5)),
    ("sigmoid", Activation::Sigmoid),
    ("tanh", Activation::Tanh),
    ("softplus", Activation::Softplus),
];

pub(super) fn add(list: &mut List) {
    matmul(list);
    linear(list);
    matmul_steps(list);
    head_products(list);
    readout(list);
    for name in graphs::NAMES {
        for width in [1, 2, 5, 17] {
            let group = group(name);
            let x = plain(group.len() * group.vertices(), width);
            list.add(format!("spmm/{name}/{width}"), &[x], move |t, v| t.spmm(&group, v[0]));
        }
    }
}

fn turned(rows: usize, cols: usize, transposed: bool) -> Input {
    if transposed { plain(cols, rows) } else { plain(rows, cols) }
}

fn matmul(list: &mut List) {
    let shapes =
        [(1, 1, 1), (3, 5, 2), (17, 3, 5), (1, 17, 1), (0, 3, 2), (3, 0, 2), (2, 3, 0), (9, 33, 7)];
    for (m, k, n) in shapes {
        for (code, a, b) in
            [("nn", false, false), ("nt", false, true), ("tn", true, false), ("tt", true, true)]
        {
            let inputs = [turned(m, k, a), turned(k, n, b)];
            list.add(format!("matmul/{code}/{m}x{k}x{n}"), &inputs, move |t, v| match (a, b) {
                (false, false) => t.matmul(v[0], v[1]),
                _ => t.matmul_turned(v[0], a, v[1], b),
            });
        }
    }
    list.add("matmul/same/3x5", &[plain(3, 5)], |t, v| t.matmul_turned(v[0], false, v[0], true));
    list.add("matmul/same/4x4", &[plain(4, 4)], |t, v| t.matmul(v[0], v[0]));
}

fn linear(list: &mut List) {
    for (rows, input, out) in [(1, 1, 1), (7, 3, 5), (5, 17, 2), (0, 3, 2), (2, 0, 3)] {
        let shape = format!("{rows}x{input}x{out}");
        let (x, w, b) = (plain(rows, input), plain(out, input), plain(1, out));
        list.add(format!("linear/bare/{shape}"), &[x, w], |t, v| {
            t.linear(v[0], v[1], None, Activation::Identity)
        });
        list.add(format!("linear/bias/{shape}"), &[x, w, b], |t, v| {
            t.linear(v[0], v[1], Some(v[2]), Activation::Tanh)
        });
        list.add(format!("linear/plus/{shape}"), &[x, w, plain(rows, out)], |t, v| {
            t.linear_plus(v[0], v[1], None, Some(v[2]), Activation::Sigmoid)
        });
    }
    for (name, activation) in ACTIVATIONS {
        let inputs = [plain(6, 5), plain(3, 5), plain(1, 3), plain(6, 3)];
        list.add(format!("linear/all/{name}"), &inputs, move |t, v| {
            t.linear_plus(v[0], v[1], Some(v[2]), Some(v[3]), activation)
        });
    }
}

fn matmul_steps(list: &mut List) {
    for (steps, rows, input, out) in [(1, 3, 2, 2), (3, 5, 2, 1), (2, 17, 5, 3), (2, 0, 3, 2)] {
        for transposed in [false, true] {
            let (x, w) = (plain(steps * rows, input), turned(input, out, transposed));
            let weights = plain(steps * w.rows, w.cols);
            let code = if transposed { "t" } else { "n" };
            let name = format!("matmul_steps/{code}/{steps}x{rows}x{input}x{out}");
            list.add(name, &[x, weights], move |t, v| {
                t.matmul_steps(v[0], v[1], steps, transposed)
            });
        }
    }
    list.add("matmul_steps/same/4x2", &[plain(4, 2)], |t, v| t.matmul_steps(v[0], v[0], 2, false));
}

fn head_products(list: &mut List) {
    for (heads, rows, input, out) in [(1, 3, 2, 5), (2, 5, 3, 4), (3, 17, 5, 1), (2, 0, 3, 2)] {
        for transposed in [false, true] {
            let (x, w) = (plain(rows, heads * input), turned(input, out, transposed));
            let weights = plain(heads * w.rows, w.cols);
            let code = if transposed { "t" } else { "n" };
            let name = format!("head_products/{code}/{heads}x{rows}x{input}x{out}");
            list.add(name, &[x, weights], move |t, v| {
                t.head_products(v[0], v[1], heads, transposed)
            });
        }
    }
    list.add("head_products/same/4x4", &[plain(4, 4)], |t, v| {
        t.head_products(v[0], v[0], 2, false)
    });
}

fn readout(list: &mut List) {
    for (rows, input, out) in [(1, 1, 1), (7, 3, 2), (5, 17, 1), (9, 2, 1), (4, 5, 3), (0, 3, 2)] {
        let inputs = [plain(rows, input), plain(out, input), plain(1, out)];
        list.add(format!("readout/{rows}x{input}x{out}"), &inputs, |t, v| {
            t.readout(v[0], v[1], v[2])
        });
    }
}
