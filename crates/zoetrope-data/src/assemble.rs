//! Raw columns to an event store: vertices numbered, labels classed, time scaled, rows sorted.

use std::path::Path;

use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{EventStore, TextTable, TimeOrder, TimeScale, TimeUnit};

use crate::error::DataError;
use crate::numbering;
use crate::table::chunk::{IdChunk, Interner};

/// A column of identifiers before numbering.
#[derive(Debug, Clone)]
pub enum RawIds {
    /// Integers.
    Integers(Vec<i64>),
    /// Text, as codes into a table.
    Text {
        /// One code per row.
        codes: Vec<u32>,
        /// What the codes stand for.
        table: TextTable,
    },
}

impl RawIds {
    fn into_chunk(self) -> IdChunk {
        match self {
            Self::Integers(ids) => IdChunk::Wide(ids),
            Self::Text { codes, table } => {
                // Codes may repeat a text; interning makes them distinct.
                let mut interner = Interner::default();
                let fresh: Vec<u32> = table.iter().map(|text| interner.code(text)).collect();
                let codes = codes.into_iter().map(|code| fresh[code as usize]).collect();
                IdChunk::Text { codes, table: interner }
            }
        }
    }
}

/// Columns as read, before vertices are numbered and events are sorted.
#[derive(Debug, Clone)]
pub struct RawEvents {
    /// The source of each event.
    pub src: RawIds,
    /// The destination of each event.
    pub dst: RawIds,
    /// The time of each event.
    pub time: Vec<i64>,
    /// What a tick means.
    pub scale: TimeScale,
    /// The other columns.
    pub columns: EventColumns,
    /// Whether destinations have identifiers of their own.
    pub bipartite: bool,
}

/// Numbers the vertices in ascending order of their original identifier and sorts by time.
/// The second value tells whether the rows were sorted already.
///
/// # Errors
/// [`DataError::Graph`] if the columns make no event store.
pub fn assemble(path: &Path, mut raw: RawEvents) -> Result<(EventStore, bool), DataError> {
    let (src, dst) = (raw.src.into_chunk(), raw.dst.into_chunk());
    let numbered = numbering::number(path, src, dst, raw.bipartite)?;
    let wrong = |source| DataError::Graph { path: path.to_owned(), source };
    let order = TimeOrder::sort(&mut raw.time).map_err(wrong)?;
    let store = EventStore::with_order(
        numbered.src,
        numbered.dst,
        raw.time,
        &order,
        raw.columns,
        raw.scale,
        numbered.names,
    )
    .map_err(wrong)?;
    Ok((store, order.moves().is_none()))
}

/// The unit of integer times, from their magnitude: Unix seconds stay below 10^11 until the year
/// 5138, milliseconds below 10^14, microseconds below 10^17.
pub fn guess_unit(largest: i64) -> TimeUnit {
    match largest.unsigned_abs() {
        0..100_000_000_000 => TimeUnit::Second,
        100_000_000_000..100_000_000_000_000 => TimeUnit::Millisecond,
        100_000_000_000_000..100_000_000_000_000_000 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

/// Whether times of this unit are Unix times: none before 1990. Streams that count from their
/// own start (JODIE, enron) stay far below.
pub fn looks_like_unix(smallest: i64, unit: TimeUnit) -> bool {
    const YEAR_1990_SECONDS: i64 = 631_152_000;
    unit.ticks_per_second().is_some_and(|ticks| smallest / ticks >= YEAR_1990_SECONDS)
}

/// The scale of integer times: the unit that the user gave, or a guess.
pub fn scale_of(time: impl Iterator<Item = i64> + Clone, given: Option<TimeUnit>) -> TimeScale {
    let (Some(smallest), Some(largest)) = (time.clone().min(), time.max()) else {
        return TimeScale { unit: given.unwrap_or(TimeUnit::Second), unix: false };
    };
    let unit = given.unwrap_or_else(|| guess_unit(largest));
    TimeScale { unit, unix: looks_like_unix(smallest, unit) }
}
