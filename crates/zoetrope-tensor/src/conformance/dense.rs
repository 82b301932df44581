//! Dense products of the shapes at which a GPU's kernels differ: quads that end with a row or not,
//! one tile and several, gradients in one pass, in cells of eight, and by the library.

use super::{List, constant, plain, small};
use crate::Activation;

pub(super) fn add(list: &mut List) {
    // Whole quads, fewer outputs than a quad, rows that end within one; several tiles and shares; the
    // widest that are kept at hand.
    for (rows, input, out) in
        [(3000, 2, 6), (2000, 32, 32), (1500, 16, 96), (900, 64, 3), (300, 256, 16), (260, 5, 250)]
    {
        for activation in [Activation::Identity, Activation::Tanh] {
            let inputs = [plain(rows, input), small(out, input), plain(1, out), plain(rows, out)];
            let name = format!("dense/thin/{rows}x{input}x{out}/{activation:?}");
            list.add(name, &inputs, move |t, v| {
                t.linear_plus(v[0], v[1], Some(v[2]), Some(v[3]), activation)
            });
        }
    }
    // By tensor cores: one piece of 16 columns and two, whole or not, on both sides; rows that end within
    // a tile; inputs that want no gradient.
    for (rows, input, out) in [(1100, 8, 12), (1031, 12, 20), (1500, 16, 32), (7000, 28, 16)] {
        for activation in [Activation::Identity, Activation::Relu, Activation::Sigmoid] {
            for x in [plain(rows, input), constant(rows, input)] {
                let inputs = [x, small(out, input), plain(1, out), plain(rows, out)];
                let name = format!("dense/tiled/{rows}x{input}x{out}/{:?}/{activation:?}", x.kind);
                list.add(name, &inputs, move |t, v| {
                    t.linear_plus(v[0], v[1], Some(v[2]), Some(v[3]), activation)
                });
            }
        }
    }
    // Too wide to keep the weights at hand: the library, with what it does while it writes and what
    // is left to do; gradients in cells of eight, and wider ones.
    for (rows, input, out) in [(600, 100, 100), (70, 300, 280)] {
        for activation in [Activation::Identity, Activation::Relu, Activation::Sigmoid] {
            let inputs = [plain(rows, input), small(out, input), plain(1, out), plain(rows, out)];
            let name = format!("dense/wide/{rows}x{input}x{out}/{activation:?}");
            list.add(name, &inputs, move |t, v| {
                t.linear_plus(v[0], v[1], Some(v[2]), Some(v[3]), activation)
            });
        }
    }
    list.add("dense/weights", &[plain(600, 100), plain(600, 90)], |t, v| {
        t.matmul_turned(v[0], true, v[1], false)
    });
    list.add("dense/turned", &[plain(90, 120), plain(100, 90)], |t, v| {
        t.matmul_turned(v[0], true, v[1], true)
    });
    for (rows, input, out) in [(100, 32, 32), (60, 120, 90), (400, 16, 24)] {
        let inputs = [plain(3 * rows, input), plain(3 * input, out)];
        let name = format!("dense/steps/{rows}x{input}x{out}");
        list.add(name, &inputs, |t, v| t.matmul_steps(v[0], v[1], 3, false));
        let inputs = [plain(rows, 3 * input), plain(3 * out, input)];
        let name = format!("dense/heads/{rows}x{input}x{out}");
        list.add(name, &inputs, |t, v| t.head_products(v[0], v[1], 3, true));
    }
    for (rows, width) in [(2000, 6), (700, 256), (50, 300)] {
        let inputs = [plain(rows, width), small(2, width), plain(1, 2)];
        list.add(format!("dense/readout/{rows}x{width}"), &inputs, |t, v| {
            t.readout(v[0], v[1], v[2])
        });
    }
    // A gradient that two layers add to.
    for rows in [500, 1300] {
        list.add(format!("dense/twice/{rows}"), &[plain(rows, 8), plain(12, 8)], |t, v| {
            let first = t.linear(v[0], v[1], None, Activation::Tanh)?;
            let second = t.linear(v[0], v[1], None, Activation::Sigmoid)?;
            t.mul(first, second)
        });
    }
    list.add("dense/sums", &[plain(40_000, 3)], |t, v| Ok(t.mean(v[0])));
}
