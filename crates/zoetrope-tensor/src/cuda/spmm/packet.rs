//! The packet that is copied to the GPU for snapshots sent as differences: words that describe themselves.

use bytemuck::{Pod, Zeroable};

use zoetrope_graph::difference::Changes;

use super::Slices;
use super::coded_rows::CodedRows;
use super::snapshot_changes::{SnapshotChanges, VertexWords};

/// Lists begin at multiples of this many words.
const GRAIN: usize = 4;

/// The first words of a packet: counts, and where its lists begin, in words. As in `difference.cu`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Head {
    steps: u32,
    rows: u32,
    entries: u32,
    born: u32,
    dead: u32,
    /// Changes of weights.
    weights: u32,
    /// Changes of words of vertices.
    vertices: u32,
    /// All words of vertices, if they are not told by changes; 0 otherwise.
    all_vertices_at: u32,
    born_at: u32,
    born_columns_at: u32,
    born_weights_at: u32,
    born_steps_at: u32,
    dead_at: u32,
    dead_steps_at: u32,
    weights_at: [u32; 3],
    vertices_at: [u32; 3],
    snapshots_at: u32,
    /// Whether weights are numbers, each of which is a byte.
    numbered: u32,
    /// Whether there is a row for each that is born, in place of how many are before each row.
    by_rows: u32,
    /// All numbers of words of vertices, 16 bits each, if these have some; 0 otherwise.
    vertex_numbers_at: u32,
}

/// What of a snapshot is sent as it is: lists by where they begin and how long they are.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Snapshot {
    frame_at: u32,
    frame: u32,
    /// Lengths that differ.
    lengths_at: u32,
    lengths: u32,
    /// The bits of weights by number.
    codes_at: u32,
    /// The words of vertices by number.
    vertices_at: u32,
    unused: [u32; 2],
}

/// How much of each there is in a packet: what launches are as large as.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) weighted: bool,
    pub(super) by_vertex: bool,
    pub(super) steps: usize,
    pub(super) entries: usize,
    pub(super) born: usize,
    pub(super) dead: usize,
    /// Changes of weights.
    pub(super) weights: usize,
    /// The most pieces of long rows that a snapshot has.
    pub(super) units: usize,
}

/// Appends lists to words.
struct Writer(Vec<u32>);

impl Writer {
    fn put(&mut self, list: &[u32]) -> u32 {
        let at = self.0.len();
        self.0.extend_from_slice(list);
        self.pad(at)
    }

    fn put_bytes(&mut self, list: &[u8]) -> u32 {
        let at = self.0.len();
        self.0.resize(at + list.len().div_ceil(size_of::<u32>()), 0);
        bytemuck::cast_slice_mut(&mut self.0[at..])[..list.len()].copy_from_slice(list);
        self.pad(at)
    }

    /// Words, or bytes if they are numbers.
    fn put_values(&mut self, values: &[u32], numbered: bool) -> u32 {
        if numbered {
            self.put_bytes(&values.iter().map(|&number| number as u8).collect::<Vec<_>>())
        } else {
            self.put(values)
        }
    }

    fn put_changes(&mut self, changes: &Changes, numbered: bool) -> [u32; 3] {
        let (places, steps) = (self.put(&changes.places), self.put_bytes(&changes.steps));
        [places, steps, self.put_values(&changes.values, numbered)]
    }

    /// Ends a list that began there.
    fn pad(&mut self, at: usize) -> u32 {
        self.0.resize(self.0.len().next_multiple_of(GRAIN), 0);
        at as u32
    }
}

/// The words of a packet, for the snapshots of a list with their blocks on the host.
pub(super) fn pack(
    sent: &SnapshotChanges,
    snapshots: &[(&Slices, &CodedRows)],
) -> (Vec<u32>, Sizes) {
    const HEAD: usize = size_of::<Head>() / size_of::<u32>();
    let mut writer = Writer(vec![0; HEAD]);
    let none = Changes::default();
    let (changes, all, numbers, by_number) = match &sent.vertices {
        VertexWords::Some(changes) => (changes, None, None, &[][..]),
        VertexWords::All(all) => (&none, Some(all), None, &[][..]),
        VertexWords::Numbered { numbers, words } => (&none, None, Some(numbers), &words[..]),
    };
    let described: Vec<Snapshot> = (snapshots.iter().enumerate())
        .map(|(step, (slices, rows))| {
            let (frame_at, parts) = (writer.0.len(), slices.frame());
            parts.iter().for_each(|part| writer.0.extend_from_slice(part));
            let lengths = rows.lengths.as_deref().unwrap_or_default();
            Snapshot {
                frame: (writer.0.len() - frame_at) as u32,
                frame_at: writer.pad(frame_at),
                lengths_at: writer.put(lengths),
                lengths: lengths.len() as u32,
                codes_at: writer.put(rows.codes.as_deref().unwrap_or_default()),
                vertices_at: writer.put(by_number.get(step).map_or(&[], |words| &words[..])),
                unused: [0; 2],
            }
        })
        .collect();
    let first = snapshots[0].1;
    let sizes = Sizes {
        weighted: first.weights.is_some(),
        by_vertex: first.vertices.is_some(),
        steps: snapshots.len(),
        entries: sent.entries.entries,
        born: sent.entries.born_columns.len(),
        dead: sent.entries.dead.len(),
        weights: sent.entries.weights.places.len(),
        units: snapshots.iter().map(|(slices, _)| slices.units()).max().unwrap_or(0),
    };
    let by_rows = sizes.born < sent.entries.born_before.len();
    let head = Head {
        steps: sizes.steps as u32,
        rows: (sent.entries.born_before.len() - 1) as u32,
        entries: sizes.entries as u32,
        born: sizes.born as u32,
        dead: sizes.dead as u32,
        weights: sizes.weights as u32,
        vertices: changes.places.len() as u32,
        all_vertices_at: all.map_or(0, |all| writer.put(all)),
        born_at: if by_rows {
            writer.put(&sent.entries.born_rows())
        } else {
            writer.put(&sent.entries.born_before)
        },
        born_columns_at: writer.put(&sent.entries.born_columns),
        born_weights_at: writer.put_values(&sent.entries.born_weights, sent.numbered),
        born_steps_at: writer.put_bytes(&sent.entries.born_steps),
        dead_at: writer.put(&sent.entries.dead),
        dead_steps_at: writer.put_bytes(&sent.entries.dead_steps),
        weights_at: writer.put_changes(&sent.entries.weights, sent.numbered),
        vertices_at: writer.put_changes(changes, false),
        snapshots_at: writer.put(bytemuck::cast_slice(&described)),
        numbered: u32::from(sent.numbered),
        by_rows: u32::from(by_rows),
        vertex_numbers_at: numbers
            .map_or(0, |numbers| writer.put_bytes(bytemuck::cast_slice(numbers))),
    };
    writer.0[..HEAD].copy_from_slice(bytemuck::cast_slice(&[head]));
    (writer.0, sizes)
}
