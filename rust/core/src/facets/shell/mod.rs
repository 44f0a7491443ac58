//! The shell facet: the simple commands of a command line, as a POSIX shell would start them, or [`Undecidable`].
//!
//! [`parse`] accepts a strict subset of the shell language: lists, pipelines, `!`, groups, subshells, assignments,
//! redirections, quoting and literal words. It expands nothing. What a shell would expand is undecidable, but for patterns,
//! braces and tildes in arguments: these become words without a certain text ([`Word::is_literal`]), and the program stays
//! certain. Programs that start other programs are launchers ([`launch`]): the started program becomes a command of its own
//! behind that of the launcher. A launcher with an option that its data does not know is undecidable.
//!
//! INVARIANT: every program that `bash -c TEXT`, `dash -c TEXT` or a listed launcher starts is the program of a command here.
//! What a started program then does by itself (`make`, `python`, `./run.sh`) is not known; its effect is `run` or `unknown`.
//! The environment of the shell is trusted: its `PATH`, functions, aliases and configuration files.

mod builtin;
mod effects;
mod grammar;
mod json;
mod launch;
mod pack;
mod program;
mod redirect;
mod scan;
mod script;
mod table;
mod variables;

pub use effects::Effects;
pub use json::{packs_json, to_json};
pub use pack::{Pack, Row, packs};
pub use script::{Command, Commands, Redirection, RedirectionKind, Script, Word};

use super::Undecidable;
use crate::limits::MAX_SHELL_BYTES;

/// Parses a command line.
///
/// # Errors
/// The programs that a shell would start are not certain.
pub fn parse(text: &str) -> Result<Script, Undecidable> {
    if text.len() > MAX_SHELL_BYTES {
        return Err(Undecidable::new(
            "too_long",
            MAX_SHELL_BYTES,
            format!("a command line has at most {MAX_SHELL_BYTES} bytes"),
        ));
    }
    let mut script = Script::with_capacity(text.len());
    grammar::Parser::new(text, &mut script, None)?.run()?;
    Ok(script)
}
