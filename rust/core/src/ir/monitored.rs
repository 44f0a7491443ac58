//! The policy with its monitored rules in force: its own bytes without the `mode` of rules.

use super::node::{CAPS, Map};
use super::part::{MODE, rule_fields};
use crate::json::tape::{Node, Tape};
use crate::source::{Source, Span};

const MEMBER: &[u8] = b"\"mode\":\"monitor\"";
/// The bytes of the member before its text.
const BEFORE: usize = b"\"mode\":\"".len();

/// Returns the bytes of a policy without the `mode` of the rules at `spans`, which are in order; `None` if no rule has one.
pub(crate) fn in_force(source: &Source, spans: impl Iterator<Item = Span>) -> Option<Vec<u8>> {
    let bytes = source.bytes();
    let (mut made, mut copied) = (Vec::new(), 0);
    for span in spans {
        let rule = source.get(span);
        // PERF: the key may also be that of a value; most rules have neither.
        if !rule.windows(MEMBER.len()).any(|found| found == MEMBER) {
            continue;
        }
        let Some(text) = mode_at(rule) else {
            continue;
        };
        let from = span.start as usize + text.checked_sub(BEFORE)?;
        let mut to = from + MEMBER.len();
        if bytes.get(from..to) != Some(MEMBER) {
            return None;
        }
        // Canonical JSON: `priority` and other keys follow.
        if bytes.get(to) == Some(&b',') {
            to += 1;
        }
        made.extend_from_slice(bytes.get(copied..from)?);
        copied = to;
    }
    if copied == 0 {
        return None;
    }
    made.extend_from_slice(bytes.get(copied..)?);
    Some(made)
}

/// The offset of the text of `mode` in the bytes of a declarative rule.
fn mode_at(rule: &[u8]) -> Option<usize> {
    let tape = Tape::parse(rule, CAPS).ok()?;
    let map = Map::of(tape.root(), "the rule").ok()?;
    if map.text("k").ok()? != "rule" {
        return None;
    }
    match rule_fields(map).ok()?.get(MODE)?.node() {
        Node::Text(start, _) => Some(start as usize),
        _ => None,
    }
}
