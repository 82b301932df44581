//! A machine that was measured: its file, its tables, tasks on it.

use zoetrope_plan::program::{Stream, TaskShape};
use zoetrope_plan::{Task, TaskKind};
use zoetrope_tensor::{Family, Floor, Operation};

use super::{cluster_of, task};
use crate::machine::calibration::{Calibration, Curve, Messages, Scaling, Table};
use crate::machine::{Machine, MachineError};
use crate::operators::{Miniatures, Operators, ScaledOperation, StageOperators};
use crate::work::ModelFacts;

fn table(fraction: f64) -> Table {
    let points = 2 * 2 * 2;
    Table {
        rows: vec![100.0, 10_000.0],
        inner: vec![1.0, 100.0],
        width: vec![10.0, 1000.0],
        forward: (0..points).map(|at| fraction * (at + 1) as f64).collect(),
        backward: vec![fraction; points],
        scaling: vec![Scaling {
            threads: 2,
            gain: Curve { at: vec![1e-6, 1e-2], is: vec![1.0, 2.0] },
        }],
    }
}

fn calibration() -> Calibration {
    let curve = || Curve { at: vec![64.0, 1e6], is: vec![1e-5, 1e-3] };
    Calibration {
        date: "2026-11-19 12:00 UTC".to_owned(),
        program: "0.1.0".to_owned(),
        host: "a \"processor\" \\ 2 threads".to_owned(),
        spread: 0.0625,
        tables: vec![(Family::Sparse, table(0.125)), (Family::Dense, table(0.25))],
        skew: Some(Curve { at: vec![0.001, 2.0], is: vec![1.0, 1.5] }),
        pair_seconds: Some(2e-8),
        optimiser: Some(Curve { at: vec![256.0, 1e6], is: vec![1e-6, 1e-3] }),
        messages: Some(Messages {
            point_to_point: curve(),
            all_to_all: curve(),
            all_reduce: curve(),
        }),
    }
}

fn measured(text: &str) -> Result<Machine, MachineError> {
    let file = Machine::text_of("laptop").unwrap().to_owned() + text;
    Machine::parse(&file, "my.toml")
}

#[test]
fn what_was_measured_is_read_as_it_was_written() {
    let machine = measured(&calibration().text()).unwrap();
    assert_eq!(machine.calibration, Some(calibration()));
    assert_eq!(measured("").unwrap().calibration, None);
}

#[track_caller]
fn expect_refusal(from: &str, to: &str, expected: &str) {
    let text = calibration().text();
    assert!(text.contains(from), "{from} in {text}");
    let message = measured(&text.replacen(from, to, 1)).unwrap_err().to_string();
    assert!(message.contains(expected), "{message}");
}

#[test]
fn wrong_tables_are_told_with_line_and_key() {
    let line = Machine::text_of("laptop").unwrap().lines().count() + 2;
    expect_refusal("date = \"2026", "dates = \"2026", "did you mean `calibration.date`?");
    expect_refusal(
        "spread = 0.0625",
        "spread = -1",
        &format!("my.toml:{}: calibration.spread: expected a number 0 or more", line + 4),
    );
    expect_refusal(
        "rows = [100, 10000]",
        "rows = [10000, 100]",
        "each greater than the one before",
    );
    expect_refusal(
        "[100, 10000]",
        "[100, 1000, 10000]",
        "calibration.sparse.forward: expected 12 numbers",
    );
    expect_refusal("width = [10, 1000]", "width = []", "calibration.sparse.width");
    expect_refusal(
        "[calibration.sparse]",
        "[calibration.sparce]",
        "unknown key `calibration.sparce",
    );
    expect_refusal("0.12500, 0.25000", "0, 0.25000", "above 0");
}

#[test]
fn fractions_are_those_of_the_points_and_between_them_on_a_line_of_logarithms() {
    let table = table(0.125);
    let at = |rows, inner, width| table.fraction(&table.forward, [rows, inner, width]);
    let close =
        |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-12, "{found}");
    close(at(100.0, 1.0, 10.0), 0.125);
    close(at(10_000.0, 100.0, 1000.0), 1.0);
    close(at(100.0, 100.0, 10.0), 0.375);
    close(at(1000.0, 1.0, 10.0), (0.125 * 0.625_f64).sqrt());
    // Beyond the largest as there; fewer rows than the fewest take as long as those.
    close(at(1e6, 100.0, 1e5), 1.0);
    close(at(10.0, 1.0, 10.0), 0.0125);
}

#[test]
fn threads_gain_what_was_measured_for_work_of_that_length() {
    let machine = measured(&calibration().text()).unwrap();
    let calibration = machine.calibration.as_ref().unwrap();
    let floor = Floor { bytes: 12e9, flops: 0.0 };
    let operation = Operation {
        family: Family::Sparse,
        rows: 100.0,
        inner: 1.0,
        width: 10.0,
        forward: floor,
        backward: floor,
    };
    let seconds =
        |threads| calibration.seconds(&machine.device, &operation, false, threads).unwrap();
    assert!((seconds(1) - 8.0).abs() < 1e-9, "{}", seconds(1));
    assert!((seconds(2) - 4.0).abs() < 1e-9, "{}", seconds(2));
    let other = Operation { family: Family::Lstm, ..operation };
    assert_eq!(calibration.seconds(&machine.device, &other, false, 1), None);
}

/// A model of one product with the graph, whose floor is 100 bytes for each vertex and 10 for each edge.
fn one_product() -> Operators {
    let sizes = Miniatures { steps: 2, vertices: 10, more_vertices: 20, edges: 30, more_edges: 90 };
    let recorded = |vertices: f64, edges: f64| {
        let bytes = 2.0 * (100.0 * vertices + 10.0 * edges);
        let floor = Floor { bytes, flops: 0.0 };
        Operation {
            family: Family::Sparse,
            rows: vertices,
            inner: edges / vertices,
            width: 10.0,
            forward: floor,
            backward: floor,
        }
    };
    let three = [recorded(10.0, 30.0), recorded(20.0, 30.0), recorded(10.0, 90.0)];
    let [few, wide, dense] = &three;
    let operation = ScaledOperation::through([few, wide, dense], &sizes).unwrap();
    let stage = StageOperators { kind: TaskKind::Structure, layer: 0, operations: vec![operation] };
    Operators { steps: 2, stages: vec![stage], edges_per_row: 0.0, skew: 0.0, threads: 1 }
}

#[test]
fn a_task_takes_what_its_operators_do_at_its_size() {
    let structure = |rows: u64, edges: u64| {
        let shape = TaskShape { rows, edges, inputs: 10, outputs: 10 };
        let plain = task(TaskKind::Structure, Stream::Compute, None, &[]);
        Task { shape: Some(shape), layer: Some(0), frame: Some(0), ..plain }
    };
    let back = Task { frame: Some(0), ..task(TaskKind::Backward, Stream::Compute, None, &[0]) };
    let model = ModelFacts { operators: Some(one_product()), ..ModelFacts::default() };
    let machine = cluster_of(1, 1, "direct", "1 ms", "");
    let work = model.work_of(&[structure(2000, 8000), back.clone()], &machine);
    let bytes = 100.0 * 2000.0 + 10.0 * 8000.0;
    for work in &work {
        assert!((work.sparse_bytes / bytes - 1.0).abs() < 1e-12, "{work:?}");
    }
    // Measured: 280 kB in rows of 1,000 with 4 entries each.
    let machine = measured(&calibration().text()).unwrap();
    let work = model.work_of(&[structure(2000, 8000), back], &machine);
    let table = table(0.125);
    let fraction = table.fraction(&table.forward, [1000.0, 4.0, 10.0]);
    let expected = bytes / 12e9 / fraction;
    assert!((work[0].measured_seconds / expected - 1.0).abs() < 1e-6, "{work:?}");
    assert!((work[1].measured_seconds * 12e9 * 0.125 / bytes - 1.0).abs() < 1e-6, "{work:?}");
    assert_eq!(work[0].launches, 0.0);
}

#[test]
fn tables_of_all_families_are_read_and_written() {
    let all: Vec<(Family, Table)> =
        Family::ALL.iter().map(|&family| (family, table(0.5))).collect();
    let calibration = Calibration { tables: all, ..calibration() };
    let machine = measured(&calibration.text()).unwrap();
    assert_eq!(machine.calibration, Some(calibration));
}
