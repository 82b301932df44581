//! What communication costs here: `latency [RANKS]` on threads, `mpirun -n RANKS latency mpi` over MPI
//! (with `--features mpi`). Medians of repeated calls, as rank 0 sees them.

use std::time::Instant;

use zoetrope_dist::{DistError, Exchange, ExchangePlan, Ranks, Reduction, Timeouts, threads};

fn main() {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "2".into());
    if argument == "mpi" {
        over_mpi();
    } else {
        let size = argument.parse().expect("a number of ranks, or `mpi`");
        threads::run(size, Timeouts::default(), |ranks| measure(&ranks))
            .expect("all ranks go through");
    }
}

#[cfg(feature = "mpi")]
fn over_mpi() {
    zoetrope_dist::mpi::run(Timeouts::default(), |ranks| measure(&ranks))
        .expect("all ranks go through");
}

#[cfg(not(feature = "mpi"))]
fn over_mpi() {
    eprintln!("built without the feature `mpi`");
    std::process::exit(2);
}

fn measure(ranks: &Ranks) -> Result<(), DistError> {
    let say = |text: String| {
        if ranks.rank() == 0 {
            println!("{text}");
        }
    };
    say(format!("{} ranks, {}", ranks.size(), ranks.engine()));
    let barrier = median(ranks, 2000, || ranks.barrier())?;
    say(format!("barrier                       {:>10.1} µs", barrier * 1e6));
    for len in [1usize, 1_000, 100_000, 1_000_000] {
        let mut values = vec![1.0f32; len];
        let repeats = (2_000_000 / len).clamp(10, 2000);
        let time = median(ranks, repeats, || {
            values.fill(1.0);
            ranks.all_reduce(&mut values, Reduction::Sum)
        })?;
        say(format!("all-reduce of {len:>9} f32     {:>10.1} µs", time * 1e6));
    }
    // ESDG's redistribution: 16 steps of 20,000 vertices with 16 columns, 20 MB.
    let (steps, vertices, cols) = (16, 20_000, 16);
    let size = ranks.size();
    let plan = ExchangePlan::between(
        ranks.rank(),
        size,
        steps * vertices,
        |row| row / vertices * size / steps,
        |row| row % vertices * size / vertices,
    );
    let exchange = Exchange::new(ranks, plan.expect("owners are ranks"));
    let x = vec![1.0f32; exchange.plan().rows_in() * cols];
    let mut y = vec![0.0f32; exchange.plan().rows_out() * cols];
    let time = median(ranks, 20, || exchange.rows(&x, cols, &mut y))?;
    let bytes = (steps * vertices * cols * 4) as f64;
    say(format!(
        "redistribution of {:.1} MB      {:>10.1} µs ({:.2} GB/s)",
        bytes / 1e6,
        time * 1e6,
        bytes / time / 1e9
    ));
    Ok(())
}

fn median(
    ranks: &Ranks,
    repeats: usize,
    mut call: impl FnMut() -> Result<(), DistError>,
) -> Result<f64, DistError> {
    ranks.barrier()?;
    let mut times = Vec::with_capacity(repeats);
    for _ in 0..repeats {
        let start = Instant::now();
        call()?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[repeats / 2])
}
