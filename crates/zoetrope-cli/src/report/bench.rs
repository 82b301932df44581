//! A paper that was re-run: tables in Markdown, and pictures.

use std::fmt::Write;

use crate::command::bench::esdg::{Found, Scaling};
use crate::command::bench::points::Point;

fn ms(point: Option<&Point>) -> String {
    point.map_or("–".to_owned(), |point| format!("{:.1}", point.seconds * 1e3))
}

fn table(text: &mut String, heading: &[&str], rows: &[Vec<String>]) {
    let _ = writeln!(text, "| {} |", heading.join(" | "));
    let _ = writeln!(text, "|{}", " --- |".repeat(heading.len()));
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text.push('\n');
}

/// The report.
pub(crate) fn render(found: &Found) -> String {
    let mut text = format!(
        "# ESDG, simulated on {}\n\n\
         Printed: {}. Figures 4, 5 and 7 are charts: of them only what the text says in numbers or words is \
         compared. Simulated: what Zoetrope's program would do, not the authors' PyTorch; the machine is not \
         calibrated, and no run on several physical GPUs was made. Sizes of data sets are those of table 1; how \
         much snapshots change is not printed and was assumed (crates/zoetrope-sim/papers/esdg.toml). \
         \"Agrees\": the same winner, a knee within one doubling, a factor within a factor of two.\n\n",
        found.machine, found.source
    );
    text.push_str("## What the paper says\n\n");
    let rows: Vec<Vec<String>> = found
        .verdicts
        .iter()
        .map(|one| {
            let agrees = if one.agrees { "yes" } else { "**no**" }.to_owned();
            vec![one.what.clone(), one.printed.clone(), one.simulated.clone(), agrees]
        })
        .collect();
    table(&mut text, &["what", "printed", "simulated", "agrees"], &rows);
    partitions(&mut text, found);
    text.push_str("## Strong scaling (figures 4 and 5)\n\n");
    text.push_str(
        "Milliseconds of an epoch. Transfer, compute, communicate and wait are the mean rank's and overlap.\n\n",
    );
    for one in &found.strong {
        strong(&mut text, one, &found.modern);
    }
    text.push_str("## Weak scaling (figure 7)\n\n");
    for one in &found.weak {
        let _ = write!(text, "{}: printed {:.0} × at 128", one.model, one.printed);
        if let (Some(speedup), Some(last)) = (one.speedup, one.points.last()) {
            let _ = write!(text, ", simulated {speedup:.1} × at {}", last.ranks);
        }
        if let Some(speedup) = one.modern_speedup {
            let _ = write!(text, ", {speedup:.1} × on {}", found.modern);
        }
        text.push_str("\n\n");
        let row = |point: &Point| {
            vec![point.ranks.to_string(), ms(Some(point)), point.blocks.to_string()]
        };
        let rows: Vec<Vec<String>> = one.points.iter().map(row).collect();
        table(&mut text, &["ranks", "ms", "blocks"], &rows);
    }
    text
}

fn partitions(text: &mut String, found: &Found) {
    if found.table2.is_empty() {
        return;
    }
    text.push_str("## Table 2: amlsim by snapshot and by vertex\n\n");
    text.push_str(
        "Volumes are billions of floats between ranks. Rows by vertex are those of a random partition, the paper's \
         those of PaToH. Ratios are printed over simulated.\n\n",
    );
    let floats = |point: Option<&Point>| {
        point.map_or("–".to_owned(), |point| format!("{:.1}", point.sent_bytes as f64 / 4e9))
    };
    let some = |value: Option<f64>| value.map_or("DNR".to_owned(), |value| value.to_string());
    let rows: Vec<Vec<String>> = found
        .table2
        .iter()
        .map(|row| {
            let (printed, snapshot, vertex) =
                (&row.printed, row.snapshot.as_ref(), row.vertex.as_ref());
            vec![
                printed.model.clone(),
                printed.ranks.to_string(),
                format!("{} / {}", printed.snapshot_gigafloats, some(printed.vertex_gigafloats)),
                format!("{} / {}", floats(snapshot), floats(vertex)),
                format!("{} / {}", printed.snapshot_ms, some(printed.vertex_ms)),
                format!("{} / {}", ms(snapshot), ms(vertex)),
                snapshot.map_or("–".to_owned(), |point| {
                    format!("{:.1} ×", printed.snapshot_ms / (point.seconds * 1e3))
                }),
            ]
        })
        .collect();
    let heading = [
        "model",
        "ranks",
        "printed volume, snapshot / vertex",
        "simulated volume",
        "printed ms, snapshot / vertex",
        "simulated ms",
        "ratio, snapshot",
    ];
    table(text, &heading, &rows);
}

fn strong(text: &mut String, one: &Scaling, modern: &str) {
    let _ = writeln!(text, "### {} on {}\n", one.model, one.dataset);
    let at = |points: &'_ [Point], ranks: usize| {
        points.iter().find(|point| point.ranks == ranks).cloned()
    };
    let rows: Vec<Vec<String>> = one
        .differences
        .iter()
        .map(|point| {
            let part = |seconds: f64| format!("{:.1}", seconds * 1e3);
            vec![
                point.ranks.to_string(),
                point.blocks.to_string(),
                ms(at(&one.base, point.ranks).as_ref()),
                ms(Some(point)),
                part(point.transfer),
                part(point.compute),
                part(point.communicate),
                part(point.wait),
                ms(at(&one.modern, point.ranks).as_ref()),
            ]
        })
        .collect();
    let heading = [
        "ranks",
        "blocks",
        "base",
        "differences",
        "transfer",
        "compute",
        "communicate",
        "wait",
        modern,
    ];
    table(text, &heading, &rows);
}

/// Sides of a chart, and of the room that its labels take.
const CHART: [f64; 2] = [220.0, 150.0];
const LABELS: f64 = 34.0;
const COLOURS: [&str; 3] = ["#999", "#1b6ca8", "#c0392b"];

/// Strong scaling as charts, both axes by doublings.
pub(crate) fn svg(found: &Found) -> String {
    let columns = 3;
    let lines = found.strong.len().div_ceil(columns);
    let [width, height] = CHART.map(|side| side + LABELS);
    let (all_width, all_height) = (width * columns as f64 + 10.0, height * lines as f64 + 50.0);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all_width:.0}\" height=\"{all_height:.0}\" font-family=\"sans-serif\" font-size=\"9\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"8\" y=\"14\" font-size=\"12\">Simulated seconds of an epoch by ranks: {}</text>\n",
        found.machine
    );
    let names = ["snapshots whole", "differences", &found.modern];
    for (at, (name, colour)) in names.into_iter().zip(COLOURS).enumerate() {
        let x = 8.0 + 120.0 * at as f64;
        let _ = writeln!(text, "<text x=\"{x}\" y=\"28\" fill=\"{colour}\">{name}</text>");
    }
    for (at, one) in found.strong.iter().enumerate() {
        let x = (at % columns) as f64 * width + LABELS;
        let y = (at / columns) as f64 * height + 46.0;
        chart(&mut text, one, [x, y]);
    }
    text.push_str("</svg>\n");
    text
}

fn chart(text: &mut String, one: &Scaling, [left, top]: [f64; 2]) {
    let series = [&one.base, &one.differences, &one.modern];
    let all = || series.into_iter().flatten().map(|point| point.seconds.log2());
    let (low, high) =
        (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let _ = writeln!(
        text,
        "<text x=\"{left}\" y=\"{:.1}\" font-weight=\"bold\">{} on {}</text>",
        top - 4.0,
        one.model,
        one.dataset
    );
    let [width, height] = [CHART[0] - 20.0, CHART[1] - 14.0];
    let x = |ranks: usize| left + (ranks as f64).log2() / 7.0 * width;
    let y = |value: f64| top + height - (value - low) / (high - low).max(1e-9) * height;
    let _ = writeln!(
        text,
        "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#ccc\"/>"
    );
    for ranks in [1, 8, 16, 128] {
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{ranks}</text>",
            x(ranks),
            top + height + 10.0
        );
    }
    for value in [low, high].into_iter().filter(|value| value.is_finite()) {
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:.2}</text>",
            left - 2.0,
            y(value) + 3.0,
            value.exp2()
        );
    }
    for (points, colour) in series.into_iter().zip(COLOURS) {
        let places: Vec<String> = points
            .iter()
            .map(|point| format!("{:.1},{:.1}", x(point.ranks), y(point.seconds.log2())))
            .collect();
        let places = places.join(" ");
        let _ = writeln!(
            text,
            "<polyline points=\"{places}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>"
        );
    }
}
