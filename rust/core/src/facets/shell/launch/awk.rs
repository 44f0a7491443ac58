//! `awk`: programs that start no other program.

use super::super::super::Undecidable;
use super::super::effects::Effects;
use super::super::script::Command;
use super::Launch;
use super::options::scan;

impl Launch<'_> {
    pub(super) fn awk(&mut self, first: usize) -> Result<(), Undecidable> {
        let found = scan(self, self.launcher, first, false)?;
        if found.operand >= self.row.end as usize {
            return self.started_nothing(first);
        }
        self.certain(found.operand)?;
        if starts_programs(self.script.text(found.operand)) {
            return Err(self.error(
                found.operand,
                "launcher_argument",
                "a pipe, `system`, or a call by name",
            ));
        }
        Ok(())
    }
}

/// What programs do beside reading: `>` writes, and gawk connects to a file `/inet/tcp/0/HOST/80`, wherever its name comes from.
pub(in super::super) fn effects(command: &Command<'_>) -> Effects {
    let mut found = if command.is_open() {
        Effects::NETWORK
    } else {
        Effects::READ
    };
    for word in command.argv() {
        let text = word.text();
        if text.contains('>') {
            return Effects::WRITE.and(Effects::NETWORK);
        }
        let opens = ["getline", "ARGV", "SYMTAB", "/inet"];
        if word.is_variable() || opens.iter().any(|name| text.contains(name)) {
            found = Effects::NETWORK;
        }
    }
    found
}

/// The text of a program has a pipe, a call of `system`, or a directive.
fn starts_programs(text: &str) -> bool {
    text.contains("system") || text.contains('@') || text.replace("||", "").contains('|')
}
