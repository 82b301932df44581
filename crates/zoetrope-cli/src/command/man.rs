//! `zoetrope man`: manual pages, made from the same declarations as the flags.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use clap_mangen::Man;

use crate::exit::Failure;
use crate::help;
use crate::report::human::plural;

/// Flags of `man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zoetrope man | man -l -
  zoetrope man --out ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Folder to write one page a command to; made if it does not exist
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The page of `zoetrope` itself, or a line that says how many pages were written where.
pub(crate) fn run(args: &ManArgs) -> Result<String, Failure> {
    let mut command = help::commands();
    command.build();
    let Some(folder) = &args.out else {
        return page(command).map_err(|error| Failure::resource(error.to_string()));
    };
    std::fs::create_dir_all(folder).map_err(|error| Failure::writing(folder, error))?;
    let mut pages = 0;
    write_pages(command, "zoetrope", folder, &mut pages)?;
    Ok(format!("wrote {} to {}\n", plural(pages, "page"), folder.display()))
}

fn page(command: clap::Command) -> io::Result<String> {
    let mut text = Vec::new();
    Man::new(command).render(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn write_pages(
    command: clap::Command,
    name: &str,
    folder: &Path,
    pages: &mut u64,
) -> Result<(), Failure> {
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        write_pages(below.clone(), &format!("{name}-{}", below.get_name()), folder, pages)?;
    }
    let path = folder.join(format!("{name}.1"));
    page(command.display_name(name.to_owned()))
        .and_then(|text| std::fs::write(&path, text))
        .map_err(|error| Failure::writing(&path, error))?;
    *pages += 1;
    Ok(())
}
