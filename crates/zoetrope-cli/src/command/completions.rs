//! `zoetrope completions`: completion scripts for shells.

use clap::Args;
use clap_complete::Shell;

use crate::exit::Failure;
use crate::help;

/// Flags of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zoetrope completions bash > ~/.local/share/bash-completion/completions/zoetrope
  zoetrope completions zsh > ~/.zfunc/_zoetrope
  zoetrope completions fish > ~/.config/fish/completions/zoetrope.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// The script.
pub(crate) fn run(args: &CompletionsArgs) -> Result<String, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::commands(), "zoetrope", &mut script);
    Ok(String::from_utf8_lossy(&script).into_owned())
}
