//! The section `calibration` of a machine file: reading it, and writing it.

use std::fmt::Write;

use zoetrope_tensor::Family;

use super::calibration::{Calibration, Curve, Messages, Scaling, Table};
use super::fields::{Fields, NOT_NEGATIVE, POSITIVE};

/// The keys of a table.
struct TableKeys {
    family: Family,
    section: &'static str,
    rows: &'static str,
    inner: &'static str,
    width: &'static str,
    forward: &'static str,
    backward: &'static str,
    threads: &'static str,
    seconds: &'static str,
    gain: &'static str,
}

macro_rules! table_keys {
    ($($family:ident $name:literal),*) => {
        const TABLES: [TableKeys; 14] = [$(TableKeys {
            family: Family::$family,
            section: concat!("calibration.", $name),
            rows: concat!("calibration.", $name, ".rows"),
            inner: concat!("calibration.", $name, ".inner"),
            width: concat!("calibration.", $name, ".width"),
            forward: concat!("calibration.", $name, ".forward"),
            backward: concat!("calibration.", $name, ".backward"),
            threads: concat!("calibration.", $name, ".threads"),
            seconds: concat!("calibration.", $name, ".seconds"),
            gain: concat!("calibration.", $name, ".gain"),
        }),*];
    };
}

table_keys!(
    Sparse "sparse", TimeProduct "time_product", Dense "dense", Elementwise "elementwise", Gru "gru", Lstm "lstm",
    Evolve "evolve", Attention "attention", GraphAttention "graph_attention", Norm "norm",
    Dropout "dropout", Gather "gather", Pairs "pairs", Loss "loss"
);

/// The keys of a curve.
struct CurveKeys {
    section: &'static str,
    at: &'static str,
    is: &'static str,
}

const SKEW: CurveKeys = CurveKeys {
    section: "calibration.skew",
    at: "calibration.skew.of",
    is: "calibration.skew.times",
};

const OPTIMISER: CurveKeys = CurveKeys {
    section: "calibration.optimiser",
    at: "calibration.optimiser.weights",
    is: "calibration.optimiser.seconds",
};

macro_rules! message_keys {
    ($const:ident $name:literal) => {
        const $const: CurveKeys = CurveKeys {
            section: concat!("calibration.", $name),
            at: concat!("calibration.", $name, ".bytes"),
            is: concat!("calibration.", $name, ".seconds"),
        };
    };
}

message_keys!(POINT_TO_POINT "point_to_point");
message_keys!(ALL_TO_ALL "all_to_all");
message_keys!(ALL_REDUCE "all_reduce");

impl CurveKeys {
    fn read(&self, fields: &Fields<'_>) -> Curve {
        let at = fields.numbers(self.at, &POSITIVE, true);
        let is = fields.values(self.is, at.len());
        Curve { at, is }
    }

    fn read_if(&self, fields: &Fields<'_>) -> Option<Curve> {
        fields.has(self.section).then(|| self.read(fields))
    }

    fn write(&self, text: &mut String, curve: &Curve) {
        let key = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
        let _ = writeln!(text, "\n[{}]", self.section);
        let _ = writeln!(text, "{} = {}", key(self.at), list(&curve.at));
        let _ = writeln!(text, "{} = {}", key(self.is), list(&curve.is));
    }
}

fn read_table(fields: &Fields<'_>, keys: &TableKeys) -> Table {
    let axis = |key| fields.numbers(key, &POSITIVE, true);
    let (rows, inner, width) = (axis(keys.rows), axis(keys.inner), axis(keys.width));
    let points = rows.len() * inner.len() * width.len();
    let forward = fields.values(keys.forward, points);
    let backward = fields.values(keys.backward, points);
    let threads = fields.numbers_if(keys.threads, &POSITIVE, true).unwrap_or_default();
    let mut scaling = Vec::new();
    if !threads.is_empty() {
        let seconds = fields.numbers(keys.seconds, &POSITIVE, true);
        let gain = fields.values(keys.gain, threads.len() * seconds.len());
        for (threads, gain) in threads.iter().zip(gain.chunks(seconds.len())) {
            let gain = Curve { at: seconds.clone(), is: gain.to_vec() };
            scaling.push(Scaling { threads: *threads as usize, gain });
        }
    }
    Table { rows, inner, width, forward, backward, scaling }
}

/// What a file says that was measured.
pub(super) fn read(fields: &Fields<'_>) -> Calibration {
    let has_messages = [&POINT_TO_POINT, &ALL_TO_ALL, &ALL_REDUCE];
    let has_messages = has_messages.iter().any(|keys| fields.has(keys.section));
    Calibration {
        date: fields.text("calibration.date"),
        program: fields.text("calibration.program"),
        host: fields.text("calibration.host"),
        spread: fields.number_if("calibration.spread", &NOT_NEGATIVE).unwrap_or(0.0),
        tables: TABLES
            .iter()
            .filter(|keys| fields.has(keys.section))
            .map(|keys| (keys.family, read_table(fields, keys)))
            .collect(),
        skew: SKEW.read_if(fields),
        pair_seconds: fields.number_if("calibration.pair_seconds", &POSITIVE),
        optimiser: OPTIMISER.read_if(fields),
        messages: has_messages.then(|| Messages {
            point_to_point: POINT_TO_POINT.read(fields),
            all_to_all: ALL_TO_ALL.read(fields),
            all_reduce: ALL_REDUCE.read(fields),
        }),
    }
}

fn list(numbers: &[f64]) -> String {
    // Four digits are more than any measurement has.
    let short = |number: &f64| match *number {
        whole if whole.fract() == 0.0 && whole.abs() < 1e12 => format!("{whole:.0}"),
        number if !(1e-3..1e6).contains(&number.abs()) => format!("{number:.4e}"),
        number => format!("{number:.5}"),
    };
    let all: Vec<String> = numbers.iter().map(short).collect();
    format!("[{}]", all.join(", "))
}

impl Calibration {
    /// The section of a machine file that says the same.
    pub fn text(&self) -> String {
        let mut text = String::from("\n[calibration]\n");
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let _ = writeln!(text, "date = {}", quoted(&self.date));
        let _ = writeln!(text, "program = {}", quoted(&self.program));
        let _ = writeln!(text, "host = {}", quoted(&self.host));
        let _ = writeln!(text, "spread = {:.4}", self.spread);
        if let Some(seconds) = self.pair_seconds {
            let _ = writeln!(text, "pair_seconds = {seconds:.4e}");
        }
        for keys in &TABLES {
            let Some(table) = self.table(keys.family) else { continue };
            let _ = writeln!(text, "\n[{}]", keys.section);
            for (name, numbers) in [
                ("rows", &table.rows),
                ("inner", &table.inner),
                ("width", &table.width),
                ("forward", &table.forward),
                ("backward", &table.backward),
            ] {
                let _ = writeln!(text, "{name} = {}", list(numbers));
            }
            let Some(first) = table.scaling.first() else { continue };
            let threads: Vec<f64> = table.scaling.iter().map(|one| one.threads as f64).collect();
            let gains = table.scaling.iter().flat_map(|one| one.gain.is.iter().copied());
            let _ = writeln!(text, "threads = {}", list(&threads));
            let _ = writeln!(text, "seconds = {}", list(&first.gain.at));
            let _ = writeln!(text, "gain = {}", list(&gains.collect::<Vec<_>>()));
        }
        self.skew.iter().for_each(|curve| SKEW.write(&mut text, curve));
        self.optimiser.iter().for_each(|curve| OPTIMISER.write(&mut text, curve));
        if let Some(messages) = &self.messages {
            POINT_TO_POINT.write(&mut text, &messages.point_to_point);
            ALL_TO_ALL.write(&mut text, &messages.all_to_all);
            ALL_REDUCE.write(&mut text, &messages.all_reduce);
        }
        text
    }
}
