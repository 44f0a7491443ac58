//! Parsed texts of one decision: a text is parsed once, however many rules ask.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Facet, Parsed, Undecidable};

/// Texts kept at once. More are parsed again.
const KEPT: usize = 16;

/// The result of parsing one text.
pub(crate) type Answer = Rc<Result<Parsed, Undecidable>>;

/// The texts that were parsed for one decision.
#[derive(Debug, Default)]
pub(crate) struct Cache(RefCell<Vec<(Facet, Rc<str>, Answer)>>);

impl Cache {
    /// The value of a text.
    pub(crate) fn get(&self, facet: Facet, text: &str) -> Answer {
        let mut kept = self.0.borrow_mut();
        let known = kept
            .iter()
            .find(|(known, parsed, _)| *known == facet && **parsed == *text);
        if let Some((.., answer)) = known {
            return Rc::clone(answer);
        }
        let text = Rc::from(text);
        let answer = Rc::new(facet.parse_shared(&text));
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((facet, text, Rc::clone(&answer)));
        answer
    }
}
