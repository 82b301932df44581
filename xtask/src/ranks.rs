//! `cargo xtask ranks`: the whole matrix of models, tasks, strategies, ranks, blocks, optimisers and engines,
//! each cell against one rank, and the table of what became of it.
//!
//! The cells are those of `crates/zoetrope-train/tests/equality.rs`, of which the tests draw some.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::validate::{cargo, target};

/// Where the tests leave the rows of the table; they run all cells if it is set.
const TABLE: &str = "ZOETROPE_EQUALITY_TABLE";

const HEAD: &str = "| engine | model | cells | equal | worst loss | worst weight | seconds | commit |\n\
                    | --- | --- | --- | --- | --- | --- | --- | --- |\n";

/// Runs all cells and writes `bench/results/equality.md`. Whether all of them are equal.
pub(crate) fn run(root: &Path) -> bool {
    let rows = target(root).join("equality-rows.md");
    let _ = std::fs::remove_file(&rows);
    let began = Instant::now();
    let mut command = cargo(root, &["test", "--locked", "--package", "zoetrope-train"]);
    command.args(["--test", "equality", "--", "drawn_cells", "--test-threads", "1"]);
    let passed = command.env(TABLE, &rows).status().is_ok_and(|status| status.success());
    let rows = std::fs::read_to_string(&rows).unwrap_or_default();
    let text = page(&rows, &commit(root), began.elapsed().as_secs());
    print!("{text}");
    let path = root.join("bench/results/equality.md");
    let written = std::fs::write(&path, text);
    if let Err(error) = &written {
        eprintln!("{}: {error}", path.display());
    }
    passed && written.is_ok()
}

fn page(rows: &str, commit: &str, seconds: u64) -> String {
    let column = |at: usize| {
        let of =
            |row: &str| row.split('|').nth(at).and_then(|cell| cell.trim().parse::<usize>().ok());
        rows.lines().filter_map(of).sum::<usize>()
    };
    let mut page = String::new();
    let _ = writeln!(
        page,
        "What ranks learn against one rank (`cargo xtask ranks`): {} of {} cells are equal, {seconds} s \
         in all. A cell is a model, one of four tasks, a strategy, 1, 2, 3, 4 or 8 ranks, 1 or 3 blocks (if the model can \
         be computed in blocks), SGD or Adam; on GPUs, which are emulated unless there is one, there is one cell for each \
         model and strategy. It is equal if the mean loss of each of three epochs (more than 20 updates) is within 1e-5 of \
         that of one rank with the same engine, relative to it, and with SGD each weight within 1e-4 of the largest. Worst \
         are the largest differences of a model, those of weights with SGD.\n",
        column(4),
        column(3)
    );
    let rows = rows.lines().map(|row| format!("{row} {commit} |\n"));
    page + HEAD + &rows.collect::<String>()
}

fn commit(root: &Path) -> String {
    let output =
        Command::new("git").args(["describe", "--always", "--dirty"]).current_dir(root).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_else(|_| "an unknown commit".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_counts_the_cells_of_all_rows() {
        let rows = "| threads | tgcn | 30 | 30 | 1e-7 | 2e-7 | 9 |\n| GPUs | tgcn | 4 | 3 | 1e-3 | 2e-7 | 9 |\n";
        let page = page(rows, "abc", 12);
        assert!(page.contains("33 of 34 cells are equal, 12 s"), "{page}");
        assert!(page.ends_with("| 4 | 3 | 1e-3 | 2e-7 | 9 | abc |\n"), "{page}");
    }
}
