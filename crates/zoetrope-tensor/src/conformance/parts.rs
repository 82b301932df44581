//! Parts of matrices, matrices put together, and operands that look at one matrix.

use std::sync::Arc;

use crate::Activation;

use super::{List, constant, plain};

pub(super) fn add(list: &mut List) {
    for (rows, cols, from, to) in [(5, 3, 1, 4), (5, 17, 0, 5), (1, 1, 0, 1), (3, 2, 2, 2)] {
        let shape = format!("{rows}x{cols}/{from}..{to}");
        list.add(format!("rows/{shape}"), &[plain(rows, cols)], move |t, v| t.rows(v[0], from..to));
        let turned = plain(cols, rows);
        list.add(format!("columns/{shape}"), &[turned], move |t, v| t.columns(v[0], from..to));
    }
    for (rows, cols, other) in [(4, 3, 6), (1, 5, 5), (0, 3, 0), (2, 17, 1)] {
        list.add(format!("reshape/{rows}x{cols}"), &[plain(rows, cols)], move |t, v| {
            t.reshape(v[0], other, (rows * cols).checked_div(other).unwrap_or(cols))
        });
    }
    list.add("concat_rows", &[plain(2, 3), plain(0, 3), plain(1, 3)], |t, v| t.concat_rows(v));
    list.add("concat_rows/one", &[plain(2, 17)], |t, v| t.concat_rows(v));
    list.add("concat_columns", &[plain(3, 1), plain(3, 0), plain(3, 17), plain(3, 2)], |t, v| {
        t.concat_columns(v)
    });
    list.add("concat_columns/no_rows", &[plain(0, 1), plain(0, 2)], |t, v| t.concat_columns(v));
    let three = [plain(3, 4), plain(3, 17), plain(3, 2)];
    list.add("concat_ranges", &three, |t, v| {
        t.concat_ranges(&[(v[0], 1..3), (v[1], 0..17), (v[0], 2..2), (v[2], 1..2), (v[1], 16..17)])
    });
    list.add("concat_ranges/no_rows", &[plain(0, 3), plain(0, 2)], |t, v| {
        t.concat_ranges(&[(v[0], 1..3), (v[1], 0..1)])
    });
    list.add("concat_ranges/steps", &[plain(2, 3), constant(8, 3)], |t, v| {
        let (first, last) = (t.rows(v[1], 0..2)?, t.rows(v[1], 6..8)?);
        t.concat_ranges(&[(v[0], 0..3), (first, 0..3), (last, 2..3)])
    });
    let picks: [(&str, usize, usize, &[u32]); 5] = [
        ("repeated", 4, 3, &[3, 0, 0, 3, 3, 1]),
        ("one_row", 1, 17, &[0, 0, 0]),
        ("none", 3, 2, &[]),
        ("wide", 5, 17, &[4, 2]),
        ("narrow", 5, 1, &[1, 1, 4, 0]),
    ];
    for (name, rows, cols, indices) in picks {
        let indices = Arc::new(indices.to_vec());
        list.add(format!("gather/{name}"), &[plain(rows, cols)], move |t, v| {
            t.gather(v[0], &indices)
        });
    }
    let sums: [(&str, usize, usize, &[u32]); 4] = [
        ("repeated", 5, 3, &[3, 0, 0, 3, 3, 1]),
        ("one_row", 1, 17, &[0, 0, 0]),
        ("none", 3, 2, &[]),
        ("narrow", 5, 1, &[1, 1, 4, 0]),
    ];
    for (name, rows, cols, indices) in sums {
        let x = plain(indices.len(), cols);
        let indices = Arc::new(indices.to_vec());
        list.add(format!("scatter_add/{name}"), &[x], move |t, v| {
            t.scatter_add(v[0], &indices, rows)
        });
    }
    let none = Arc::new(Vec::new());
    list.add("scatter_add/no_rows", &[plain(0, 3)], move |t, v| t.scatter_add(v[0], &none, 0));
    one_matrix_seen_twice(list);
}

fn one_matrix_seen_twice(list: &mut List) {
    list.add("alias/rows_that_overlap", &[plain(5, 3)], |t, v| {
        let (a, b) = (t.rows(v[0], 0..4)?, t.rows(v[0], 1..5)?);
        t.mul(a, b)
    });
    list.add("alias/rows_apart", &[plain(6, 3)], |t, v| {
        let (a, b) = (t.rows(v[0], 0..3)?, t.rows(v[0], 3..6)?);
        t.matmul_turned(a, false, b, true)
    });
    list.add("alias/rows_of_a_result", &[plain(6, 3), plain(3, 3)], |t, v| {
        let product = t.matmul(v[0], v[1])?;
        let (a, b) = (t.rows(product, 0..2)?, t.rows(product, 4..6)?);
        t.matmul_turned(a, true, b, false)
    });
    list.add("alias/reshaped_parameter", &[plain(2, 6), plain(3, 4)], |t, v| {
        let x = t.reshape(v[0], 3, 4)?;
        let y = t.linear(x, v[1], None, Activation::Tanh)?;
        let weight = t.reshape(v[1], 4, 3)?;
        let y = t.linear(y, weight, None, Activation::Identity)?;
        let again = t.reshape(v[0], 3, 4)?;
        t.sub(y, again)
    });
    list.add("alias/row_range_of_a_reshape", &[plain(4, 6)], |t, v| {
        let tall = t.reshape(v[0], 8, 3)?;
        let middle = t.rows(tall, 2..6)?;
        t.matmul_turned(middle, true, middle, false)
    });
    let (first, second) = (Arc::new(vec![1, 1, 0]), Arc::new(vec![0, 2, 2]));
    list.add("alias/scattered_twice", &[plain(3, 2)], move |t, v| {
        let (a, b) = (t.scatter_add(v[0], &first, 3)?, t.scatter_add(v[0], &second, 3)?);
        t.mul(a, b)
    });
    list.add("alias/concatenated_twice", &[plain(3, 2)], |t, v| {
        let top = t.rows(v[0], 0..2)?;
        let tall = t.concat_rows(&[v[0], top, v[0]])?;
        t.concat_columns(&[tall, tall])
    });
    list.add("alias/ranges_that_overlap", &[plain(6, 5)], |t, v| {
        let product = t.mul(v[0], v[0])?;
        let (top, middle) = (t.rows(product, 0..3)?, t.rows(product, 2..5)?);
        t.concat_ranges(&[(top, 1..4), (middle, 0..5), (top, 3..5), (middle, 2..4), (top, 0..5)])
    });
    list.add("alias/linear_with_itself", &[plain(4, 4)], |t, v| {
        t.linear_plus(v[0], v[0], None, Some(v[0]), Activation::Tanh)
    });
}
