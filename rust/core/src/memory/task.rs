//! The task of a run, and the links in a text.

use std::sync::OnceLock;

use crate::budget::{Pace, Steps};
use crate::error::Fault;
use crate::facets::links;
use crate::text::{Haystack, Needle};
use crate::value::memory::LeafValue;

/// The text of a task, read once in each case that decisions ask for.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) text: Box<str>,
    written: OnceLock<Haystack>,
    lower: OnceLock<Haystack>,
}

impl Task {
    pub(super) fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            written: OnceLock::new(),
            lower: OnceLock::new(),
        }
    }

    /// Returns true if a value occurs in the task; with `lower`, if it does when both are in lower case.
    pub(super) fn holds(
        &self,
        value: &LeafValue<'_>,
        lower: bool,
        steps: &Steps,
    ) -> Result<bool, Fault> {
        steps.text(self.text.len(), Pace::Search)?;
        let needle = match value {
            LeafValue::Text(text) => {
                steps.text(text.len(), Pace::Make)?;
                Some(Needle::text(text, lower))
            }
            LeafValue::Number(number) => Needle::number(number),
        };
        let held = if lower { &self.lower } else { &self.written };
        let held = held.get_or_init(|| Haystack::new(&self.text, lower));
        Ok(needle.is_some_and(|needle| held.holds(&needle)))
    }
}

/// The URLs in a text; `None`: it is undecidable what they are.
pub(super) fn links(text: &str) -> Option<Vec<String>> {
    links::parse(text).ok()
}
