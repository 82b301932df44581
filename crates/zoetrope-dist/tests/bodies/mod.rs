//! What every engine has to do, written once: each rank knows what all ranks put in, so that each can
//! work out what must come out.

#![allow(dead_code, reason = "each test uses its part")]

use std::hash::{DefaultHasher, Hash, Hasher};

use zoetrope_dist::{DistError, Exchange, ExchangePlan, Ranks, Reduction, all_reduce_bytes};
use zoetrope_tensor::{Shape, Tape};

/// A number that follows from its arguments alone.
pub(crate) fn draw(seed: u64, rank: usize, at: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, rank, at).hash(&mut hasher);
    hasher.finish()
}

/// Values of very different sizes: a sum in another order has other bits.
pub(crate) fn values(seed: u64, rank: usize, len: usize) -> Vec<f32> {
    let value = |at| {
        let draw = draw(seed, rank, at);
        let scale = 10f64.powi((draw % 9) as i32 - 4);
        ((draw >> 11) as f64 / (1u64 << 53) as f64 - 0.5) as f32 * scale as f32
    };
    (0..len).map(value).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn sum_in_order(parts: impl Iterator<Item = Vec<f32>>) -> Vec<f32> {
    let add = |mut sum: Vec<f32>, part: Vec<f32>| {
        sum.iter_mut().zip(&part).for_each(|(sum, value)| *sum += value);
        sum
    };
    parts.reduce(add).unwrap_or_default()
}

/// All collectives and messages, blocking and overlapped; a hash of what came out.
pub(crate) fn collectives(ranks: &Ranks, seed: u64) -> Result<u64, DistError> {
    let mut out = DefaultHasher::new();
    for len in [0, 1, 7, 1024, 1025, 5000 + (seed % 100) as usize] {
        reductions(ranks, seed ^ len as u64, len, &mut out)?;
    }
    gathers(ranks, seed, &mut out)?;
    points(ranks, seed, &mut out)?;
    overlapped(ranks, seed, &mut out)?;
    // The same hash on all ranks, or the test fails here.
    let hash = out.finish();
    assert_eq!(ranks.all_gather(&[hash])?, vec![hash; ranks.size()]);
    Ok(hash)
}

fn reductions(
    ranks: &Ranks,
    seed: u64,
    len: usize,
    out: &mut DefaultHasher,
) -> Result<(), DistError> {
    let (rank, size) = (ranks.rank(), ranks.size());
    let before = ranks.traffic();
    let mut sum = values(seed, rank, len);
    ranks.all_reduce(&mut sum, Reduction::Sum)?;
    let expected = sum_in_order((0..size).map(|rank| values(seed, rank, len)));
    assert_eq!(bits(&sum), bits(&expected));
    let used = ranks.traffic().since(&before).all_reduce;
    assert_eq!((used.calls, used.bytes), (1, all_reduce_bytes(len, 4, rank, size) as u64));

    let pending = ranks.start_all_reduce(values(seed, rank, len), Reduction::Sum)?;
    assert_eq!(bits(&pending.wait()?), bits(&expected));

    let wide = |rank| values(seed, rank, len).into_iter().map(f64::from).collect::<Vec<_>>();
    let mut sum = wide(rank);
    ranks.all_reduce(&mut sum, Reduction::Sum)?;
    let all: Vec<Vec<f64>> = (0..size).map(wide).collect();
    for (at, sum) in sum.iter().enumerate() {
        let expected = all[1..].iter().fold(all[0][at], |sum, part| sum + part[at]);
        assert_eq!(sum.to_bits(), expected.to_bits());
    }

    let counts = |rank| (0..len).map(|at| draw(seed, rank, at)).collect::<Vec<u64>>();
    let mut most = counts(rank);
    ranks.all_reduce(&mut most, Reduction::Max)?;
    for (at, most) in most.iter().enumerate().take(64) {
        assert_eq!(Some(*most), (0..size).map(|rank| draw(seed, rank, at)).max());
    }
    bits(&expected).hash(out);
    most.hash(out);
    Ok(())
}

fn gathers(ranks: &Ranks, seed: u64, out: &mut DefaultHasher) -> Result<(), DistError> {
    let (rank, size) = (ranks.rank(), ranks.size());
    let before = ranks.traffic();
    let all = ranks.all_gather(&values(seed, rank, 33))?;
    let expected: Vec<Vec<f32>> = (0..size).map(|rank| values(seed, rank, 33)).collect();
    assert_eq!(bits(&all), bits(&expected.concat()));
    let used = ranks.traffic().since(&before).all_gather;
    assert_eq!(used.bytes as usize, (size - 1) * 33 * 4);

    // Ranks with nothing, and with more than others.
    let len = |rank: usize| (draw(seed, rank, 0) % 5) as usize * 100;
    let varied = ranks.all_gather_varied(&values(seed, rank, len(rank)))?;
    let expected: Vec<Vec<f32>> = (0..size).map(|rank| values(seed, rank, len(rank))).collect();
    assert_eq!(varied, expected);

    let len = |from: usize, to: usize| (draw(seed, from, to + 1) % 4) as usize * 50;
    let list = |from: usize, to: usize| values(seed + to as u64, from, len(from, to));
    let sends = || (0..size).map(|to| list(rank, to)).collect::<Vec<_>>();
    let expected: Vec<Vec<f32>> = (0..size).map(|from| list(from, rank)).collect();
    assert_eq!(ranks.all_to_all(sends())?, expected);
    let lengths: Vec<usize> = (0..size).map(|from| len(from, rank)).collect();
    let before = ranks.traffic();
    assert_eq!(ranks.all_to_all_known(sends(), &lengths)?, expected);
    let leaves: usize = (0..size).filter(|&to| to != rank).map(|to| len(rank, to) * 4).sum();
    let used = ranks.traffic().since(&before).all_to_all;
    assert_eq!((used.calls, used.bytes as usize), (1, leaves));

    for root in 0..size {
        let before = ranks.traffic();
        let mut text = if rank == root { values(seed, root, 77) } else { vec![0.0; 77] };
        ranks.broadcast(root, &mut text)?;
        assert_eq!(bits(&text), bits(&values(seed, root, 77)));
        let used = ranks.traffic().since(&before).broadcast;
        assert_eq!(used.bytes as usize, if rank == root { (size - 1) * 77 * 4 } else { 0 });
    }
    ranks.barrier()?;
    assert_eq!(ranks.traffic().barrier.bytes, 0);
    bits(&all).hash(out);
    Ok(())
}

fn points(ranks: &Ranks, seed: u64, out: &mut DefaultHasher) -> Result<(), DistError> {
    let (rank, size) = (ranks.rank(), ranks.size());
    if size == 1 {
        return Ok(());
    }
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    let before = ranks.traffic();
    // Two under one tag arrive in order; those of other tags do not stand in the way.
    let first = ranks.start_send(next, 1, values(seed, rank, 10))?;
    let second = ranks.start_send(next, 1, values(seed + 1, rank, 10))?;
    let other = ranks.start_send(next, 2, vec![rank as u64; 3])?;
    assert_eq!(ranks.receive::<u64>(previous, 2, 3)?, [previous as u64; 3]);
    assert_eq!(ranks.receive::<f32>(previous, 1, 10)?, values(seed, previous, 10));
    assert_eq!(ranks.receive::<f32>(previous, 1, 10)?, values(seed + 1, previous, 10));
    for pending in [first, second, other] {
        pending.wait()?;
    }
    let used = ranks.traffic().since(&before).point_to_point;
    assert_eq!((used.calls, used.bytes), (6, 2 * 40 + 24));
    // Pairs of odd size: numbers of messages differ from rank to rank, collectives still match.
    if rank == 0 {
        ranks.send(1, 3, vec![7u32])?;
    } else if rank == 1 {
        assert_eq!(ranks.receive::<u32>(0, 3, 1)?, [7]);
    }
    seed.hash(out);
    Ok(())
}

/// Several calls under way at once, waited for in an order that differs from rank to rank.
fn overlapped(ranks: &Ranks, seed: u64, out: &mut DefaultHasher) -> Result<(), DistError> {
    let (rank, size) = (ranks.rank(), ranks.size());
    let len = 20_000;
    let expected = sum_in_order((0..size).map(|rank| values(seed, rank, len)));
    let sum = ranks.start_all_reduce(values(seed, rank, len), Reduction::Sum)?;
    let gathered = ranks.start_all_gather(vec![rank as u64], &vec![1; size])?;
    let unwanted = ranks.start_all_gather(vec![1.0f32; 100], &vec![100; size])?;
    let mut cast = ranks.start_broadcast(size - 1, vec![rank as u32; 5])?;
    let met = ranks.start_barrier()?;
    drop(unwanted);
    cast.poll()?;
    if rank % 2 == 0 {
        assert_eq!(bits(&sum.wait()?), bits(&expected));
        assert_eq!(gathered.wait()?.concat(), (0..size as u64).collect::<Vec<_>>());
        assert_eq!(cast.wait()?, [size as u32 - 1; 5]);
    } else {
        assert_eq!(cast.wait()?, [size as u32 - 1; 5]);
        assert_eq!(gathered.wait()?.concat(), (0..size as u64).collect::<Vec<_>>());
        let mut sum = sum;
        while !sum.poll()? {
            std::thread::yield_now();
        }
        assert_eq!(bits(&sum.wait()?), bits(&expected));
    }
    met.wait()?;
    bits(&expected).hash(out);
    Ok(())
}

/// Where row `at` of the whole belongs.
fn owner(seed: u64, at: usize, size: usize) -> usize {
    (draw(seed, 0, at) % size as u64) as usize
}

/// A redistribution and a halo on the tape, forward and back; a hash of the gradients of rank 0.
pub(crate) fn exchanges(ranks: &Ranks, seed: u64) -> Result<u64, DistError> {
    let (rank, size) = (ranks.rank(), ranks.size());
    let (rows, cols) = (60 + (seed % 17) as usize, 1 + (seed % 5) as usize);
    let (from, to) = (|at| owner(seed, at, size), |at| owner(seed + 1, at, size));
    let plan = ExchangePlan::between(rank, size, rows, from, to).unwrap();
    let row = |at: usize| values(seed, at, cols);
    let gradient = |at: usize| values(seed + 2, at, cols);
    let held = |owner: &dyn Fn(usize) -> usize, row: &dyn Fn(usize) -> Vec<f32>| {
        (0..rows).filter(|&at| owner(at) == rank).flat_map(row).collect::<Vec<f32>>()
    };
    let exchange = Exchange::new(ranks, plan);
    let x = held(&from, &row);
    for overlapped in [false, true] {
        let before = ranks.traffic();
        let (y, dx) = there_and_back(&exchange, &x, cols, &held(&to, &gradient), overlapped);
        ranks.check()?;
        assert_eq!(bits(&y), bits(&held(&to, &row)));
        assert_eq!(bits(&dx), bits(&held(&from, &gradient)));
        let used = ranks.traffic().since(&before);
        let leave = exchange.plan().bytes(cols) + exchange.plan().rows_received() * cols * 4;
        assert_eq!(used.all_to_all.bytes as usize, leave);
        assert_eq!(used.bytes(), used.all_to_all.bytes);
    }
    halo(ranks, seed)
}

/// Every rank wants rows of every rank, some of them the same.
fn halo(ranks: &Ranks, seed: u64) -> Result<u64, DistError> {
    let (rank, size) = (ranks.rank(), ranks.size());
    let (rows, cols) = (9, 3);
    // What `to` wants of `of`; the result has its rows by owner, after an empty row.
    let wants = |to: usize, of: usize| {
        let wanted = (0..rows).filter(|&at| !draw(seed, to * size + of, at).is_multiple_of(3));
        wanted.map(|at| at as u32).collect::<Vec<u32>>()
    };
    let wanted: Vec<Vec<u32>> = (0..size).map(|of| wants(rank, of)).collect();
    let mut next = 1;
    let places = wanted.iter().map(|list| {
        let places = next..next + list.len() as u32;
        next = places.end;
        places.collect()
    });
    let places: Vec<Vec<u32>> = places.collect();
    let shape = [rows, next as usize];
    let plan = ExchangePlan::wanting(ranks, shape, wanted, places)?.unwrap();
    let exchange = Exchange::new(ranks, plan);
    let dy = |rank: usize| {
        let len: usize = 1 + (0..size).map(|of| wants(rank, of).len()).sum::<usize>();
        values(seed + 3, rank, len * cols)
    };
    let mut expected_y = vec![0.0; cols];
    for of in 0..size {
        let x = values(seed, of, rows * cols);
        for row in wants(rank, of) {
            expected_y.extend(&x[row as usize * cols..][..cols]);
        }
    }
    // Gradients come back in the order of the ranks that sent them.
    let mut expected_dx = vec![0.0f32; rows * cols];
    for to in 0..size {
        let start = 1 + (0..rank).map(|of| wants(to, of).len()).sum::<usize>();
        for (at, row) in wants(to, rank).into_iter().enumerate() {
            let dy = &dy(to)[(start + at) * cols..][..cols];
            let dx = &mut expected_dx[row as usize * cols..][..cols];
            dx.iter_mut().zip(dy).for_each(|(dx, dy)| *dx += dy);
        }
    }
    let x = values(seed, rank, rows * cols);
    for overlapped in [false, true] {
        let (y, dx) = there_and_back(&exchange, &x, cols, &dy(rank), overlapped);
        ranks.check()?;
        assert_eq!(bits(&y), bits(&expected_y));
        assert_eq!(bits(&dx), bits(&expected_dx));
    }
    let mut out = DefaultHasher::new();
    for all in ranks.all_gather(&expected_dx)? {
        all.to_bits().hash(&mut out);
    }
    Ok(out.finish())
}

/// The result of an exchange, and the gradient of what went in for the gradient `dy` of the result.
pub(crate) fn there_and_back(
    exchange: &Exchange,
    x: &[f32],
    cols: usize,
    dy: &[f32],
    overlapped: bool,
) -> (Vec<f32>, Vec<f32>) {
    let mut tape = Tape::new();
    let x = tape.variable(x.len() / cols, cols, x).unwrap();
    let y = if overlapped {
        let pending = exchange.start(&mut tape, x).unwrap();
        pending.arrive(&mut tape)
    } else {
        exchange.apply(&mut tape, x).unwrap()
    };
    assert_eq!(tape.shape(y), Shape::new(exchange.plan().rows_out(), cols));
    let result = tape.read(y);
    tape.backward_from(y, dy).unwrap();
    (result, tape.gradient(x).unwrap().to_vec())
}
