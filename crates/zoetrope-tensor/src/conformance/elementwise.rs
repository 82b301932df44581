//! Sums, products, activations and chains.

use std::sync::Arc;

use crate::Instr::{
    Add, Const, Div, Exp, Input, LeakyRelu, Ln, Mul, Neg, OneMinus, Relu, Scale, Sigmoid, Sqrt,
    Square, Sub, Tanh,
};
use crate::{Cells, Chain, Dropout, DropoutKey, Instr};

use super::products::ACTIVATIONS;
use super::{List, plain, positive};

pub(super) fn add(list: &mut List) {
    for (rows, cols) in [(1, 1), (3, 5), (7, 17), (0, 3), (3, 0)] {
        let shape = format!("{rows}x{cols}");
        let (x, two) = (plain(rows, cols), [plain(rows, cols); 2]);
        list.add(format!("add/{shape}"), &two, |t, v| t.add(v[0], v[1]));
        list.add(format!("sub/{shape}"), &two, |t, v| t.sub(v[0], v[1]));
        list.add(format!("add_scaled/{shape}"), &two, |t, v| t.add_scaled(v[0], v[1], -0.75));
        list.add(format!("mul/{shape}"), &two, |t, v| t.mul(v[0], v[1]));
        list.add(format!("scale/{shape}"), &[x], |t, v| Ok(t.scale(v[0], 1.5)));
        list.add(format!("add_bias/{shape}"), &[x, plain(1, cols)], |t, v| t.add_bias(v[0], v[1]));
        list.add(format!("row_scale/{shape}"), &[x, plain(rows, 1)], |t, v| {
            t.row_scale(v[0], v[1])
        });
    }
    for (name, activation) in ACTIVATIONS {
        for (rows, cols) in [(1, 1), (5, 17), (0, 2)] {
            list.add(
                format!("activate/{name}/{rows}x{cols}"),
                &[plain(rows, cols)],
                move |t, v| Ok(t.activate(v[0], activation)),
            );
        }
    }
    same_matrix_twice(list);
    chains(list);
    list.add("dropout", &[plain(5, 17)], |t, v| {
        t.dropout(v[0], 0.25, DropoutKey { seed: 3, stream: 1, step: 7 })
    });
    // A first element inside of a block of four, one at its start, and vertices of their own.
    for (name, all, vertices) in
        [("inside", 5, None), ("between", 8, None), ("vertices", 11, Some(Arc::new(vec![9, 0, 4])))]
    {
        let cells = Cells { first_step: 3, all, vertices };
        list.add(format!("dropout/{name}"), &[plain(6, 17)], move |t, v| {
            let key = DropoutKey { seed: 3, stream: 1, step: 7 };
            t.dropout_of_cells(v[0], Dropout { p: 0.25, key }, cells.clone())
        });
    }
}

fn same_matrix_twice(list: &mut List) {
    list.add("add/same", &[plain(3, 5)], |t, v| t.add(v[0], v[0]));
    list.add("mul/same", &[plain(3, 5)], |t, v| t.mul(v[0], v[0]));
    list.add("row_scale/same", &[plain(5, 1)], |t, v| t.row_scale(v[0], v[0]));
    list.add("add_bias/same", &[plain(1, 5)], |t, v| t.add_bias(v[0], v[0]));
    list.add("chain/same", &[plain(3, 5)], |t, v| {
        t.chain(chain(&[Input(0), Input(1), Tanh, Mul]), &[v[0], v[0]])
    });
}

fn chain(program: &[Instr]) -> Chain {
    Chain::new(program).expect("a program that fits")
}

fn chains(list: &mut List) {
    let programs: [(&str, usize, &[Instr]); 5] = [
        ("product", 2, &[Input(0), Input(1), Mul, Tanh]),
        // The new state of a GRU: z∘h + (1 − z)∘tanh(n).
        (
            "gru",
            3,
            &[
                Input(0),
                Sigmoid,
                Input(1),
                Mul,
                Input(0),
                Sigmoid,
                OneMinus,
                Input(2),
                Tanh,
                Mul,
                Add,
            ],
        ),
        ("rational", 2, &[Input(0), Const(0.5), Sub, Input(1), Div, Square, Neg, Scale(0.3)]),
        ("kinks", 2, &[Input(0), Relu, Input(1), LeakyRelu(0.1), Sub]),
        ("roots", 3, &[Input(0), Sqrt, Input(1), Ln, Mul, Input(2), Neg, Exp, Add]),
    ];
    for (name, inputs, program) in programs {
        for (rows, cols) in [(1, 1), (3, 5), (19, 17), (0, 2)] {
            let operands = vec![positive(rows, cols); inputs];
            let operands = match name {
                "roots" => operands,
                "rational" => vec![plain(rows, cols), positive(rows, cols)],
                _ => vec![plain(rows, cols); inputs],
            };
            let program = chain(program);
            list.add(format!("chain/{name}/{rows}x{cols}"), &operands, move |t, v| {
                t.chain(program, v)
            });
        }
    }
}
