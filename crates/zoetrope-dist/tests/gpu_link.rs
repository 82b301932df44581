//! Ranks with an emulated GPU each, linked by an emulated NCCL: what goes from GPU to GPU has the bits
//! and the counted bytes of what goes by way of the host, and a rank that is lost is named.

mod bodies;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use zoetrope_dist::{
    Call, DistError, Exchange, ExchangePlan, NoLink, Ranks, Reduction, Timeouts, threads,
};
use zoetrope_tensor::cuda::ParameterBlock;
use zoetrope_tensor::{Device, Gpu, Tape};
use zoetrope_testkit::emulator;

const GPUS: &[(&str, &str)] = &[("ZOETROPE_EMULATED_DEVICES", "4")];

/// The GPU of a rank.
fn gpu(ranks: &Ranks) -> Gpu {
    Gpu::open(ranks.rank()).unwrap()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Rows of one placement that some ranks get several times, some once, and one row of which nobody
/// sends.
fn halo(ranks: &Ranks, rows: usize) -> ExchangePlan {
    let (rank, size) = (ranks.rank(), ranks.size());
    // From rank `from` to rank `to` go those rows whose number fits.
    let go = |from: usize, to: usize| {
        (0..rows as u32).filter(move |row| !(*row as usize + from + 2 * to).is_multiple_of(3))
    };
    let sends: Vec<Vec<u32>> = (0..size).map(|to| go(rank, to).collect()).collect();
    let mut next = 1;
    let receives = (0..size).map(|from| {
        let count = go(from, rank).count() as u32;
        next += count;
        (next - count..next).rev().collect()
    });
    let receives: Vec<Vec<u32>> = receives.collect();
    ExchangePlan::new(rank, [rows, next as usize], sends, receives).unwrap()
}

/// There and back on a tape of a device: rows and gradients; the input's gradient has another addend.
fn there_and_back(
    exchange: &Exchange,
    device: &Device,
    x: &[f32],
    cols: usize,
    overlapped: bool,
) -> [Vec<u32>; 2] {
    let mut tape = Tape::on(device.clone());
    let input = tape.variable(x.len() / cols, cols, x).unwrap();
    let output = if overlapped {
        exchange.start(&mut tape, input).unwrap().arrive(&mut tape)
    } else {
        exchange.apply(&mut tape, input).unwrap()
    };
    let weights = bodies::values(2, 7, tape.shape(output).len());
    let found = tape.read(output);
    let weight = tape.variable(tape.shape(output).rows, cols, &weights).unwrap();
    let weighted = tape.mul(output, weight).unwrap();
    let both = [tape.mean(weighted), tape.mean(input)];
    let loss = tape.add(both[0], both[1]).unwrap();
    tape.backward(loss).unwrap();
    [bits(&found), bits(&tape.gradient_block(input).unwrap().to_vec())]
}

#[test]
fn rows_go_from_gpu_to_gpu_with_the_bits_and_bytes_of_the_host() {
    if !emulator::is_here("rows_go_from_gpu_to_gpu_with_the_bits_and_bytes_of_the_host", GPUS) {
        return;
    }
    for size in [2, 3, 4] {
        threads::run(size, Timeouts::default(), |ranks| {
            let gpu = gpu(&ranks);
            let device = Device::Cuda(gpu.clone());
            let rows = 10;
            let even = ExchangePlan::between(
                ranks.rank(),
                ranks.size(),
                ranks.size() * rows,
                |at| at / rows,
                |at| at % ranks.size(),
            );
            let plans = [even.unwrap(), halo(&ranks, rows)];
            let exchanges = plans.map(|plan| Exchange::new(&ranks, plan));
            let run = |copied: &mut u64| {
                let mut found = Vec::new();
                let before = (ranks.traffic(), gpu.copied_bytes()[1]);
                for exchange in &exchanges {
                    for cols in [1, 3, 8] {
                        let x = bodies::values(1, ranks.rank(), rows * cols);
                        for overlapped in [false, true] {
                            found.push(there_and_back(exchange, &device, &x, cols, overlapped));
                        }
                    }
                }
                *copied = gpu.copied_bytes()[1] - before.1;
                let used = ranks.traffic().since(&before.0).all_to_all;
                (found, used.calls, used.bytes)
            };
            let (mut by_host, mut by_gpus) = (0, 0);
            let expected = run(&mut by_host);
            assert_eq!(ranks.link_gpus(&gpu)?, Ok(()));
            assert!(ranks.are_linked(&gpu));
            assert_eq!(run(&mut by_gpus), expected);
            // What the test itself reads: results and gradients.
            let read: usize = expected.0.iter().flatten().map(|values| values.len() * 4).sum();
            assert_eq!(by_gpus, read as u64, "nothing else comes to the host");
            assert!(by_host > by_gpus);
            ranks.check()
        })
        .unwrap();
    }
}

#[test]
fn sums_on_gpus_have_the_bits_and_bytes_of_sums_on_the_host() {
    if !emulator::is_here("sums_on_gpus_have_the_bits_and_bytes_of_sums_on_the_host", GPUS) {
        return;
    }
    for size in [2, 3, 4] {
        threads::run(size, Timeouts::default(), |ranks| {
            let gpu = gpu(&ranks);
            assert_eq!(ranks.link_gpus(&gpu)?, Ok(()));
            for len in [4, 1024, 1028, 5000] {
                let own = bodies::values(3, ranks.rank(), len);
                let before = ranks.traffic();
                let mut expected = own.clone();
                ranks.all_reduce(&mut expected, Reduction::Sum)?;
                let middle = ranks.traffic();
                let mut values = ParameterBlock::new(&gpu, [len]).values();
                values.write(&own);
                ranks.all_reduce_on_gpu(values.view_mut())?;
                assert_eq!(bits(&values.to_vec()), bits(&expected));
                let [host, gpu] =
                    [middle.since(&before), ranks.traffic().since(&middle)].map(|t| t.all_reduce);
                assert_eq!((host.calls, host.bytes), (gpu.calls, gpu.bytes));
            }
            Ok::<_, DistError>(())
        })
        .unwrap();
    }
}

#[test]
fn ranks_that_share_a_gpu_agree_not_to_link_it() {
    if !emulator::is_here("ranks_that_share_a_gpu_agree_not_to_link_it", GPUS) {
        return;
    }
    threads::run(3, Timeouts::default(), |ranks| {
        let gpu = Gpu::open(ranks.rank() % 2).unwrap();
        assert_eq!(ranks.link_gpus(&gpu)?, Err(NoLink::Shared { ranks: [0, 2] }));
        assert!(!ranks.are_linked(&gpu));
        Ok::<_, DistError>(())
    })
    .unwrap();
    assert_eq!(threads::alone().link_gpus(&Gpu::open(0).unwrap()), Ok(Err(NoLink::Alone)));
}

#[test]
fn where_nccl_itself_refuses_all_ranks_get_the_same_reason() {
    let settings = [GPUS[0], ("ZOETROPE_SHARE_CARD", "1")];
    if !emulator::is_here("where_nccl_itself_refuses_all_ranks_get_the_same_reason", &settings) {
        return;
    }
    threads::run(2, Timeouts::default(), |ranks| {
        let reason = ranks.link_gpus(&Gpu::open(0).unwrap())?.unwrap_err();
        let text = reason.to_string();
        assert!(text.starts_with("rank 0 could not link its GPU: "), "{text}");
        assert!(text.contains("invalid usage"), "{text}");
        // They can still talk by way of the host.
        assert_eq!(ranks.all_reduce_one(1u64, Reduction::Sum)?, 2);
        Ok::<_, DistError>(())
    })
    .unwrap();
}

/// An exchange there and back on the linked GPU of a rank, as a step of training.
fn linked_step(ranks: &Ranks) -> Result<impl Fn() + use<>, DistError> {
    let gpu = gpu(ranks);
    let exchange = Exchange::new(ranks, halo(ranks, 10));
    assert_eq!(ranks.link_gpus(&gpu)?, Ok(()));
    let x = bodies::values(1, ranks.rank(), 30);
    Ok(move || {
        there_and_back(&exchange, &Device::Cuda(gpu.clone()), &x, 3, true);
        gpu.wait();
    })
}

/// What the ranks that are left are told when rank 1 does something else than exchange, once their GPUs
/// wait for its GPU, and how long it takes.
fn with_victim(
    timeout: Duration,
    fault: impl Fn() + Send + Sync + 'static,
) -> (String, Vec<String>, Duration) {
    let timeouts = Timeouts { timeout, grace: Duration::from_secs(600) };
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (tell, start) = (Arc::clone(&told), Instant::now());
    let failure = threads::run(3, timeouts, move |ranks| {
        let step = linked_step(&ranks).map_err(|error| error.to_string())?;
        step();
        ranks.barrier().map_err(|error| error.to_string())?;
        if ranks.rank() == 1 {
            let waits = |rank: usize| ranks.positions()[rank].waits;
            let exchanges = |rank| waits(rank).is_some_and(|site| site.call == Call::Exchange);
            while !(exchanges(0) && exchanges(2)) {
                std::thread::yield_now();
            }
            fault();
            return Ok(());
        }
        step();
        let error = ranks.check().unwrap_err().to_string();
        tell.lock().unwrap().push(error.clone());
        Err::<(), _>(error)
    });
    let told = told.lock().unwrap().clone();
    (failure.unwrap_err().to_string(), told, start.elapsed())
}

#[test]
fn a_rank_that_ends_or_hangs_while_gpus_wait_for_its_gpu_is_named() {
    let test = "a_rank_that_ends_or_hangs_while_gpus_wait_for_its_gpu_is_named";
    if !emulator::is_here(test, GPUS) {
        return;
    }
    // Kernels are compiled here, so that nobody seems to hang who compiles.
    threads::run(3, Timeouts::default(), |ranks| linked_step(&ranks).map(|step| step())).unwrap();

    let (text, told, time) = with_victim(Duration::from_secs(300), || panic!("out of luck"));
    assert!(text.contains("rank 1 ended: it panicked: out of luck"), "{text}");
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|one| one.contains("in exchange 10: rank 1 ended")), "{told:?}");
    assert!(time < Duration::from_secs(100), "{time:?}");

    let over = Arc::new(AtomicBool::new(false));
    let hangs = Arc::clone(&over);
    let (text, told, time) = with_victim(Duration::from_secs(5), move || {
        while !hangs.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    over.store(true, Ordering::Relaxed);
    assert!(text.contains("rank 1 hangs for"), "{text}");
    assert!(text.contains("others wait for it, and it does not come"), "{text}");
    assert!(told.iter().all(|one| one.contains("waits in exchange")), "{told:?}");
    assert!(time < Duration::from_secs(100), "{time:?}");
}
