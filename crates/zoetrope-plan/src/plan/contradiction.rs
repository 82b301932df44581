//! The ways in which a plan can contradict itself.

/// What in a plan contradicts what else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Contradiction {
    /// A number of vertices or ranks that cannot be.
    #[error("it has {count} {what}")]
    Count {
        /// Of what.
        what: &'static str,
        /// How many.
        count: usize,
    },
    /// Something that has to have a part has none.
    #[error("{what} has no {part}")]
    Empty {
        /// Whose part.
        what: &'static str,
        /// The part.
        part: &'static str,
    },
    /// A frame without snapshots, or beyond any sequence.
    #[error("the frame at {start} has {steps} snapshots")]
    FrameLength {
        /// Its first snapshot.
        start: usize,
        /// Its snapshots.
        steps: usize,
    },
    /// A frame is not as long as the rule says.
    #[error("the frame at {start} has {steps} snapshots, not {rule}")]
    FrameOffRule {
        /// Its first snapshot.
        start: usize,
        /// Its snapshots.
        steps: usize,
        /// Those of the rule.
        rule: usize,
    },
    /// A frame is cut into more groups than can be.
    #[error("the frame at {start} has {groups} groups, {most} are possible")]
    Groups {
        /// Its first snapshot.
        start: usize,
        /// Its groups.
        groups: usize,
        /// The most.
        most: usize,
    },
    /// Frames are cut in two ways that exclude each other.
    #[error("it cuts frames into stretches and into blocks")]
    StretchesAndBlocks,
    /// A range of snapshots in which a layer changes its order has none.
    #[error("structure layer {layer} names a range without a snapshot")]
    EmptyOrderRange {
        /// The layer.
        layer: usize,
    },
    /// A layer changes its order from snapshot to snapshot although ranks share its cells.
    #[error("structure layer {layer} changes its order, and ranks share its cells")]
    OrderOfSharedCells {
        /// The layer.
        layer: usize,
    },
    /// The aggregation that is kept would come after the product with the weights.
    #[error("it keeps an aggregation that does not come first")]
    KeptAggregation,
    /// An update names ranks for another number of frames than it has.
    #[error("update {update} names ranks for {found} frames instead of {wanted}")]
    UpdateRanks {
        /// The update.
        update: usize,
        /// The frames that it names ranks for.
        found: usize,
        /// Those that it should.
        wanted: usize,
    },
    /// A frame is given to a rank that does not exist.
    #[error("update {update} has a frame on rank {owner} of {ranks}")]
    UpdateOwner {
        /// The update.
        update: usize,
        /// The rank.
        owner: u32,
        /// The ranks there are.
        ranks: usize,
    },
    /// Parts do not add up to the whole.
    #[error("its {parts} have {found} {what}, it has {all}")]
    Sum {
        /// The parts.
        parts: &'static str,
        /// What they have.
        what: &'static str,
        /// All parts together; None if that is beyond any number.
        found: Many,
        /// The whole.
        all: usize,
    },
    /// Several ranks, and no word of how they share the work; or one, and such a word.
    #[error("it does not say how {ranks} ranks share it")]
    NotShared {
        /// The ranks.
        ranks: usize,
    },
    /// One rank that would share with nobody.
    #[error("one rank shares it by {by}")]
    SharedByOne {
        /// How.
        by: String,
    },
    /// Parts and pieces of what moves beside computing are not to be had.
    #[error(
        "\"beside\" asks for {parts} parts and {pieces} pieces, with \"overlap\": {overlap}: there are 1 to 64 of \
         each, and only if \"overlap\" is true"
    )]
    Beside {
        /// Whether anything moves beside computing.
        overlap: bool,
        /// Parts of snapshots.
        parts: usize,
        /// Pieces of vertices.
        pieces: usize,
    },
    /// Kernels of a GPU sum over all vertices at once.
    #[error("\"beside\" asks for {pieces} pieces on GPUs, which follow all vertices at once: 1")]
    PiecesOnGpu {
        /// Pieces of vertices.
        pieces: usize,
    },
    /// Groups of ranks do not divide the ranks.
    #[error("groups of {members} ranks do not divide {ranks} ranks")]
    UnevenGroups {
        /// Ranks of a group.
        members: u32,
        /// The ranks.
        ranks: usize,
    },
    /// The list of owners is not as long as there are vertices to own.
    #[error("it has owners of {found} vertices instead of {wanted}")]
    Owners {
        /// The owners.
        found: usize,
        /// The vertices.
        wanted: usize,
    },
    /// A vertex belongs to a member that does not exist.
    #[error("vertex {vertex} is owned by member {owner} of {members}")]
    Owner {
        /// The vertex.
        vertex: usize,
        /// The member.
        owner: u32,
        /// The members there are.
        members: u32,
    },
    /// More is prepared ahead than can be.
    #[error("it {does} {ahead} {what} ahead, up to {most} are possible")]
    Ahead {
        /// What it does.
        does: &'static str,
        /// Of what.
        what: &'static str,
        /// How many.
        ahead: usize,
        /// The most.
        most: usize,
    },
    /// It looks ahead for what needs no looking ahead.
    #[error("it looks ahead for a graph that lies on the GPU")]
    AheadOfResident,
    /// Parts of snapshots are sent as differences although their columns have other numbers in each.
    #[error("it sends differences of snapshots whose vertices ranks share")]
    DifferencesOfParts,
    /// CUDA graphs of updates that do not repeat.
    #[error("it records updates in stretches or of ranks that take frames of their own")]
    Recorded,
    /// CUDA graphs of a backward pass that asks again for what was streamed.
    #[error("it records updates whose blocks are kept and streamed")]
    RecordedStream,
    /// One rank, and a word of how rows move between GPUs.
    #[error("one rank has nobody to send to")]
    TransportOfOne,
    /// Several ranks for batches of events.
    #[error("batches of events are computed by one rank, not {ranks}")]
    BatchRanks {
        /// The ranks.
        ranks: usize,
    },
    /// Batches are listed although their boundaries move, or not although they stay.
    #[error("it has to list its batches, unless their boundaries move by chunks")]
    BatchList,
    /// A batch ends inside of a time.
    #[error(
        "batch {batch} ends between two events of one time, but a batch has to end before an event of a later time"
    )]
    InsideOfTime {
        /// The batch.
        batch: usize,
    },
    /// A placement has not as many snapshots as the frame.
    #[error("it places {found} of {steps} snapshots")]
    PlacedSteps {
        /// The snapshots placed.
        found: usize,
        /// Those of the frame.
        steps: usize,
    },
    /// A snapshot is placed on a rank that does not exist.
    #[error("it places a snapshot on {what} {owner} of {count}")]
    PlacedOn {
        /// A rank or a group.
        what: &'static str,
        /// Its number.
        owner: u32,
        /// How many there are.
        count: usize,
    },
    /// Chunks of vertices do not cover them all.
    #[error("its {parts} do not cover {vertices} vertices")]
    Uncovered {
        /// Chunks or members.
        parts: &'static str,
        /// The vertices.
        vertices: u32,
    },
    /// Chunks are not one for each rank.
    #[error("its chunks are not one for each of {ranks} ranks")]
    ChunkRanks {
        /// The ranks.
        ranks: usize,
    },
}

/// A sum that may be beyond any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Many(pub Option<usize>);

impl std::fmt::Display for Many {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(count) => write!(f, "{count}"),
            None => f.write_str("far too many"),
        }
    }
}
