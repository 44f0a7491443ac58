//! Indexes of derived values under construction.

use super::builder::{Lists, Rules, RulesBy, push};
use crate::bytes::strmap::StrMap;
use crate::clause::ops::affix::End;
use crate::clause::ops::derived_key::{DerivedKey, Made, Required};
use crate::index::affixes::Affixes;
use crate::index::derived::{Derivations, DerivedIndex};
use crate::index::substrings::SubstringIndex;
use crate::value::class::{Class, Classes};

/// The indexes of what is made from the value at one path.
#[derive(Default)]
pub(super) struct DerivationsBuilder {
    lower: Option<Box<DerivedBuilder>>,
    each: Option<Box<DerivedBuilder>>,
    first: Option<Box<DerivedBuilder>>,
    empty: Rules,
}

/// An index of a made value.
#[derive(Default)]
struct DerivedBuilder {
    strings: RulesBy<String>,
    ints: RulesBy<i64>,
    starts: RulesBy<Box<str>>,
    ends: RulesBy<Box<str>>,
    parts: RulesBy<Box<str>>,
    errors: [Rules; Class::ALL.len()],
    all: Rules,
    lower: Option<Box<Self>>,
}

impl DerivationsBuilder {
    /// Adds a rule by what its guard requires.
    pub(super) fn add(&mut self, rule: u32, key: DerivedKey<'_>) {
        let place = match key.made {
            Made::Lower => &mut self.lower,
            Made::Each => &mut self.each,
            Made::First { .. } => &mut self.first,
        };
        let builder = place.get_or_insert_default();
        builder.add(rule, key.fails, key.required);
        if key.made == (Made::First { empty: true }) {
            self.empty.push(rule);
        }
    }

    pub(super) fn finish(self, lists: &mut Lists) -> Derivations {
        let mut finish =
            |builder: Option<Box<DerivedBuilder>>| builder.map(|builder| builder.finish(lists));
        Derivations {
            lower: finish(self.lower),
            each: finish(self.each),
            first: finish(self.first),
            empty: lists.keep(self.empty),
        }
    }
}

impl DerivedBuilder {
    fn add(&mut self, rule: u32, fails: Classes, required: Required<'_>) {
        self.all.push(rule);
        for (class, rules) in Class::ALL.into_iter().zip(&mut self.errors) {
            if fails.has(class) {
                rules.push(rule);
            }
        }
        match required {
            Required::Scalars(texts, ints) => {
                for text in texts {
                    push(&mut self.strings, text.into_owned(), rule);
                }
                for number in ints {
                    push(&mut self.ints, *number, rule);
                }
            }
            Required::Parts(texts) => {
                for text in texts {
                    push(&mut self.parts, text.into(), rule);
                }
            }
            Required::Affixes(end, texts) => {
                let by_text = match end {
                    End::Start => &mut self.starts,
                    End::End => &mut self.ends,
                };
                for text in texts {
                    push(by_text, text.clone(), rule);
                }
            }
            Required::Lower(required) => {
                let lower = self.lower.get_or_insert_default();
                lower.add(rule, Classes::NONE, *required);
            }
        }
    }

    fn finish(mut self, lists: &mut Lists) -> Box<DerivedIndex> {
        let mut affixes = Vec::new();
        for (end, texts) in [(End::Start, self.starts), (End::End, self.ends)] {
            let rules: Vec<u32> = texts.values().flatten().copied().collect();
            match Affixes::new(end, lists.each(texts).collect()) {
                Some(found) => affixes.push(found),
                // Too many to be looked up: every text finds these rules.
                None => {
                    if let Some(errors) = self.errors.get_mut(Class::String as usize) {
                        errors.extend(rules);
                    }
                }
            }
        }
        let all = lists.keep(self.all);
        let mut ints: Vec<_> = lists.each(self.ints).collect();
        ints.sort_unstable_by_key(|(number, _)| *number);
        let parts: Vec<_> = lists.each(self.parts).collect();
        let strings = lists.each(self.strings);
        let mut index = DerivedIndex {
            strings: StrMap::new(strings.map(|(text, rules)| (text.into(), rules)).collect()),
            ints,
            affixes,
            substrings: (!parts.is_empty()).then(|| SubstringIndex::new(parts, Vec::new(), all)),
            errors: self.errors.map(|rules| lists.keep(rules)),
            all,
            lower: self.lower.map(|builder| builder.finish(lists)),
            ..DerivedIndex::default()
        };
        index.note(lists.is_dense());
        Box::new(index)
    }
}
