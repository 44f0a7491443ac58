//! Texts for people: the reason of an answer, and the line of a failure.

use bobcat_core::lang::Verdict;

/// Characters that a host may trim: a reason of these alone counts as empty, and a deny without a reason is ignored by some
/// hosts.
const BLANK: &str = "\t\n\u{b}\u{c}\r\u{1c}\u{1d}\u{1e}\u{1f} \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\
\u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{200b}\u{2028}\u{2029}\u{202f}\u{205f}\u{2060}\u{3000}\u{feff}\0";

/// The reason of a decision; where it is blank, the verdict and the rule.
pub(crate) fn stated(verdict: Verdict, reason: &str, rule: &str) -> String {
    if reason.chars().all(|c| BLANK.contains(c)) {
        return format!("{} by rule `{rule}`", verdict.as_str());
    }
    reason.to_owned()
}

/// `text` in one line: control characters and line separators are escaped.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::{Verdict, one_line, stated};

    #[test]
    fn a_blank_reason_is_replaced() {
        assert_eq!(stated(Verdict::Deny, " \u{a0}\n", "r"), "deny by rule `r`");
        assert_eq!(stated(Verdict::Deny, "no", "r"), "no");
    }

    #[test]
    fn a_line_has_no_line_feed() {
        assert_eq!(one_line("a\nb\u{2028}"), "a\\nb\\u{2028}");
    }
}
