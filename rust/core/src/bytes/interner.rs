//! Texts by number.

use std::collections::HashMap;

use super::hash::Keyed;

/// Distinct texts, numbered in the order in which they came.
#[derive(Default)]
pub(crate) struct Interner {
    pub(crate) texts: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32, Keyed>,
}

impl Interner {
    /// The number of a text.
    pub(crate) fn intern(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }
}
