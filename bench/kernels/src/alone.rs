//! Every kernel by itself, without a peer: `bench-kernels alone [FILTER]`.
//!
//! Prints the shortest of many runs (the machine may be busy) and the rate against what bounds
//! it: bytes that must move or multiply-adds. `RAYON_NUM_THREADS=1` measures one core.

use std::time::{Duration, Instant};

use zoetrope_graph::random::Random;
use zoetrope_tensor::cpu::activation::{self, Activation};
use zoetrope_tensor::cpu::arranged::Arranged;
use zoetrope_tensor::cpu::attention::{
    self, AttentionLayer, AttentionRule, AttentionShape, LayerGradients,
};
use zoetrope_tensor::cpu::dropout::{self, Cells, Dropout, DropoutKey};
use zoetrope_tensor::cpu::elementwise::{self, Instr};
use zoetrope_tensor::cpu::gat::{self, Gat};
use zoetrope_tensor::cpu::gru::{self, GruCall, GruGradients, GruKind, GruShape};
use zoetrope_tensor::cpu::lstm::{self, LstmCall, LstmGradients, LstmShape};
use zoetrope_tensor::cpu::matmul::{Accumulate, MatMut, MatRef, linear, matmul};
use zoetrope_tensor::cpu::optimiser::{self, Adam};
use zoetrope_tensor::cpu::recurrent::{Input, InputGradient, InputRows};
use zoetrope_tensor::cpu::spmm::{CsrRef, spmm};
use zoetrope_tensor::cpu::{loss, norm, reduce, simd, softmax};

/// Times the kernels whose name contains `filter`.
pub(crate) fn run(filter: &str) {
    Bench { filter: filter.to_owned() }.all();
}

struct Bench {
    filter: String,
}

impl Bench {
    fn all(&self) {
        println!("{} on {} threads", simd::level(), rayon::current_num_threads());
        self.dense();
        self.element_wise();
        self.rows();
        self.training();
        self.sparse();
        self.recurrent();
        self.attentions();
    }

    /// `bytes` and `flops` (multiply-adds times two) are what the kernel cannot do without.
    fn time(&self, name: &str, bytes: usize, flops: usize, mut f: impl FnMut()) {
        if !name.contains(&self.filter) {
            return;
        }
        f();
        let (mut best, start) = (Duration::MAX, Instant::now());
        let mut runs = 0;
        while runs < 5 || start.elapsed() < Duration::from_millis(150) {
            let begin = Instant::now();
            f();
            best = best.min(begin.elapsed());
            runs += 1;
        }
        let seconds = best.as_secs_f64();
        println!(
            "{name:40} {:10.1} us {:8.2} GB/s {:8.2} GFLOP/s",
            seconds * 1e6,
            bytes as f64 / seconds * 1e-9,
            flops as f64 / seconds * 1e-9
        );
    }

    fn dense(&self) {
        for (m, n, k) in [
            (129, 96, 8),
            (129, 32, 32),
            (2048, 96, 32),
            (20_000, 96, 32),
            (20_000, 32, 64),
            (1024, 1024, 1024),
            (96, 32, 20_000),
            (12, 40_000, 12),
            (20_000, 1, 32),
            (20_000, 32, 2),
            (20_000, 2, 32),
            (20_000, 8, 96),
            (32, 2, 20_000),
            (20_000, 32, 8),
        ] {
            let (a, b) = (numbers(m * k), numbers(k * n));
            let mut c = vec![0.0; m * n];
            let bytes = 4 * (m * k + k * n + m * n);
            self.time(&format!("matmul {m}x{n}x{k}"), bytes, 2 * m * n * k, || {
                let c = MatMut::new(&mut c, m, n);
                matmul(MatRef::new(&a, m, k), MatRef::new(&b, n, k).t(), c, Accumulate::Overwrite);
            });
            self.time(&format!("matmul at {m}x{n}x{k}"), bytes, 2 * m * n * k, || {
                let c = MatMut::new(&mut c, m, n);
                matmul(MatRef::new(&a, k, m).t(), MatRef::new(&b, k, n), c, Accumulate::Overwrite);
            });
        }
        let (m, n, k) = (20_000, 32, 32);
        let (a, b, bias) = (numbers(m * k), numbers(k * n), numbers(n));
        let mut c = vec![0.0; m * n];
        self.time("linear tanh 20000x32x32", 4 * m * (n + k), 2 * m * n * k, || {
            let c = MatMut::new(&mut c, m, n);
            let (a, b) = (MatRef::new(&a, m, k), MatRef::new(&b, n, k).t());
            linear(a, b, Some(&bias), Activation::Tanh, c, Accumulate::Overwrite);
        });
    }

    fn element_wise(&self) {
        for len in [4096, 65_536, 4_000_000] {
            let (a, b) = (numbers(len), numbers(len));
            let mut y = vec![0.0; len];
            self.time(&format!("copy {len}"), 8 * len, 0, || y.copy_from_slice(&a));
            self.time(&format!("add {len}"), 12 * len, len, || elementwise::add(&a, &b, &mut y));
            for activation in
                [Activation::Relu, Activation::Sigmoid, Activation::Tanh, Activation::Softplus]
            {
                self.time(&format!("{activation:?} {len}"), 8 * len, 0, || {
                    activation::forward(activation, &a, &mut y);
                });
            }
            let gate = [Instr::Input(0), Instr::Sigmoid, Instr::Input(1), Instr::Tanh, Instr::Mul];
            self.time(&format!("chain sigmoid*tanh {len}"), 12 * len, 0, || {
                elementwise::chain_forward(&gate, &[&a, &b], &mut y);
            });
            self.time(&format!("sum {len}"), 4 * len, len, || {
                std::hint::black_box(reduce::sum(&a));
            });
            self.time(&format!("dropout {len}"), 8 * len, 0, || {
                let key = DropoutKey { seed: 1, stream: 2, step: 3 };
                let dropout = Dropout { p: 0.5, key };
                dropout::dropout_forward(&a, dropout, &Cells::default(), 1, &mut y);
            });
        }
        for cols in [1, 2, 3, 8, 32, 96] {
            let rows = 1_000_000 / cols;
            let (x, mut out) = (numbers(rows * cols), vec![0.0; cols]);
            self.time(&format!("column sums x{cols}"), 4 * rows * cols, rows * cols, || {
                reduce::column_sums(&x, rows, cols, &mut out);
            });
        }
    }

    fn rows(&self) {
        let (rows, cols) = (4096, 32);
        let len = rows * cols;
        let (x, dy, bias, s) = (numbers(len), numbers(len), numbers(cols), numbers(rows));
        let (mut y, mut dx) = (vec![0.0; len], vec![0.0; len]);
        let [mut mean, mut inverse, mut dw, mut db] = [(); 4].map(|()| vec![0.0; cols]);
        let mut statistics = vec![0.0; 2 * rows];
        let (w, b) = (Some(&bias[..]), Some(&bias[..]));
        self.time("rows add bias", 8 * len, len, || {
            elementwise::add_bias(&x, &bias, rows, cols, &mut y);
        });
        self.time("rows scale", 8 * len, len, || {
            elementwise::row_scale(&x, &s, rows, cols, &mut y);
        });
        self.time("rows softmax", 8 * len, 0, || softmax::softmax_rows(&x, cols, &mut y));
        self.time("rows softmax back", 16 * len, 0, || {
            softmax::softmax_rows_backward(&y, cols, &dy, &mut dx);
        });
        self.time("rows batch norm", 12 * len, 0, || {
            norm::batch_statistics(&x, rows, cols, 1e-5, &mut mean, &mut inverse);
            norm::batch_norm_forward(&x, cols, &mean, &inverse, w, b, &mut y);
        });
        self.time("rows batch norm back", 20 * len, 0, || {
            let (dx, dw, db) = (Some(&mut dx[..]), Some(&mut dw[..]), Some(&mut db[..]));
            let mode = Accumulate::Overwrite;
            norm::batch_norm_backward(&x, cols, &mean, &inverse, w, &dy, dx, mode, dw, db);
        });
        self.time("rows layer norm", 8 * len, 0, || {
            norm::layer_norm_forward(&x, cols, 1e-5, w, b, &mut y, &mut statistics);
        });
        self.time("rows layer norm back", 16 * len, 0, || {
            let (dx, dw, db) = (Some(&mut dx[..]), Some(&mut dw[..]), Some(&mut db[..]));
            norm::layer_norm_backward(&x, cols, &statistics, w, &dy, dx, dw, db);
        });
    }

    fn training(&self) {
        let len = 131_072;
        let (p, t) = (numbers(len), numbers(len));
        let [mut a, mut b, mut c] = [(); 3].map(|()| vec![0.1; len]);
        self.time("train mse", 8 * len, 0, || {
            std::hint::black_box(loss::mse(&p, &t, None));
        });
        self.time("train mse back", 16 * len, 0, || {
            loss::mse_backward(&p, &t, None, 1.0, &mut a);
        });
        self.time("train bce", 8 * len, 0, || {
            std::hint::black_box(loss::bce_with_logits(&p, &t, 1.0, None));
        });
        let target: Vec<u32> = (0..len as u32 / 8).map(|i| i % 8).collect();
        self.time("train cross entropy", 4 * len, 0, || {
            std::hint::black_box(loss::cross_entropy(&p, 8, &target, None));
        });
        self.time("train cross entropy back", 12 * len, 0, || {
            loss::cross_entropy_backward(&p, 8, &target, None, 1.0, &mut a);
        });
        let adam = Adam {
            lr: 1e-3,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            weight_decay: 0.0,
            decoupled: false,
        };
        self.time("train adam", 28 * len, 0, || {
            optimiser::adam_step(adam, 3, &mut a, &t, &mut b, &mut c);
        });
    }

    fn sparse(&self) {
        for (name, rows, degree) in [("small", 129, 17), ("large", 20_000, 10)] {
            let m = Arranged::new(graph(rows, degree).view(), rows);
            let entries = m.entries();
            for width in [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 100, 128] {
                let x = numbers(rows * width);
                let mut y = vec![0.0; rows * width];
                let bytes = 8 * entries + 8 * rows * width;
                self.time(&format!("spmm {name} w{width}"), bytes, 2 * entries * width, || {
                    spmm(&m, &x, width, &mut y, Accumulate::Overwrite);
                });
            }
        }
    }

    fn recurrent(&self) {
        for (steps, vertices, hidden) in
            [(8, 129, 32), (12, 512, 8), (12, 512, 16), (12, 512, 32), (12, 256, 64), (1, 4096, 32)]
        {
            let shape = GruShape { steps, vertices, hidden, whole: vertices };
            let (cells, h) = (steps * vertices, hidden);
            let (h0, d_out) = (numbers(vertices * h), numbers(cells * h));
            for kind in [GruKind::ResetAfter, GruKind::ResetBefore] {
                let (gi, u) = (numbers(cells * 3 * h), numbers(3 * h * h));
                let bias = numbers(3 * h);
                let mut out = vec![0.0; cells * h];
                let mut saved = vec![0.0; gru::gru_saved_len(kind, shape)];
                let name = format!("{kind:?} T{steps} N{vertices} H{h}");
                // With the input's share given, and with the product of as wide rows.
                let (x, weight) = (numbers(cells * h), numbers(3 * h * h));
                let rows = Input::Rows(InputRows {
                    x: &x[..],
                    beside: None,
                    weight: &weight[..],
                    bias: None,
                });
                for (name, input, products) in
                    [(name.clone(), Input::Gates(&gi[..]), 1), (format!("{name} rows"), rows, 2)]
                {
                    let (h0, u, bias) = (&h0[..], &u[..], Some(&bias[..]));
                    let call = GruCall { kind, shape, input, h0, u, bias, mask: None };
                    let flops = cells * 6 * h * h * products;
                    let bytes = 4 * (cells * 4 * h + saved.len());
                    self.time(&format!("gru {name}"), bytes, flops, || {
                        gru::gru_forward(&call, &mut out, &mut saved);
                    });
                    let d_x = [x.len(), gi.len()][2 - products];
                    let [mut d_x, mut d_weight, mut d_h0, mut d_u, mut d_bias] =
                        [d_x, weight.len(), h0.len(), u.len(), 3 * h].map(|len| vec![0.0; len]);
                    let bytes = 4 * (cells * 8 * h + saved.len());
                    self.time(&format!("gru back {name}"), bytes, 2 * flops, || {
                        let gradients = GruGradients {
                            input: InputGradient {
                                x: Some((&mut d_x[..], Accumulate::Overwrite)),
                                beside: None,
                                weight: (products == 2).then_some(&mut d_weight[..]),
                                bias: None,
                            },
                            h0: Some(&mut d_h0[..]),
                            u: Some(&mut d_u[..]),
                            bias: Some(&mut d_bias[..]),
                        };
                        gru::gru_backward(&call, &out, &saved, &d_out, gradients);
                    });
                }
            }
            self.lstm(LstmShape { steps, vertices, hidden, whole: vertices });
        }
    }

    fn lstm(&self, shape: LstmShape) {
        let (cells, h) = (shape.cells(), shape.hidden);
        let [h0, c0] = [(); 2].map(|()| numbers(shape.vertices * h));
        let (gi, u, bias) = (numbers(cells * 4 * h), numbers(4 * h * h), numbers(4 * h));
        let (mut out_h, mut out_c) = (vec![0.0; cells * h], c0.clone());
        let mut saved = vec![0.0; lstm::lstm_saved_len(shape)];
        let name = format!("T{} N{} H{h}", shape.steps, shape.vertices);
        // With the input's share given, and with the product of as wide rows.
        let (x, weight) = (numbers(cells * h), numbers(4 * h * h));
        let rows =
            Input::Rows(InputRows { x: &x[..], beside: None, weight: &weight[..], bias: None });
        for (name, input, products) in
            [(name.clone(), Input::Gates(&gi[..]), 1), (format!("{name} rows"), rows, 2)]
        {
            let (u, bias) = (Some(&u[..]), Some(&bias[..]));
            let call = LstmCall { shape, input, h0: &h0[..], c0: &c0[..], u, bias, mask: None };
            let flops = cells * 8 * h * h * products;
            self.time(&format!("lstm {name}"), 4 * cells * 10 * h, flops, || {
                lstm::lstm_forward(&call, &mut out_h, &mut out_c, &mut saved);
            });
            let d_h = numbers(cells * h);
            let [mut d_x, mut d_weight, mut d_h0, mut d_c0, mut d_u, mut d_bias] = [
                [x.len(), gi.len()][2 - products],
                weight.len(),
                h0.len(),
                c0.len(),
                u.map_or(0, <[f32]>::len),
                4 * h,
            ]
            .map(|len| vec![0.0; len]);
            self.time(&format!("lstm back {name}"), 4 * cells * 15 * h, 2 * flops, || {
                let gradients = LstmGradients {
                    input: InputGradient {
                        x: Some((&mut d_x[..], Accumulate::Overwrite)),
                        beside: None,
                        weight: (products == 2).then_some(&mut d_weight[..]),
                        bias: None,
                    },
                    h0: Some(&mut d_h0[..]),
                    c0: Some(&mut d_c0[..]),
                    u: Some(&mut d_u[..]),
                    bias: Some(&mut d_bias[..]),
                };
                lstm::lstm_backward(&call, &out_h, &saved, &d_h, None, None, gradients);
            });
        }
    }

    fn attentions(&self) {
        let rule =
            AttentionRule { mask: None, causal: true, scale: 0.3, dropout: None, numbers: None };
        for (steps, vertices, heads, width) in
            [(8, 500, 8, 64), (16, 100, 8, 128), (8, 2000, 4, 32), (16, 129, 4, 32)]
        {
            let shape = AttentionShape { steps, vertices, heads, width };
            let len = steps * vertices * width;
            let [q, k, v, d_out] = [(); 4].map(|()| numbers(len));
            let [mut out, mut dq, mut dk, mut dv] = [(); 4].map(|()| vec![0.0; len]);
            let name = format!("T{steps} N{vertices} heads{heads} D{width}");
            let flops = 2 * vertices * steps * (steps + 1) * width;
            let bytes = 4 * 4 * len;
            let inputs = [&q[..], &k, &v];
            self.time(&format!("attention {name}"), bytes, flops, || {
                attention::attention_forward(shape, rule, inputs, &mut out);
            });
            // With what is computed again.
            self.time(&format!("attention back {name}"), 2 * bytes, 3 * flops, || {
                let gradients = [&mut dq[..], &mut dk, &mut dv];
                attention::attention_backward(shape, rule, inputs, &d_out, gradients);
            });
            let [wq, wk, wv, weight] = [(); 4].map(|()| numbers(width * width));
            let (positions, bias) = (numbers(steps * width), numbers(width));
            let projections = [&wq[..], &wk, &wv];
            let layer =
                AttentionLayer { positions: &positions, projections, weight: &weight, bias: &bias };
            let flops = flops + 8 * len * width;
            self.time(&format!("attention layer {name}"), 8 * len, flops, || {
                attention::layer_forward(shape, rule, layer, &q, &mut out);
            });
            let [mut d_wq, mut d_wk, mut d_wv, mut d_weight] =
                [(); 4].map(|()| vec![0.0; width * width]);
            let (mut d_positions, mut d_bias) = (positions.clone(), bias.clone());
            self.time(&format!("attention layer back {name}"), 12 * len, 3 * flops, || {
                let gradients = LayerGradients {
                    x: Some((&mut dq, Accumulate::Overwrite)),
                    positions: Some(&mut d_positions),
                    projections: [Some(&mut d_wq), Some(&mut d_wk), Some(&mut d_wv)],
                    weight: Some(&mut d_weight),
                    bias: Some(&mut d_bias),
                };
                attention::layer_backward(shape, rule, layer, &q, &d_out, gradients);
            });
        }
        let m = graph(4000, 10);
        let edge_of: Vec<u32> = (0..m.columns.len() as u32).collect();
        for (heads, width) in [(1, 32), (4, 8), (8, 16), (16, 8)] {
            let gat = Gat { heads, width, slope: 0.2, weighted: false };
            let [xw, d_out] = [(); 2].map(|()| numbers(4000 * heads * width));
            let (a_src, a_dst) = (numbers(4000 * heads), numbers(4000 * heads));
            let (mut out, mut d_xw) = (vec![0.0; xw.len()], vec![0.0; xw.len()]);
            let mut alpha = vec![0.0; m.columns.len() * heads];
            let [mut d_src, mut d_dst] = [(); 2].map(|()| vec![0.0; a_src.len()]);
            let (entries, hd) = (m.columns.len(), heads * width);
            let bytes = 4 * (2 * xw.len() + alpha.len() + entries);
            self.time(&format!("gat heads{heads} D{width}"), bytes, 2 * entries * hd, || {
                let view = m.view();
                gat::gat_forward(gat, view, &xw, &a_src, &a_dst, None, &mut out, &mut alpha);
            });
            // The graph's own structure stands for its transpose: the work is the same.
            self.time(
                &format!("gat back heads{heads} D{width}"),
                2 * bytes,
                4 * entries * hd,
                || {
                    gat::gat_backward(
                        gat,
                        m.view(),
                        m.view(),
                        &edge_of,
                        &xw,
                        &a_src,
                        &a_dst,
                        None,
                        &alpha,
                        &d_out,
                        Some(&mut d_xw),
                        Some(&mut d_src),
                        Some(&mut d_dst),
                    );
                },
            );
        }
    }
}

fn numbers(len: usize) -> Vec<f32> {
    let random = Random::new(len as u64, 0);
    (0..len as u64).map(|i| (random.unit(i) * 2.0 - 1.0) as f32).collect()
}

struct Graph {
    offsets: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f32>,
}

impl Graph {
    fn view(&self) -> CsrRef<'_> {
        let Self { offsets, columns, values } = self;
        CsrRef { rows: offsets.len() - 1, offsets, columns, values }
    }
}

/// A graph whose degrees follow a power law with the given mean.
fn graph(rows: usize, degree: usize) -> Graph {
    let random = Random::new(7, 1);
    let mut offsets = vec![0u32];
    for row in 0..rows {
        let share = 1.0 / (random.unit(row as u64) + 0.05).sqrt();
        let count = (share * degree as f64 * 0.55) as u32;
        offsets.push(offsets[row] + count.min(rows as u32));
    }
    let entries = offsets[rows] as usize;
    let columns =
        (0..entries as u64).map(|i| random.below(rows as u64 + i, rows as u64) as u32).collect();
    Graph { offsets, columns, values: numbers(entries) }
}
