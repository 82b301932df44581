//! Sparse products on a GPU: microseconds and bytes per second for power-law graphs.
//!
//! ```sh
//! cargo run --release --example gpu_spmm -- --out DIR [--cases D5,D6] [--widths 2,6] [--rounds 30]
//! ```
//!
//! Prints one JSON document, and writes the first matrix of each case to DIR, by rows, as raw
//! little-endian numbers, for a peer to multiply with (`bench/gpu/cusparse.py`).
//!
//! Both ends of an edge are vertices `n·u^(1/0.3)` for even `u`, numbered in a random order: the
//! largest of n vertices with m edges has about `m·n^-0.3` of them, 26 thousand of a million.
//! Edges that occur twice stay. Each sample takes several calls between two events.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use zoetrope_graph::Csr;
use zoetrope_graph::random::Random;
use zoetrope_tensor::{Device, Gpu, Matrix, SparseGroup, SparseMatrix, Tape};

/// Snapshots of a group.
const GROUP: usize = 8;
/// Bytes of x beyond which groups are left out.
const X_BYTES_MAX: usize = 2 << 30;
/// Calls of a sample.
const CALLS: usize = 5;
/// What the GPU copies, bytes a second, read and written.
const COPY: f64 = 4.3e12;

struct Case {
    name: &'static str,
    vertices: u32,
    edges: usize,
}

const CASES: [Case; 3] = [
    // For a look at whether everything works.
    Case { name: "D0", vertices: 2_000, edges: 10_000 },
    Case { name: "D5", vertices: 200_000, edges: 1_000_000 },
    Case { name: "D6", vertices: 2_000_000, edges: 10_000_000 },
];

struct Asked {
    out: PathBuf,
    cases: String,
    widths: Vec<usize>,
    rounds: usize,
}

fn asked() -> Result<Asked, Box<dyn Error>> {
    let mut asked = Asked {
        out: PathBuf::from("."),
        cases: "D5,D6".to_owned(),
        widths: vec![2, 6, 16, 32, 64, 128, 256],
        rounds: 30,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} wants a value"))?;
        match name.as_str() {
            "--out" => asked.out = value.into(),
            "--cases" => asked.cases = value,
            "--widths" => {
                asked.widths = value.split(',').map(str::parse).collect::<Result<_, _>>()?
            }
            "--rounds" => asked.rounds = value.parse()?,
            _ => return Err(format!("no option {name}").into()),
        }
    }
    Ok(asked)
}

fn main() -> Result<(), Box<dyn Error>> {
    let asked = asked()?;
    std::fs::create_dir_all(&asked.out)?;
    let gpu = Gpu::open(0)?;
    let mut rows = Vec::new();
    let cases = CASES.iter().filter(|case| asked.cases.split(',').any(|name| name == case.name));
    for case in cases {
        let matrices: Vec<Csr> = (0..GROUP as u32).map(|step| draw(case, step)).collect();
        write(&asked.out.join(case.name), &matrices[0])?;
        eprintln!("{}: drawn", case.name);
        for side in ["matrix", "transpose"] {
            let turned = |matrix: &Csr| match side {
                "matrix" => matrix.clone(),
                _ => matrix.transpose(),
            };
            let sparse = |matrix: Csr| Arc::new(SparseMatrix::for_gpu(matrix));
            let members: Vec<_> = matrices.iter().map(|matrix| sparse(turned(matrix))).collect();
            let all = SparseGroup::new(members.into());
            let first = turned(&matrices[0]);
            for &width in &asked.widths {
                for members in [1, GROUP] {
                    let group = all.cut(0..members);
                    let bytes = group.vertices() * members * width * size_of::<f32>();
                    if members > 1 && bytes > X_BYTES_MAX {
                        continue;
                    }
                    let us = measure(&gpu, &group, width, asked.rounds, &first)?;
                    rows.push(row(case, side, width, &group, &first, us));
                    eprintln!("{} {side} width {width} × {members}: {us:.1} µs", case.name);
                }
            }
        }
    }
    if let Some(fault) = gpu.fault() {
        return Err(fault.into());
    }
    println!("{{\"card\":\"{}\",\"copy_bytes_per_second\":{COPY:e},\"rows\":[", gpu.name());
    println!("{}\n]}}", rows.join(",\n"));
    Ok(())
}

/// A matrix of the case; steps differ in all edges.
fn draw(case: &Case, step: u32) -> Csr {
    let vertices = case.vertices;
    let mut order: Vec<u32> = (0..vertices).collect();
    let random = Random::new(7, 1);
    for at in (1..vertices as usize).rev() {
        order.swap(at, random.below(at as u64, at as u64 + 1) as usize);
    }
    let random = Random::new(7, 2).at_step(step);
    let vertex = |word: u32| {
        let rank = f64::from(vertices) * (f64::from(word) / 4_294_967_296.0).powf(1.0 / 0.3);
        u64::from(order[rank as usize])
    };
    let mut keys: Vec<u64> = (0..case.edges as u64)
        .into_par_iter()
        .map(|edge| {
            let [source, destination, ..] = random.block(edge);
            vertex(destination) << 32 | vertex(source)
        })
        .collect();
    keys.par_sort_unstable();
    let first = |row: u32| keys.partition_point(|&key| key < u64::from(row) << 32) as u32;
    let mut offsets: Vec<u32> = (0..vertices).into_par_iter().map(first).collect();
    offsets.push(keys.len() as u32);
    let columns = keys.par_iter().map(|&key| key as u32).collect();
    let values = (0..keys.len()).into_par_iter().map(|at| number(at) + 1.0).collect();
    Csr::new(vertices, vertices, offsets, columns, values).expect("sorted edges")
}

/// Between −1/2 and 1/2.
fn number(at: usize) -> f32 {
    (((at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f32) / 16_777_216.0 - 0.5
}

fn write(path: &Path, matrix: &Csr) -> Result<(), Box<dyn Error>> {
    let words =
        |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    std::fs::write(path.with_extension("offsets"), words(matrix.row_offsets()))?;
    std::fs::write(path.with_extension("columns"), words(matrix.column_indices()))?;
    let values: Vec<u32> = matrix.values().iter().map(|value| value.to_bits()).collect();
    std::fs::write(path.with_extension("values"), words(&values))?;
    Ok(())
}

/// Microseconds of a product, the median of the samples; refuses a result that is wrong.
fn measure(
    gpu: &Gpu,
    group: &SparseGroup,
    width: usize,
    rounds: usize,
    first: &Csr,
) -> Result<f64, Box<dyn Error>> {
    let rows = group.vertices() * group.len();
    let mut x = Matrix::zeros(rows, width);
    x.as_mut_slice().par_iter_mut().enumerate().for_each(|(at, x)| *x = number(at));
    let x = Arc::new(x);
    let mut tape = Tape::on(Device::Cuda(gpu.clone()));
    let mut product = || {
        tape.reset();
        let x = tape.constant(&x, 0..rows)?;
        tape.spmm(group, x)
    };
    product()?;
    let mut samples: Vec<f64> = Vec::with_capacity(rounds);
    for _ in 0..rounds + 2 {
        let before = gpu.mark();
        for _ in 0..CALLS {
            product()?;
        }
        let after = gpu.mark();
        after.wait();
        samples.push(after.seconds_since(&before) * 1e6 / CALLS as f64);
    }
    let y = product()?;
    if rows * width <= 1 << 29 {
        check(first, &x, width, &tape.read(y))?;
    }
    // The first two warm up.
    let samples = &mut samples[2..];
    samples.sort_unstable_by(f64::total_cmp);
    Ok(samples[samples.len() / 2])
}

/// Compares rows of the first snapshot, the longest among them, with sums in f64.
fn check(matrix: &Csr, x: &Matrix, width: usize, y: &[f32]) -> Result<(), Box<dyn Error>> {
    let mut rows: Vec<u32> = (0..matrix.rows()).collect();
    rows.sort_by_key(|&row| std::cmp::Reverse(matrix.row(row).0.len()));
    let apart = (rows.len() / 500).max(1);
    let sampled = rows.iter().take(50).chain(rows.iter().step_by(apart));
    for &row in sampled {
        let (columns, values) = matrix.row(row);
        for column in [0, width / 2, width - 1] {
            let terms = columns.iter().zip(values).map(|(&source, &value)| {
                f64::from(value) * f64::from(x.row(source as usize)[column])
            });
            let (mut sum, mut scale) = (0.0, 1e-3);
            for term in terms {
                sum += term;
                scale += term.abs();
            }
            let got = f64::from(y[row as usize * width + column]);
            if (got - sum).abs() > 1e-5 * scale || got.is_nan() {
                let message = format!("row {row}, column {column}: {got} instead of {sum}");
                return Err(message.into());
            }
        }
    }
    Ok(())
}

/// One measurement as JSON. Bytes that must move: columns and values, a word a row, y; and of x each
/// row that occurs once (at least), or once for each entry (at most).
fn row(case: &Case, side: &str, width: usize, group: &SparseGroup, first: &Csr, us: f64) -> String {
    let longest = (0..first.rows()).map(|row| first.row(row).0.len()).max().unwrap_or(0);
    let mut seen = vec![false; first.cols() as usize];
    first.column_indices().iter().for_each(|&column| seen[column as usize] = true);
    let distinct = seen.iter().filter(|&&seen| seen).count() * group.len();
    let (entries, rows) = (group.entries(), group.vertices() * group.len());
    let line = 4 * width;
    let without_x = 8 * entries + 4 * rows + rows * line;
    let (least, most) = (without_x + distinct * line, without_x + entries * line);
    let seconds = us * 1e-6;
    let mut text = String::new();
    let _ = write!(
        text,
        "{{\"case\":\"{}\",\"side\":\"{side}\",\"width\":{width},\"snapshots\":{},\"longest_row\":{longest},\
         \"us\":{us:.2},\"least_bytes\":{least},\"most_bytes\":{most},\
         \"least_bytes_per_second\":{:.4e},\"most_bytes_per_second\":{:.4e},\"of_floor\":{:.3}}}",
        case.name,
        group.len(),
        least as f64 / seconds,
        most as f64 / seconds,
        least as f64 / COPY / seconds,
    );
    text
}
