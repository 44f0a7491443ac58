//! Reads command lines that end with NUL, and prints for each the programs that brush-parser finds: words as they are written, each
//! in front of NUL, then a newline. A line that it does not accept is `!`.
//!
//! It serves a campaign of `tests/shell`, which compares the programs with those of the shell facet.

use std::io::{Read, Write};

use brush_parser::ast::{
    Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList, Pipeline, SimpleCommand,
};
use brush_parser::{Parser, ParserOptions};

fn main() -> std::io::Result<()> {
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    let mut output = std::io::BufWriter::new(std::io::stdout());
    for text in input.split_inclusive(|byte| *byte == 0) {
        let text = text.strip_suffix(&[0]).unwrap_or(text);
        match programs(text) {
            Some(found) => {
                for word in found {
                    // Words hold newlines only between quotes.
                    write!(output, "{}\0", word.replace('\n', "\u{1}"))?;
                }
                writeln!(output)?;
            }
            None => writeln!(output, "!")?,
        }
    }
    output.flush()
}

/// The programs of a command line, or `None` if the parser refuses it.
fn programs(text: &[u8]) -> Option<Vec<String>> {
    let program = Parser::new(text, &ParserOptions::default())
        .parse_program()
        .ok()?;
    let mut found = Vec::new();
    for list in &program.complete_commands {
        of_list(list, &mut found);
    }
    Some(found)
}

fn of_list(list: &CompoundList, found: &mut Vec<String>) {
    for item in &list.0 {
        for (_, pipeline) in item.0.iter() {
            of_pipeline(pipeline, found);
        }
    }
}

fn of_pipeline(pipeline: &Pipeline, found: &mut Vec<String>) {
    for command in &pipeline.seq {
        match command {
            Command::Simple(command) => of_simple(command, found),
            Command::Compound(CompoundCommand::BraceGroup(group), _) => of_list(&group.list, found),
            Command::Compound(CompoundCommand::Subshell(group), _) => of_list(&group.list, found),
            // The facet has none of the others: a name that it cannot have says so.
            _ => found.push("(a command of another kind)".to_owned()),
        }
    }
}

fn of_simple(command: &SimpleCommand, found: &mut Vec<String>) {
    found.extend(command.word_or_name.iter().map(|word| word.value.clone()));
    for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
        if let CommandPrefixOrSuffixItem::ProcessSubstitution(_, group) = item {
            of_list(&group.list, found);
        }
    }
}
