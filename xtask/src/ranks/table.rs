//! The table of `cargo xtask ranks`: a row for each model and strategy, a column for each engine and number of ranks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

/// A model and a strategy.
type Row = (String, String);

/// An engine and a number of ranks.
type Column = (String, u64);

/// What a cell of the table sums up.
#[derive(Debug, Default)]
struct Summary {
    cells: usize,
    wrong: usize,
    refused: usize,
    loss: f64,
    weight: f64,
    seconds: f64,
}

impl Summary {
    fn add(&mut self, cell: &Value) {
        let number = |name: &str| cell[name].as_f64().unwrap_or(0.0);
        self.cells += 1;
        self.wrong += usize::from(cell["right"] != true);
        self.refused += usize::from(cell["refused"].is_string());
        self.loss = self.loss.max(number("loss"));
        self.weight = self.weight.max(number("weight"));
        self.seconds += number("seconds");
    }

    fn shown(&self) -> String {
        let compared = self.cells - self.refused;
        let refused =
            if self.refused > 0 { format!(" + {} refused", self.refused) } else { String::new() };
        let wrong =
            if self.wrong > 0 { format!(", **{} wrong**", self.wrong) } else { String::new() };
        if compared == 0 {
            return refused.trim_start_matches(" + ").to_owned();
        }
        format!("{:.0e} ({compared}{refused}{wrong})", self.loss)
    }
}

/// Engines in the order of columns, with the words for them.
const ENGINES: [(&str, &str); 3] =
    [("threads", "threads"), ("processes", "MPI"), ("gpus", "emulated GPUs")];

/// The page with all of it.
pub(super) fn page(cells: &[Value], commit: &str) -> String {
    let text = |cell: &Value, name: &str| cell["cell"][name].as_str().unwrap_or("?").to_owned();
    let ranks = |cell: &Value| cell["cell"]["ranks"].as_u64().unwrap_or(0);
    let mut order: Vec<Row> = Vec::new();
    let mut summed: BTreeMap<(Row, Column), Summary> = BTreeMap::new();
    let mut by_engine: BTreeMap<String, Summary> = BTreeMap::new();
    let mut refused: BTreeMap<Row, BTreeSet<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for cell in cells {
        let row = (text(cell, "model"), text(cell, "strategy"));
        if !order.contains(&row) {
            order.push(row.clone());
        }
        let engine = text(cell, "engine");
        by_engine.entry(engine.clone()).or_default().add(cell);
        summed.entry((row.clone(), (engine, ranks(cell)))).or_default().add(cell);
        if let Some(reason) = cell["refused"].as_str() {
            let blocks = format!("{} blocks", cell["cell"]["blocks"]);
            refused.entry((reason.to_owned(), blocks)).or_default().insert(row.0);
        }
        if cell["right"] != true {
            wrong.push(cell.to_string());
        }
    }
    // Models as they were run, the strategies of each together.
    let models: Vec<String> = order.iter().map(|row| row.0.clone()).collect();
    order.sort_by_key(|row| models.iter().position(|model| *model == row.0));
    let mut page = head(cells.len(), wrong.len(), commit, &by_engine);
    let columns: BTreeSet<&(String, u64)> = summed.keys().map(|(_, column)| column).collect();
    let of = |&(engine, name): &(&str, &'static str)| {
        let own = columns.iter().filter(move |column| column.0 == engine);
        own.map(move |column| (name, (*column).clone())).collect::<Vec<_>>()
    };
    let columns: Vec<_> = ENGINES.iter().flat_map(of).collect();
    let names: String =
        columns.iter().map(|(name, column)| format!(" {name} {} |", column.1)).collect();
    let _ = writeln!(page, "| model | strategy |{names} commit |");
    let _ = writeln!(page, "| --- | --- |{}", " --- |".repeat(columns.len() + 1));
    for row in order {
        let of = |(_, column): &(&str, (String, u64))| {
            let found = summed.get(&(row.clone(), column.clone()));
            format!(" {} |", found.map_or_else(String::new, Summary::shown))
        };
        let shown: String = columns.iter().map(of).collect();
        let _ = writeln!(page, "| {} | {} |{shown} {commit} |", row.0, row.1);
    }
    for ((reason, blocks), models) in refused {
        let models: Vec<String> = models.into_iter().collect();
        let _ = writeln!(page, "\nRefused, {blocks}: {} (\"{reason}\").", models.join("; "));
    }
    for cell in wrong {
        let _ = writeln!(page, "\nWrong: `{cell}`");
    }
    page
}

fn head(all: usize, wrong: usize, commit: &str, by_engine: &BTreeMap<String, Summary>) -> String {
    let mut page = format!(
        "# What ranks learn against one rank\n\n`cargo xtask ranks` at commit {commit}: {} of {all} cells are as they \
         should be.\n\nA cell is a model, one of four tasks (node regression, link prediction, node classification, edge \
         classification: each model does all of them), a strategy, 1, 2, 3, 4 or 8 ranks, 1 or 3 blocks, and SGD or Adam. \
         It is right if after at least twenty updates the mean losses of all epochs are within 1e-5 of those of one rank \
         with the same engine that computes whole frames, relative to them, all ranks have the same bits, and with SGD \
         each weight is within 1e-4 of the largest. On emulated GPUs there is one cell for each model, strategy and \
         number of ranks, and tasks, blocks and optimisers take turns. `hybrid` by two or three ranks would be \
         `hypergraph`. With `frames` an update has two frames, so that more than two ranks take turns.\n\n",
        all - wrong
    );
    for (engine, name) in ENGINES {
        if let Some(Summary { cells, refused, loss, weight, seconds, .. }) = by_engine.get(engine) {
            let _ = writeln!(
                page,
                "- {name}: {cells} cells, {refused} of them refused; worst loss {loss:.1e}, worst weight (SGD) {weight:.1e}; \
                 {seconds:.0} s"
            );
        }
    }
    page.push_str(
        "\nShown: the largest relative difference of a loss, and in parentheses the number of cells, by engine and number \
         of ranks.\n\n",
    );
    page
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_are_models_and_strategies_and_columns_engines_and_ranks() {
        let cell = |model: &str, engine: &str, ranks: u64| json!({ "engine": engine, "model": model, "strategy": "vertex", "ranks": ranks, "blocks": 1 });
        let cells = [
            json!({ "cell": cell("tgcn", "threads", 2), "right": true, "loss": 2e-7, "seconds": 1.0 }),
            json!({ "cell": cell("tgcn", "threads", 2), "right": true, "loss": 1e-7, "seconds": 1.0 }),
            json!({ "cell": cell("tgcn", "processes", 8), "right": false, "failed": "it hangs" }),
            json!({ "cell": cell("dysat", "threads", 2), "right": true, "refused": "whole frames" }),
        ];
        let page = page(&cells, "abc");
        assert!(page.contains("3 of 4 cells"), "{page}");
        assert!(page.contains("| model | strategy | threads 2 | MPI 8 | commit |"), "{page}");
        assert!(
            page.contains("| tgcn | vertex | 2e-7 (2) | 0e0 (1, **1 wrong**) | abc |"),
            "{page}"
        );
        assert!(page.contains("| dysat | vertex | 1 refused |  |"), "{page}");
        assert!(page.contains("Refused, 1 blocks: dysat (\"whole frames\")."), "{page}");
        assert!(page.contains("it hangs"), "{page}");
    }
}
