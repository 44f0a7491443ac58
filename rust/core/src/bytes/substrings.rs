//! Search for many texts in one pass, in memory that does not grow with their lengths.
//!
//! An automaton takes 50 bytes for each byte of its texts; for 100,000 long texts it took 44 s to build. So for long texts it
//! finds their beginnings, and the texts with a beginning are looked up in sorted order.

use super::literals::LiteralSet;
use crate::budget::Steps;
use crate::error::Fault;

/// Up to this many bytes of texts a table of all transitions is built where no vectors of bytes search for them: 1 ns a byte
/// searched, 100 bytes a byte of text.
const SMALL: usize = 8_192;

/// Up to this many bytes the automaton has the complete texts.
const WHOLE: usize = 256 * 1024;

/// The bytes of each text that the automaton has otherwise.
const BEGINNING: usize = 8;

/// Compared bytes per step.
const BYTES_A_STEP: usize = 256;

/// Finds which of some texts are in another one.
#[derive(Debug)]
pub(crate) struct Substrings {
    automaton: LiteralSet,
    /// For each beginning, the range of `ordered` with the texts that start with it.
    groups: Option<Groups>,
}

#[derive(Debug)]
struct Groups {
    ranges: Vec<(u32, u32)>,
    /// All texts in order, each with the place in this order of the longest one that it begins with.
    order: Vec<(u32, Option<u32>)>,
}

impl Substrings {
    /// Builds the search for `texts`. Returns `None` for too many texts.
    pub(crate) fn new(texts: &[&[u8]]) -> Option<Self> {
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        if bytes <= WHOLE {
            let automaton = LiteralSet::new(texts, SMALL, false)?;
            return Some(Self {
                automaton,
                groups: None,
            });
        }
        let mut order: Vec<u32> = (0..texts.len() as u32).collect();
        let text = |at: u32| texts.get(at as usize).copied().unwrap_or_default();
        order.sort_unstable_by(|a, b| text(*a).cmp(text(*b)));
        let (mut beginnings, mut ranges) = (Vec::<&[u8]>::new(), Vec::<(u32, u32)>::new());
        let mut linked = Vec::with_capacity(order.len());
        // Those that the last text begins with, the longest one last.
        let mut open: Vec<u32> = Vec::new();
        for (place, &at) in (0..).zip(&order) {
            let this = text(at);
            let beginning = this.get(..BEGINNING).unwrap_or(this);
            match (beginnings.last(), ranges.last_mut()) {
                (Some(last), Some((_, end))) if *last == beginning => *end = place + 1,
                _ => {
                    beginnings.push(beginning);
                    ranges.push((place, place + 1));
                    open.clear();
                }
            }
            let held = |place: u32| order.get(place as usize).map_or(&[][..], |at| text(*at));
            while open
                .last()
                .is_some_and(|last| !this.starts_with(held(*last)))
            {
                open.pop();
            }
            linked.push((at, open.last().copied()));
            open.push(place);
        }
        let automaton = LiteralSet::new(&beginnings, 0, false)?;
        let groups = Some(Groups {
            ranges,
            order: linked,
        });
        Some(Self { automaton, groups })
    }

    /// Returns true if one of the texts is in `text`; `needle` gives each by its number.
    ///
    /// # Errors
    /// [`Fault::BudgetExceeded`].
    pub(crate) fn any<'n>(
        &self,
        text: &str,
        needle: impl Fn(usize) -> &'n [u8],
        steps: &Steps,
    ) -> Result<bool, Fault> {
        if self.groups.is_none() {
            return Ok(self.automaton.is_match(text));
        }
        let mut found = false;
        self.each_hit(text, needle, steps, |_| {
            found = true;
            false
        })?;
        Ok(found)
    }

    /// Calls `visit` with each that is in `text`, some more than once, until it answers `false`. Texts that end in one another
    /// are found at one place all of them, so what is found takes steps.
    ///
    /// # Errors
    /// [`Fault::BudgetExceeded`].
    pub(crate) fn each_hit<'n>(
        &self,
        text: &str,
        needle: impl Fn(usize) -> &'n [u8],
        steps: &Steps,
        mut visit: impl FnMut(usize) -> bool,
    ) -> Result<(), Fault> {
        let Some(groups) = &self.groups else {
            return self.automaton.each_hit(text, steps, visit);
        };
        for hit in self.automaton.hits(text) {
            steps.take(1)?;
            let range = groups.ranges.get(hit.literal);
            let rest = text.as_bytes().get(hit.start..).unwrap_or_default();
            let (from, to) = range.map_or((0, 0), |range| (range.0 as usize, range.1 as usize));
            let group = groups.order.get(from..to).unwrap_or_default();
            let after = group.partition_point(|(at, _)| needle(*at as usize) <= rest);
            // A text that begins `rest` begins the last one before it, too.
            let mut place = after.checked_sub(1).map(|last| from + last);
            while let Some((at, shorter)) = place.and_then(|place| groups.order.get(place)) {
                let wanted = needle(*at as usize);
                steps.take((wanted.len() / BYTES_A_STEP) as u64)?;
                if rest.starts_with(wanted) && !visit(*at as usize) {
                    return Ok(());
                }
                place = shorter.map(|place| place as usize);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Substrings, WHOLE};
    use crate::budget::Steps;

    #[test]
    fn long_texts_are_found_as_short_ones_are() {
        let mut texts: Vec<String> = ["a", "ab", "abcdefgh", "abcdefghi", "abcdefghij", "bcd", "é"]
            .map(String::from)
            .to_vec();
        texts.extend((0..40).map(|n| format!("abcdefghi{}", "j".repeat(n))));
        texts.push("z".repeat(WHOLE));
        let bytes: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        let long = Substrings::new(&bytes).expect("few texts");
        assert!(long.groups.is_some());
        for text in [
            "",
            "xabcdefghijjjz",
            "abcdefg",
            "bcé",
            "abcdefghabcdefghiz",
            "zzz",
        ] {
            let mut found = vec![false; texts.len()];
            let steps = Steps::endless();
            long.each_hit(
                text,
                |at| bytes[at],
                &steps,
                |at| {
                    found[at] = true;
                    true
                },
            )
            .expect("endless steps");
            let wanted: Vec<bool> = texts.iter().map(|one| text.contains(one)).collect();
            assert_eq!(found, wanted, "{text}");
            let any = long.any(text, |at| bytes[at], &steps);
            assert_eq!(any, Ok(wanted.contains(&true)), "{text}");
        }
    }
}
