//! Partitions of dynamic graphs, and what they cost.
//!
//! - `bench-partition cuts DATA WINDOWS SMOOTHING FOLDER PARTS…`: makes both partitions for each number
//!   of parts and prints a line of JSON for each; writes the two hypergraphs to the folder, so that
//!   `compare.py` can give the same to other partitioners.
//! - `bench-partition volumes DATA WINDOWS LIFE PARTS…`: the volumes of Table 2 of ESDG.
#![forbid(unsafe_code)]

mod clock;
mod cuts;
mod graphs;
mod volumes;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["cuts", data, windows, smoothing, folder, ref parts @ ..] => {
            cuts::run(data, windows, smoothing, folder.as_ref(), &numbers(parts));
        }
        ["volumes", data, windows, life, ref parts @ ..] => {
            volumes::run(
                data,
                windows,
                life.parse().expect("a number of snapshots"),
                &numbers(parts),
            );
        }
        _ => eprintln!(
            "usage: bench-partition cuts DATA WINDOWS SMOOTHING FOLDER PARTS… | volumes DATA WINDOWS LIFE PARTS…"
        ),
    }
}

fn numbers(words: &[&str]) -> Vec<u32> {
    words.iter().map(|word| word.parse().expect("a number of parts")).collect()
}
