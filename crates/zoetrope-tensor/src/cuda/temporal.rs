//! Sampling neighbours in time on a GPU: the twin of [`zoetrope_graph::sampler`], event for event.
//!
//! The temporal index lies on the GPU. A call uploads its moments, launches, and waits for its own
//! answer alone: whatever other threads launched meanwhile goes on. So it is made by the thread that
//! prepares batches, while another one trains.

use std::sync::{Mutex, PoisonError};

use bytemuck::{Pod, Zeroable};
use zoetrope_graph::TemporalIndex;
use zoetrope_graph::sampler::{Choice, EqualTimes, Moment, Sampled, Sampler};

use super::kernel::{ByValue, Kernel, grid_for};
use super::memory::Scratch;
use super::transfer::Landing;
use super::{Arg, Gpu, View};

static COUNT: Kernel = Kernel::new("temporal", "temporal_count");
static PLACES: Kernel = Kernel::new("temporal", "temporal_places");
static DRAW: Kernel = Kernel::new("temporal", "temporal_draw");
static FILL: Kernel = Kernel::new("temporal", "temporal_fill");

const BLOCK: usize = 128;

/// A temporal index on a GPU.
#[derive(Debug)]
pub struct TemporalSampler {
    gpu: Gpu,
    offsets: Scratch<u64>,
    neighbour: Scratch<u32>,
    event: Scratch<u32>,
    time: Scratch<i64>,
    /// Where answers land on the host.
    landing: Mutex<Landing>,
}

/// What kernels read of the index.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Index {
    offsets: u64,
    neighbour: u64,
    event: u64,
    time: u64,
}

/// What they read of the moments.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Moments {
    time: u64,
    before: u64,
    vertex: u64,
    count: u32,
    unused: u32,
}

impl TemporalSampler {
    /// The bytes of an index on a GPU.
    pub fn bytes_of(index: &TemporalIndex) -> usize {
        16 * index.len() + 8 * index.offsets().len()
    }

    /// Copies an index to a GPU.
    ///
    /// # Panics
    /// If it has events from the number 2^32 on.
    pub fn new(gpu: &Gpu, index: &TemporalIndex) -> Self {
        let mut neighbour = Vec::with_capacity(index.len());
        let (mut event, mut time) =
            (Vec::with_capacity(index.len()), Vec::with_capacity(index.len()));
        for vertex in 0..index.vertices() {
            let own = index.of(vertex);
            neighbour.extend_from_slice(own.neighbours);
            time.extend_from_slice(own.times);
            event.extend(own.events().map(|event| u32::try_from(event).expect("below 2^32")));
        }
        Self {
            gpu: gpu.clone(),
            offsets: gpu.uploaded(index.offsets()),
            neighbour: gpu.uploaded(&neighbour),
            event: gpu.uploaded(&event),
            time: gpu.uploaded(&time),
            landing: Mutex::default(),
        }
    }

    /// As [`Sampler::sample`] with this index.
    ///
    /// # Panics
    /// If a moment names a vertex that the index does not have.
    pub fn sample(&self, rule: &Sampler, moments: &[Moment], step: u32, sampled: &mut Sampled) {
        let most =
            u32::try_from(rule.neighbours).unwrap_or(u32::MAX).min(self.neighbour.len() as u32);
        let (count, vertices) = (moments.len(), self.offsets.len() - 1);
        assert!(moments.iter().all(|moment| (moment.vertex as usize) < vertices), "vertices");
        sampled.offsets.clear();
        sampled.offsets.resize(count + 1, 0);
        let room = count * most as usize;
        if room == 0 {
            sampled.vertex.clear();
            sampled.event.clear();
            sampled.time.clear();
            return;
        }
        // Moments go up as one block and answers come back as one, wide values first.
        let mut asked: Vec<u64> = moments.iter().map(|moment| moment.time as u64).collect();
        asked.extend(moments.iter().map(|moment| moment.before));
        let pair = |pair: &[Moment]| {
            let second = pair.get(1).map_or(0, |moment| u64::from(moment.vertex));
            u64::from(pair[0].vertex) | second << 32
        };
        asked.extend(moments.chunks(2).map(pair));
        let asked = self.gpu.uploaded(&asked);
        let mut ends = self.gpu.take_of::<u64>(count);
        let mut counts = self.gpu.take_of::<u32>(count);
        let words = 2 * room + (count + 1) + 2 * room;
        let answer = self.gpu.take_of::<u32>(words);
        let place = |at: usize| answer.view().ptr() + (at * size_of::<u32>()) as u64;
        let (times, vertex, event, offsets) =
            (place(0), place(2 * room), place(3 * room), place(4 * room));
        let uniform = rule.choice == Choice::Uniform;
        let mut positions = uniform.then(|| self.gpu.take_of::<u64>(room));
        let first = asked.view().ptr();
        let asked_of = Moments {
            time: first,
            before: first + 8 * count as u64,
            vertex: first + 16 * count as u64,
            count: count as u32,
            unused: 0,
        };
        let (index, asked_of) = (self.index(), ByValue(&asked_of));
        let index = ByValue(&index);
        let (gpu, blocks) = (&self.gpu, grid_for(count, BLOCK));
        let past = u32::from(rule.equal_times == EqualTimes::Past);
        let (ends, counts) = (ends.view_mut(), counts.view_mut());
        let arguments: [&dyn Arg; 6] = [&index, &asked_of, &past, &most, &ends, &counts];
        gpu.launch(&COUNT, blocks, BLOCK as u32, 0, &arguments);
        gpu.launch(&PLACES, 1, 1024, 0, &[&counts, &(count as u32), &offsets]);
        let positions = positions.as_mut().map(|positions| positions.view_mut());
        if positions.is_some() {
            let arguments: [&dyn Arg; 7] =
                [&index, &asked_of, &rule.seed, &step, &ends, &offsets, &positions];
            gpu.launch(&DRAW, blocks, BLOCK as u32, 0, &arguments);
        }
        let arguments: [&dyn Arg; 9] =
            [&index, &asked_of, &most, &ends, &offsets, &positions, &vertex, &event, &times];
        gpu.launch(&FILL, grid_for(room, BLOCK), BLOCK as u32, 0, &arguments);
        self.take(answer.view(), room, sampled);
    }

    fn index(&self) -> Index {
        Index {
            offsets: self.offsets.view().ptr(),
            neighbour: self.neighbour.view().ptr(),
            event: self.event.view().ptr(),
            time: self.time.view().ptr(),
        }
    }

    /// Waits for an answer and writes it where the caller looks.
    fn take(&self, answer: View<'_, u32>, room: usize, sampled: &mut Sampled) {
        let mut landing = self.landing.lock().unwrap_or_else(PoisonError::into_inner);
        let words = landing.receive(&self.gpu, answer);
        sampled.offsets.copy_from_slice(&words[4 * room..]);
        let total = sampled.offsets.last().map_or(0, |&end| end as usize);
        sampled.time.clear();
        let times = words[..2 * total].chunks_exact(2);
        sampled
            .time
            .extend(times.map(|pair| (u64::from(pair[1]) << 32 | u64::from(pair[0])) as i64));
        sampled.vertex.clear();
        sampled.vertex.extend_from_slice(&words[2 * room..][..total]);
        sampled.event.clear();
        sampled.event.extend(words[3 * room..][..total].iter().map(|&event| u64::from(event)));
    }
}
