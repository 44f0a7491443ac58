//! `awk`: programs that start no other program.

use super::super::super::Undecidable;
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

/// The text of a program has a pipe, a call of `system`, or a directive.
fn starts_programs(text: &str) -> bool {
    text.contains("system") || text.contains('@') || text.replace("||", "").contains('|')
}
