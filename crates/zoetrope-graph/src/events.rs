//! The columnar event store: what happened between which vertices, and when.

use std::ops::Range;

use bytemuck::Pod;
use rayon::prelude::*;

use crate::column::Column;
use crate::error::GraphError;
use crate::ids::{TextTable, VertexId, VertexNames};
use crate::time::{Time, TimeScale};
use crate::time_order::TimeOrder;

/// What an event does to its edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// The edge appears, or happens once more.
    Add = 0,
    /// The edge disappears.
    Remove = 1,
}

/// Columns that an event may have besides source, destination and time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EventColumns {
    /// The weight of each event.
    pub weight: Option<Column<f32>>,
    /// The label of each event: a class number (exact up to 2^24) or a quantity.
    pub label: Option<Column<f32>>,
    /// [`EventKind`] as a number; every event adds if there is no column.
    pub kind: Option<Column<u8>>,
    /// `events × feature_width` values.
    pub features: Option<Column<f32>>,
    /// Features per event; 0 if there are none.
    pub feature_width: usize,
}

/// A time-ordered stream of events over `0..vertices`, in columns.
///
/// Order: ascending time, equal times in input order. Columns are owned or mapped from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct EventStore {
    src: Column<VertexId>,
    dst: Column<VertexId>,
    time: Column<Time>,
    columns: EventColumns,
    scale: TimeScale,
    names: VertexNames,
    /// Names of the classes, if labels were text.
    pub label_names: TextTable,
    /// Names of the features, if the data has them.
    pub feature_names: TextTable,
    /// `vertices × width` constant features of vertices.
    pub vertex_features: Option<(usize, Column<f32>)>,
    /// A constant label of each vertex; NaN if it has none.
    pub vertex_labels: Option<Column<f32>>,
    /// Names of the vertex classes, if they were text.
    pub vertex_label_names: TextTable,
}

impl EventStore {
    /// Builds a store and sorts it by time (stable) if it is not sorted.
    ///
    /// # Errors
    /// If columns differ in length or an event names a vertex that `names` does not have.
    pub fn new(
        src: Vec<VertexId>,
        dst: Vec<VertexId>,
        mut time: Vec<Time>,
        columns: EventColumns,
        scale: TimeScale,
        names: VertexNames,
    ) -> Result<Self, GraphError> {
        let order = TimeOrder::sort(&mut time)?;
        Self::with_order(src, dst, time, &order, columns, scale, names)
    }

    /// As [`new`](Self::new) for times that [`TimeOrder::sort`] has sorted; the other columns
    /// are moved as `order` says.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_order(
        src: Vec<VertexId>,
        dst: Vec<VertexId>,
        time: Vec<Time>,
        order: &TimeOrder,
        columns: EventColumns,
        scale: TimeScale,
        names: VertexNames,
    ) -> Result<Self, GraphError> {
        let mut store =
            Self::from_columns(src.into(), dst.into(), time.into(), columns, scale, names)?;
        check_range("src", &store.src, store.vertices())?;
        check_range("dst", &store.dst, store.vertices())?;
        if let Some(moves) = order.moves() {
            store.reorder(moves)?;
        }
        Ok(store)
    }

    /// As [`new`](Self::new) for columns that are in time order already (mapped ones, say).
    /// Checks lengths only: the caller vouches for order and vertex range.
    pub(crate) fn from_columns(
        src: Column<VertexId>,
        dst: Column<VertexId>,
        time: Column<Time>,
        columns: EventColumns,
        scale: TimeScale,
        names: VertexNames,
    ) -> Result<Self, GraphError> {
        let events = src.len();
        let expect = |column: &'static str, expected: usize, got: usize| {
            if expected == got {
                Ok(())
            } else {
                Err(GraphError::LengthMismatch { column, expected, got })
            }
        };
        expect("dst", events, dst.len())?;
        expect("time", events, time.len())?;
        if let Some(weight) = &columns.weight {
            expect("weight", events, weight.len())?;
        }
        if let Some(label) = &columns.label {
            expect("label", events, label.len())?;
        }
        if let Some(kind) = &columns.kind {
            expect("kind", events, kind.len())?;
        }
        if let Some(features) = &columns.features {
            expect("features", events.saturating_mul(columns.feature_width), features.len())?;
        }
        Ok(Self {
            src,
            dst,
            time,
            columns,
            scale,
            names,
            label_names: TextTable::default(),
            feature_names: TextTable::default(),
            vertex_features: None,
            vertex_labels: None,
            vertex_label_names: TextTable::default(),
        })
    }

    /// The same events with other optional columns, in the order of the events.
    ///
    /// # Errors
    /// [`GraphError::LengthMismatch`] if a column does not have one entry per event.
    pub fn with_columns(mut self, columns: EventColumns) -> Result<Self, GraphError> {
        let checked = Self::from_columns(
            std::mem::take(&mut self.src),
            std::mem::take(&mut self.dst),
            std::mem::take(&mut self.time),
            columns,
            self.scale,
            VertexNames::identity(0),
        )?;
        let Self { src, dst, time, columns, .. } = checked;
        Ok(Self { src, dst, time, columns, ..self })
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.src.len()
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.src.is_empty()
    }

    /// The number of vertices.
    pub fn vertices(&self) -> u32 {
        self.names.len() as u32
    }

    /// The source of each event.
    pub fn src(&self) -> &[VertexId] {
        &self.src
    }

    /// The destination of each event.
    pub fn dst(&self) -> &[VertexId] {
        &self.dst
    }

    /// The time of each event; ascending.
    pub fn time(&self) -> &[Time] {
        &self.time
    }

    /// The optional columns.
    pub fn columns(&self) -> &EventColumns {
        &self.columns
    }

    /// The weight of each event.
    pub fn weight(&self) -> Option<&[f32]> {
        self.columns.weight.as_deref()
    }

    /// The label of each event.
    pub fn label(&self) -> Option<&[f32]> {
        self.columns.label.as_deref()
    }

    /// The kind of each event as a number; see [`EventKind`].
    pub fn kind(&self) -> Option<&[u8]> {
        self.columns.kind.as_deref()
    }

    /// The features of each event, `len × feature_width`.
    pub fn features(&self) -> Option<&[f32]> {
        self.columns.features.as_deref()
    }

    /// Features per event; 0 if there are none.
    pub fn feature_width(&self) -> usize {
        self.columns.feature_width
    }

    /// What a tick of [`time`](Self::time) means.
    pub fn scale(&self) -> TimeScale {
        self.scale
    }

    /// The original identifiers of the vertices.
    pub fn names(&self) -> &VertexNames {
        &self.names
    }

    /// Says that the edges of some events will not be read soon: see [`Column::let_go`].
    ///
    /// # Panics
    /// If there are no such events.
    pub fn let_go(&self, events: Range<usize>) {
        self.src.let_go(events.clone());
        self.dst.let_go(events.clone());
        self.time.let_go(events.clone());
        for column in [&self.columns.weight, &self.columns.label].into_iter().flatten() {
            column.let_go(events.clone());
        }
        if let Some(kind) = &self.columns.kind {
            kind.let_go(events);
        }
    }

    /// The bytes of the columns: what a store of these events needs in memory or on disk, names
    /// and vertex attributes not counted.
    pub fn column_bytes(&self) -> usize {
        let optional = |present: bool, bytes: usize| if present { bytes } else { 0 };
        self.len()
            * (16
                + optional(self.columns.weight.is_some(), 4)
                + optional(self.columns.label.is_some(), 4)
                + optional(self.columns.kind.is_some(), 1)
                + 4 * self.columns.feature_width)
    }

    fn reorder(&mut self, order: &[u32]) -> Result<(), GraphError> {
        if order.len() != self.len() {
            let (expected, got) = (self.len(), order.len());
            return Err(GraphError::LengthMismatch { column: "order", expected, got });
        }
        gather(&mut self.src, order);
        gather(&mut self.dst, order);
        let columns = &mut self.columns;
        for column in [&mut columns.weight, &mut columns.label].into_iter().flatten() {
            gather(column, order);
        }
        if let Some(kind) = &mut columns.kind {
            gather(kind, order);
        }
        if let Some(features) = &mut columns.features {
            gather_rows(features, columns.feature_width, order);
        }
        Ok(())
    }
}

fn check_range(column: &'static str, values: &[VertexId], vertices: u32) -> Result<(), GraphError> {
    // The largest vertex is found without a branch per event; its place only if it is wrong.
    match values.par_iter().with_min_len(1 << 16).max() {
        Some(&largest) if largest >= vertices => {
            let position = values.iter().position(|&vertex| vertex >= vertices).unwrap_or(0);
            let vertex = values[position];
            Err(GraphError::VertexOutOfRange { column, position, vertex, vertices })
        }
        _ => Ok(()),
    }
}

fn gather<T: Pod + Send + Sync>(column: &mut Column<T>, order: &[u32]) {
    let values: Vec<T> = order.par_iter().map(|&event| column[event as usize]).collect();
    *column = values.into();
}

fn gather_rows(column: &mut Column<f32>, width: usize, order: &[u32]) {
    if width == 0 {
        return;
    }
    let mut values = vec![0.0; column.len()];
    values.par_chunks_mut(width).zip(order).for_each(|(row, &event)| {
        row.copy_from_slice(&column[event as usize * width..][..width]);
    });
    *column = values.into();
}
