//! A simulated epoch to look at: a trace for Perfetto, and a picture.

use std::fmt::Write;

use serde_json::json;
use zoetrope_plan::TaskKind;
use zoetrope_plan::program::Stream;

use crate::outcome::{RankTimes, Timeline};
use crate::program::{STREAMS, lane};

/// Classes of ranks that a picture shows.
const ROWS_MAX: usize = 16;
/// Tasks that a picture shows; more would be too many for a browser.
const SPANS_MAX: usize = 20_000;
const WIDTH: f64 = 1200.0;
const LEFT: f64 = 150.0;
const LANE: f64 = 14.0;
const TOP: f64 = 40.0;

const LANES: [&str; STREAMS] = ["compute", "copy", "messages", "prepare"];

/// The tasks of one rank of each class in time. Of updates that repeat they show those that were simulated.
#[derive(Debug, Clone, Copy)]
pub struct Pictures<'o> {
    pub(crate) classes: &'o [RankTimes],
    pub(crate) seconds: f64,
    pub(crate) timeline: &'o Timeline,
}

fn colour(kind: TaskKind) -> &'static str {
    match kind {
        TaskKind::Structure => "#4878d0",
        TaskKind::Time | TaskKind::Remember => "#6acc64",
        TaskKind::Embed | TaskKind::Loss | TaskKind::Absorb => "#8c613c",
        TaskKind::Backward => "#956cb4",
        TaskKind::Update => "#82c6e2",
        TaskKind::Draw => "#797979",
        TaskKind::Copy | TaskKind::Store => "#d5bb67",
        TaskKind::Exchange => "#ee854a",
        TaskKind::AllReduce | TaskKind::AllGather => "#d65f5f",
    }
}

impl Pictures<'_> {
    fn name(&self, class: usize) -> String {
        let RankTimes { rank, ranks, .. } = &self.classes[class];
        match ranks - 1 {
            0 => format!("rank {rank}"),
            1 => format!("rank {rank} and 1 like it"),
            others => format!("rank {rank} and {others} like it"),
        }
    }

    /// The trace as `chrome://tracing` and Perfetto read it: a process for each class of ranks, a thread for each
    /// of its streams. Waiting for other ranks is a span of its own.
    pub fn trace(&self) -> String {
        let mut events = Vec::new();
        for (class, of) in self.classes.iter().enumerate() {
            events.push(json!({"ph": "M", "name": "process_name", "pid": of.rank, "args": {"name": self.name(class)}}));
            for (track, name) in LANES.iter().enumerate() {
                events.push(json!({"ph": "M", "name": "thread_name", "pid": of.rank, "tid": track, "args": {"name": name}}));
            }
        }
        let micros = |seconds: f64| seconds * 1e6;
        for span in &self.timeline.spans {
            let task = &self.timeline.programs[self.timeline.of_class[span.class]][span.task];
            let (pid, tid) = (self.classes[span.class].rank, lane(task.stream));
            if task.stream == Stream::Messages && span.began > span.reached {
                events.push(json!({
                    "ph": "X", "name": "wait", "cat": "wait", "pid": pid, "tid": tid,
                    "ts": micros(span.reached), "dur": micros(span.began - span.reached),
                }));
            }
            let mut args = json!({"task": span.task, "update": task.update});
            if let Some(bytes) = task.bytes {
                args["bytes"] = bytes.into();
            }
            if let Some(layer) = task.layer {
                args["layer"] = layer.into();
            }
            if let Some(frame) = task.frame {
                args["frame"] = frame.into();
            }
            events.push(json!({
                "ph": "X", "name": task.kind.name(), "cat": "task", "pid": pid, "tid": tid,
                "ts": micros(span.began), "dur": micros(span.ended - span.began), "args": args,
            }));
        }
        serde_json::Value::Array(events).to_string()
    }

    /// A picture of the first classes of ranks: a row for each of their streams that does anything.
    pub fn svg(&self) -> String {
        let classes = self.classes.len().min(ROWS_MAX);
        let mut used = vec![[false; STREAMS]; classes];
        let of = |span: &crate::outcome::Span| {
            &self.timeline.programs[self.timeline.of_class[span.class]][span.task]
        };
        for span in self.timeline.spans.iter().filter(|span| span.class < classes) {
            used[span.class][lane(of(span).stream)] = true;
        }
        let (mut rows, mut y, mut labels) = (vec![[0.0; STREAMS]; classes], TOP, String::new());
        for class in 0..classes {
            let name = self.name(class);
            let _ = writeln!(
                labels,
                "<text x=\"4\" y=\"{:.1}\" class=\"rank\">{name}</text>",
                y + 10.0
            );
            y += LANE;
            for stream in (0..STREAMS).filter(|&stream| used[class][stream]) {
                rows[class][stream] = y;
                let _ = writeln!(
                    labels,
                    "<text x=\"14\" y=\"{:.1}\">{}</text>",
                    y + 10.0,
                    LANES[stream]
                );
                y += LANE;
            }
            y += 4.0;
        }
        let scale = (WIDTH - LEFT - 10.0) / self.seconds.max(f64::MIN_POSITIVE);
        let shown = self.timeline.spans.iter().filter(|span| span.class < classes).take(SPANS_MAX);
        let mut boxes = String::new();
        for span in shown {
            let task = of(span);
            let top = rows[span.class][lane(task.stream)];
            let x = |seconds: f64| LEFT + seconds * scale;
            if span.began > span.reached {
                let _ = writeln!(
                    boxes,
                    "<rect x=\"{:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"3\" fill=\"#bbb\"/>",
                    x(span.reached),
                    top + 4.0,
                    (span.began - span.reached) * scale
                );
            }
            let width = ((span.ended - span.began) * scale).max(0.1);
            let _ = writeln!(
                boxes,
                "<rect x=\"{:.2}\" y=\"{top:.1}\" width=\"{width:.2}\" height=\"11\" fill=\"{}\"><title>{}, {:.3} ms</title></rect>",
                x(span.began),
                colour(task.kind),
                task.kind.name(),
                (span.ended - span.began) * 1e3
            );
        }
        let more = self.classes.len() - classes;
        let cut = if more > 0 {
            format!("; {more} more kinds of ranks are not shown")
        } else {
            String::new()
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{:.0}\" font-family=\"sans-serif\" font-size=\"10\">\n\
             <style>.rank{{font-weight:bold}}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"4\" y=\"16\" font-size=\"13\">Simulated: {:.6} s{cut}</text>\n{labels}{boxes}</svg>\n",
            y + 10.0,
            self.seconds
        )
    }
}
