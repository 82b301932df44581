//! `zoetrope embed`: writes the embeddings of vertices at a time.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use zoetrope_data::numbers_file::{write_array, write_vertices};

use crate::command::document;
use crate::exit::Failure;
use crate::input::may_write;
use crate::saved_model::SavedModel;

/// Write the embeddings of all vertices at a snapshot, as .npy or .parquet
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EmbedArgs {
    #[command(flatten)]
    model: SavedModel,
    /// File to write: .npy (vertices × width) or .parquet (one row a vertex, with its name)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace the file
    #[arg(long)]
    force: bool,
    /// Snapshot, counted from 0; the last one where absent
    #[arg(long, value_name = "STEP")]
    at: Option<usize>,
    /// Print one JSON document instead of the report
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  zoetrope embed --run runs/tgcn-demo-1 --out vertices.npy
  zoetrope embed --run runs/tgcn-demo-1 --at 120 --out vertices.parquet";

/// Runs the command.
pub(crate) fn run(args: &EmbedArgs) -> Result<String, Failure> {
    may_write(&args.out, args.force)?;
    let parquet = match args.out.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => false,
        Some("parquet") => true,
        _ => {
            let message = format!("{}: the name must end in .npy or .parquet", args.out.display());
            return Err(Failure::usage(message));
        }
    };
    let mut session = args.model.open(args.json)?;
    let last = session.material().steps() - 1;
    let step = args.at.unwrap_or(last);
    let values = session.embed(step)?;
    let (vertices, width) = (session.material().vertices(), session.network().model.width());
    match parquet {
        true => {
            let names = &session.material().names;
            write_vertices(&args.out, names, width, &values)?;
        }
        false => write_array(&args.out, &[vertices, width], &values)?,
    }
    match args.json {
        true => document(&json!({
            "schema": 1,
            "file": args.out.display().to_string(),
            "shape": [vertices, width],
            "snapshot": step,
        })),
        false => Ok(format!("{}: {vertices} × {width}, snapshot {step}\n", args.out.display())),
    }
}
