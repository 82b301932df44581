//! `zoetrope bench paper esdg`: the evaluation of ESDG, simulated, beside what the paper prints.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use zoetrope_sim::Machine;
use zoetrope_sim::papers::esdg::{Esdg, MODELS, Table2};
use zoetrope_sim::papers::{knee, within_a_doubling};

use super::points::{Point, Way, Workload};
use crate::command::{sim, start_threads};
use crate::exit::Failure;
use crate::input::may_write;
use crate::progress::{Bars, Unit};
use crate::report::bench as report;

/// Re-run the evaluation of ESDG (SC'21) in the simulator, beside the values that its text prints
#[derive(Debug, Args)]
#[command(after_help = super::EXAMPLES)]
pub(crate) struct EsdgArgs {
    /// The machine that the paper used: a file, or a name as in `zoetrope sim --help`
    #[arg(long, value_name = "FILE|NAME", default_value = "esdg")]
    machine: String,
    /// A machine of today on which the same is run again
    #[arg(long, value_name = "FILE|NAME", default_value = "h100x1024")]
    modern: String,
    /// Only this model; repeat for several
    #[arg(long, value_name = "NAME", value_parser = MODELS)]
    model: Vec<String>,
    /// Only this data set; repeat for several
    #[arg(long, value_name = "NAME", value_parser = ["epinions", "flickr", "youtube", "amlsim"])]
    dataset: Vec<String>,
    /// No more ranks than this
    #[arg(long, value_name = "N", default_value_t = 128)]
    ranks_max: usize,
    /// Write the report, the document and pictures: esdg.md, esdg.json, esdg.svg
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace the files
    #[arg(long, requires = "out")]
    force: bool,
    /// Print one JSON document instead of the report
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

/// A model on a data set.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Scaling {
    pub(crate) model: String,
    pub(crate) dataset: String,
    /// Snapshots sent whole.
    pub(crate) base: Vec<Point>,
    /// As differences.
    pub(crate) differences: Vec<Point>,
    /// On the machine of today, laid out as the planner likes it.
    pub(crate) modern: Vec<Point>,
    /// Whether one node is enough without blocks, and with them.
    pub(crate) node_without_blocks: bool,
    pub(crate) node_with_blocks: bool,
}

/// Weak scaling of a model.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Weak {
    pub(crate) model: String,
    pub(crate) points: Vec<Point>,
    /// Edges per second over those of one rank, at the most ranks.
    pub(crate) speedup: Option<f64>,
    pub(crate) printed: f64,
    pub(crate) modern_speedup: Option<f64>,
}

/// A row of table 2 beside what was found.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Partitions {
    pub(crate) printed: Table2,
    pub(crate) snapshot: Option<Point>,
    pub(crate) vertex: Option<Point>,
}

/// Something that the paper says, and whether the simulation finds it too.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Verdict {
    pub(crate) what: String,
    pub(crate) printed: String,
    pub(crate) simulated: String,
    pub(crate) agrees: bool,
}

/// All of it.
#[derive(Debug, Serialize)]
pub(crate) struct Found {
    pub(crate) schema: u32,
    pub(crate) source: String,
    pub(crate) machine: String,
    pub(crate) modern: String,
    pub(crate) calibrated: bool,
    pub(crate) strong: Vec<Scaling>,
    pub(crate) weak: Vec<Weak>,
    pub(crate) table2: Vec<Partitions>,
    pub(crate) verdicts: Vec<Verdict>,
}

/// Runs the command.
pub(crate) fn run(args: &EsdgArgs) -> Result<String, Failure> {
    let (machine, modern) = (sim::machine(Some(&args.machine))?, sim::machine(Some(&args.modern))?);
    for one in [&machine, &modern] {
        if one.copy.is_none() {
            let name = &one.name;
            return Err(Failure::usage(format!("{name} has no GPUs, on which ESDG trains")));
        }
    }
    if let Some(folder) = &args.out {
        if folder.is_dir() {
            let files = NAMES.map(|name| folder.join(name));
            files.iter().try_for_each(|path| may_write(path, args.force))?;
        } else {
            may_write(folder, false)?;
        }
    }
    start_threads(None)?;
    let paper = Esdg::printed();
    let bars = Bars::new(Unit::Events, args.quiet || args.json);
    let rerun = Rerun { args, paper: &paper, machine: &machine, modern: &modern, bars: &bars };
    let found = rerun.all()?;
    bars.finish();
    let document = || {
        let text = serde_json::to_string_pretty(&found);
        text.map(|text| text + "\n").map_err(|error| Failure::other(error.to_string()))
    };
    let text = report::render(&found);
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).map_err(|error| Failure::writing(folder, error))?;
        for (name, text) in NAMES.into_iter().zip([text.clone(), document()?, report::svg(&found)])
        {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|error| Failure::writing(&path, error))?;
        }
    }
    if args.json { document() } else { Ok(text) }
}

const NAMES: [&str; 3] = ["esdg.md", "esdg.json", "esdg.svg"];

/// Devices of a node in the paper.
const NODE: usize = 8;

struct Rerun<'a> {
    args: &'a EsdgArgs,
    paper: &'a Esdg,
    machine: &'a Machine,
    modern: &'a Machine,
    bars: &'a Bars,
}

impl Rerun<'_> {
    fn ranks(&self, machine: &Machine) -> Vec<usize> {
        let most = self.args.ranks_max.min(machine.ranks()).min(128);
        std::iter::successors(Some(1), |ranks| Some(ranks * 2))
            .take_while(|&ranks| ranks <= most)
            .collect()
    }

    fn wants(&self, model: &str) -> bool {
        self.args.model.is_empty() || self.args.model.iter().any(|one| one == model)
    }

    fn workload<'a>(
        &'a self,
        machine: &'a Machine,
        model: &'a str,
        dataset: usize,
    ) -> Workload<'a> {
        let of = &self.paper.dataset[dataset];
        Workload {
            machine,
            model,
            name: &of.name,
            sizes: self.paper.sizes(model, of),
            hidden: self.paper.hidden,
            features: self.paper.features,
        }
    }

    fn all(&self) -> Result<Found, Failure> {
        let (mut strong, mut weak) = (Vec::new(), Vec::new());
        for (at, dataset) in self.paper.dataset.iter().enumerate() {
            let wanted = &self.args.dataset;
            if !wanted.is_empty() && !wanted.contains(&dataset.name) {
                continue;
            }
            for model in MODELS.into_iter().filter(|model| self.wants(model)) {
                self.tell(&format!("{model} {}", dataset.name));
                strong.push(self.strong(model, at)?);
            }
        }
        for model in MODELS.into_iter().filter(|model| self.wants(model)) {
            self.tell(&format!("{model} weak"));
            weak.push(self.weak(model)?);
        }
        let table2 = self.table2(&strong)?;
        let verdicts = verdicts(self.paper, &strong, &weak, &table2);
        Ok(Found {
            schema: 1,
            source: self.paper.source.clone(),
            machine: self.machine.name.clone(),
            modern: self.modern.name.clone(),
            calibrated: false,
            strong,
            weak,
            table2,
            verdicts,
        })
    }

    fn tell(&self, what: &str) {
        use zoetrope_data::Progress;
        self.bars.begin(what, None);
    }

    fn strong(&self, model: &str, dataset: usize) -> Result<Scaling, Failure> {
        let own = self.workload(self.machine, model, dataset);
        let differences = own.scaled(&self.ranks(self.machine), Way::Differences)?;
        let same = differences.iter().map(|point| own.at(point.ranks, Way::Base, point.blocks));
        let base = same.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        let modern = self.workload(self.modern, model, dataset);
        let modern = modern.scaled(&self.ranks(self.modern), Way::Planned)?;
        let node = NODE.min(self.args.ranks_max);
        Ok(Scaling {
            model: model.to_owned(),
            dataset: own.name.to_owned(),
            base,
            node_with_blocks: differences.iter().any(|point| point.ranks <= node),
            node_without_blocks: own.at(node, Way::Differences, 1)?.is_some(),
            differences,
            modern,
        })
    }

    fn weak(&self, model: &str) -> Result<Weak, Failure> {
        let on = |machine: &Machine| -> Result<Vec<Point>, Failure> {
            let mut points = Vec::new();
            for ranks in self.ranks(machine) {
                let sizes = self.paper.weak_sizes(model, ranks);
                let (hidden, features) = (self.paper.hidden, self.paper.features);
                let own = Workload { machine, model, name: "random", sizes, hidden, features };
                points.extend(own.fitting(ranks, Way::Differences, 1)?);
            }
            Ok(points)
        };
        // As many edges as ranks times those of one.
        let speedup = |points: &[Point]| {
            let (first, last) = (points.first()?, points.last()?);
            let alone = first.seconds / first.ranks as f64;
            (last.ranks > first.ranks).then(|| last.ranks as f64 * alone / last.seconds)
        };
        let points = on(self.machine)?;
        Ok(Weak {
            model: model.to_owned(),
            speedup: speedup(&points),
            points,
            printed: self.paper.weak_speedup(model),
            modern_speedup: speedup(&on(self.modern)?),
        })
    }

    fn table2(&self, strong: &[Scaling]) -> Result<Vec<Partitions>, Failure> {
        let mut rows = Vec::new();
        let Some(dataset) = self.paper.dataset.iter().position(|one| one.name == "amlsim") else {
            return Ok(rows);
        };
        for printed in &self.paper.table2 {
            let found = |one: &&Scaling| one.dataset == "amlsim" && one.model == printed.model;
            let Some(own) = strong.iter().find(found) else { continue };
            if printed.ranks > self.args.ranks_max {
                continue;
            }
            self.tell(&format!("{} by vertex", printed.model));
            let at =
                |points: &[Point]| points.iter().find(|one| one.ranks == printed.ranks).cloned();
            let workload = self.workload(self.machine, &printed.model, dataset);
            rows.push(Partitions {
                printed: printed.clone(),
                snapshot: at(&own.differences),
                vertex: workload.fitting(printed.ranks, Way::Vertex, 1)?,
            });
        }
        Ok(rows)
    }
}

fn times(points: &[Point]) -> Vec<(usize, f64)> {
    points.iter().map(|point| (point.ranks, point.seconds)).collect()
}

/// The largest of what pairs of points at the same ranks give.
fn most(all: &[&Scaling], of: impl Fn(&Point, &Point) -> f64) -> Option<f64> {
    let pairs = all.iter().flat_map(|one| one.base.iter().zip(&one.differences));
    pairs.map(|(base, own)| of(base, own)).reduce(f64::max)
}

/// What the paper says in numbers or words, beside what was found.
fn verdicts(
    paper: &Esdg,
    strong: &[Scaling],
    weak: &[Weak],
    table2: &[Partitions],
) -> Vec<Verdict> {
    let mut all = Vec::new();
    let mut say = |what: String, printed: String, simulated: String, agrees: bool| {
        all.push(Verdict { what, printed, simulated, agrees });
    };
    for row in table2 {
        let (Some(snapshot), Some(vertex)) = (&row.snapshot, &row.vertex) else { continue };
        let what = format!("table 2, winner: {} at {}", row.printed.model, row.printed.ranks);
        let name = |by_snapshot: bool| if by_snapshot { "snapshot" } else { "vertex" }.to_owned();
        let Some(of_vertex) = row.printed.vertex_ms else { continue };
        let (printed, found) =
            (row.printed.snapshot_ms < of_vertex, snapshot.seconds < vertex.seconds);
        say(what, name(printed), name(found), printed == found);
    }
    for one in strong {
        let Some(last) = one.differences.last() else { continue };
        let redistributes = one.model != "evolvegcn-o";
        let printed = if redistributes { paper.strong.knee_ranks } else { 128 }.min(last.ranks);
        let found = knee(&times(&one.differences));
        let what = format!("figure 5, knee: {} on {}", one.model, one.dataset);
        say(what, printed.to_string(), found.to_string(), within_a_doubling(printed, found));
    }
    let speedup = |one: &Scaling| {
        let (first, last) = (one.differences.first()?, one.differences.last()?);
        (last.ranks == 128).then(|| first.seconds / last.seconds * first.ranks as f64)
    };
    if let Some(best) = strong.iter().filter_map(speedup).reduce(f64::max) {
        let printed = paper.strong.speedup_at_128;
        let what = "figure 5: best speedup of 128 ranks".to_owned();
        let agrees = (printed / 2.0..=printed * 2.0).contains(&best);
        say(what, format!("{printed:.0} ×"), format!("{best:.1} ×"), agrees);
    }
    let (raw, smoothed): (Vec<&Scaling>, Vec<&Scaling>) =
        strong.iter().partition(|one| one.model == "cd-gcn");
    let faster = |base: &Point, own: &Point| base.transfer / own.transfer;
    let gains = &paper.differences;
    let kinds = [
        ("smoothed snapshots", &smoothed, gains.transfer_speedup_smoothed),
        ("snapshots as they are", &raw, gains.transfer_speedup_raw),
    ];
    for (kind, of, printed) in kinds {
        let Some(best) = most(of, faster) else { continue };
        let what = format!("figure 4: differences, transfers of {kind}, at most");
        let agrees = (printed / 2.0..=printed * 2.0).contains(&best);
        say(what, format!("{printed:.1} ×"), format!("{best:.1} ×"), agrees);
    }
    let shorter = |base: &Point, own: &Point| 1.0 - own.seconds / base.seconds;
    if let Some(best) = most(&strong.iter().collect::<Vec<_>>(), shorter) {
        let printed = gains.epoch_shorter;
        let what = "figure 4: differences, an epoch shorter by at most".to_owned();
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let agrees = (printed / 2.0..=printed * 2.0).contains(&best);
        say(what, percent(printed), percent(best), agrees);
    }
    let count = |of: &dyn Fn(&Scaling) -> bool| strong.iter().filter(|one| of(one)).count();
    let (whole, blocks) =
        (count(&|one| one.node_without_blocks), count(&|one| one.node_with_blocks));
    let of = |count: usize| format!("{count} of {}", strong.len());
    if !strong.is_empty() {
        let what = "section 6.2: fit one node without blocks".to_owned();
        say(what, of(0), of(whole), whole == 0);
        let what = "section 6.2: fit one node in blocks".to_owned();
        say(what, of(strong.len()), of(blocks), blocks == strong.len());
    }
    for one in weak.iter().filter(|one| one.points.last().is_some_and(|last| last.ranks == 128)) {
        let Some(found) = one.speedup else { continue };
        let what = format!("figure 7: weak scaling of {}, throughput of 128 ranks", one.model);
        let agrees = (one.printed / 2.0..=one.printed * 2.0).contains(&found);
        say(what, format!("{:.0} ×", one.printed), format!("{found:.1} ×"), agrees);
    }
    all
}
