//! Labels of vertices at times, as labels of the events that happen then.

use std::path::Path;

use hashbrown::HashMap;
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{EventStore, Time, TimeScale, VertexId};

use crate::error::DataError;
use crate::formats::tgl::reader::{column_names, has_rows};
use crate::options::ReadOptions;
use crate::progress::Progress;
use crate::roles::Roles;
use crate::table::{self, Preset};

/// Reads `labels.csv` and gives each event the label of its source, or else of its destination,
/// at its time. Several labels of one vertex at one time go to its events in order.
pub(super) fn attach(
    path: &Path,
    store: EventStore,
    options: &ReadOptions,
    progress: &dyn Progress,
    warnings: &mut Vec<String>,
) -> Result<EventStore, DataError> {
    let names = column_names(path, options)?;
    let find = |wanted: &str| names.iter().position(|name| name == wanted);
    // The table reader wants two identifiers a row; any other integer column will do as second.
    let other = find("").or(find("ext_roll"));
    let (Some(node), Some(time), Some(label), Some(other)) =
        (find("node"), find("time"), find("label"), other)
    else {
        warnings.push(format!(
            "labels.csv not read: expected the header ,node,time,label,ext_roll, found {}",
            crate::error::shorten(&names.join(","))
        ));
        return Ok(store);
    };
    let failed = |source| DataError::Graph { path: path.to_owned(), source };
    if !has_rows(path, options)? {
        // Nobody has a label, which is not the same as that there are no labels.
        let column = vec![f32::NAN; store.len()];
        let columns = EventColumns { label: Some(column.into()), ..store.columns().clone() };
        return store.with_columns(columns).map_err(failed);
    }
    let roles = Roles {
        src: node,
        dst: other,
        time: Some(time),
        time_parts: Vec::new(),
        weight: None,
        label: Some(label),
        kind: None,
        features: Vec::new(),
        classes: None,
    };
    let preset =
        Preset { roles: Some(roles), bipartite: true, keep_order: false, ..Preset::default() };
    let text_ids = options.text_ids.or(Some(false));
    let own = ReadOptions { bipartite: Some(true), text_ids, ..options.clone() };
    let table = table::read(path, &preset, &own, progress)?;
    let labels = Labels::new(&store, &table.store);
    let (column, unmatched) = labels.spread(&store);
    if unmatched > 0 {
        warnings.push(format!(
            "{unmatched} of {} labels in labels.csv belong to no event of their vertex and time",
            table.store.len()
        ));
    }
    let columns = EventColumns { label: Some(column.into()), ..store.columns().clone() };
    let mut labelled = store.with_columns(columns).map_err(failed)?;
    labelled.label_names = table.store.label_names.clone();
    Ok(labelled)
}

/// The labels of each vertex and time, in order.
struct Labels {
    values: Vec<f32>,
    /// The next label of the same vertex and time, by position; itself at the end.
    next: Vec<u32>,
    heads: HashMap<(VertexId, Time), u32>,
    unmatched: u64,
}

impl Labels {
    fn new(events: &EventStore, table: &EventStore) -> Self {
        let values = table.label().unwrap_or_default().to_vec();
        let mut next: Vec<u32> = (0..values.len() as u32).collect();
        let mut heads: HashMap<(VertexId, Time), u32> = HashMap::new();
        let mut unmatched = 0;
        // The node of the table to the vertex of the store, once for each.
        let vertices: Vec<Option<VertexId>> = (0..table.names().first.len())
            .map(|node| events.names().find_source(&table.names().first.name(node)))
            .collect();
        for row in (0..values.len()).rev() {
            let vertex = vertices[table.src()[row] as usize];
            let time = in_scale(table.time()[row], table.scale(), events.scale());
            let Some(key) = vertex.zip(time) else {
                unmatched += 1;
                continue;
            };
            // Rows are walked backwards, so that each chain runs forwards.
            if let Some(later) = heads.insert(key, row as u32) {
                next[row] = later;
            }
        }
        Self { values, next, heads, unmatched }
    }

    /// A label per event, NaN if it has none, and how many labels found no event.
    fn spread(mut self, events: &EventStore) -> (Vec<f32>, u64) {
        let mut column = vec![f32::NAN; events.len()];
        let mut labelled = vec![false; events.len()];
        for ends in [events.src(), events.dst()] {
            for event in 0..events.len() {
                if !labelled[event]
                    && let Some(label) = self.take((ends[event], events.time()[event]))
                {
                    column[event] = label;
                    labelled[event] = true;
                }
            }
        }
        let mut unmatched = self.unmatched;
        for (_, head) in self.heads {
            let mut row = head;
            unmatched += 1;
            while self.next[row as usize] != row {
                row = self.next[row as usize];
                unmatched += 1;
            }
        }
        (column, unmatched)
    }

    fn take(&mut self, key: (VertexId, Time)) -> Option<f32> {
        let row = *self.heads.get(&key)?;
        if self.next[row as usize] == row {
            self.heads.remove(&key)
        } else {
            self.heads.insert(key, self.next[row as usize])
        };
        Some(self.values[row as usize])
    }
}

/// A time in ticks of another scale, if it is a whole number of them.
fn in_scale(time: Time, from: TimeScale, to: TimeScale) -> Option<Time> {
    let ticks = |scale: TimeScale| i128::from(scale.unit.ticks_per_second().unwrap_or(1));
    let scaled = i128::from(time) * ticks(to);
    (scaled % ticks(from) == 0).then(|| Time::try_from(scaled / ticks(from)).ok()).flatten()
}
