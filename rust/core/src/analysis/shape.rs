//! Parts of texts: the usual form of each, the texts that it can have at all, and what it must be beside another part.

use crate::facets::Kind as Parsed;
use crate::facets::shell::Effects;

use super::budget::Stop;
use super::dd::Literal;
use super::facet_leaf::type_of;
use super::model::{Assignment, Failed};
use super::slot::{Bits, Kind, Place};
use super::space::{Atom, Space};
use super::theory::TextTest;

/// A name in a path.
const NAME: &str = "^[A-Za-z0-9._-]*[A-Za-z0-9_-]$";

/// The form that a witness prefers for a part: of `owner`, or of a list there.
pub(super) fn usual(owner: Parsed, name: &str) -> Option<TextTest> {
    let pattern = match (owner, name) {
        (Parsed::Url, "path") => "^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/?$",
        (Parsed::Url, "host") | (Parsed::Email, "domain") => {
            "^([a-z0-9]([a-z0-9-]*[a-z0-9])?[.])+[a-z]{2,}$"
        }
        (Parsed::Url, "scheme") => "^[a-z][a-z0-9]*$",
        (Parsed::Url, "userinfo" | "query_keys") | (Parsed::Email, "local") => "^[A-Za-z0-9_]+$",
        (Parsed::Path, "name" | "components") => NAME,
        (Parsed::Path, "suffix") => "^([.][A-Za-z0-9_-]+)?$",
        (Parsed::Path, super::compose::NORMAL) => {
            "^/?[A-Za-z0-9._-]*[A-Za-z0-9_-](/[A-Za-z0-9._-]*[A-Za-z0-9_-])*$"
        }
        (Parsed::Command, "program" | "name" | "via") => NAME,
        (Parsed::Command, "first" | "argv") => "^[A-Za-z0-9_./:@%+,-]+$",
        (Parsed::Command, "assigns") => "^[A-Za-z_][A-Za-z0-9_]*$",
        (Parsed::Statement, _) => "^[a-z_][a-z0-9_]*([.][a-z_][a-z0-9_]*)?$",
        _ => return None,
    };
    Some(TextTest::Matches {
        pattern: pattern.to_owned(),
    })
}

/// The texts that a part can have at all, if they are few.
pub(super) fn only(owner: Parsed, name: &str) -> Option<TextTest> {
    match (owner, name) {
        (Parsed::Command, "effect" | "effects") => Some(TextTest::OneOf(
            Effects::every_name().map(str::to_owned).collect(),
        )),
        _ => None,
    }
}

/// The part that another part of the same value decides, and its text.
fn decided(owner: Parsed, name: &str, text: &str) -> Option<(&'static str, String)> {
    let last = text.rsplit('/').next().unwrap_or(text);
    match (owner, name) {
        (Parsed::Command, "program") => Some(("name", last.to_owned())),
        (Parsed::Path, "name") => {
            let suffix = match text.rfind('.') {
                Some(at) if at > 0 => text.get(at..).unwrap_or_default(),
                _ => "",
            };
            Some(("suffix", suffix.to_owned()))
        }
        _ => None,
    }
}

impl Space<'_> {
    /// The owner of a part, and its name.
    pub(super) fn owner(&self, place: &Place) -> Option<(Parsed, String)> {
        let name = place.keys.last()?.to_string();
        Some((type_of(&place.parent()?, self.root), name))
    }

    /// Fails if a part has a constant text that decides another part, which is wanted otherwise.
    pub(super) fn check_decided(
        &self,
        slot: usize,
        assignment: &Assignment<'_>,
    ) -> Result<(), Failed> {
        let Some(owner) = self.slots.get(slot) else {
            return Ok(());
        };
        let kind = type_of(&owner.place, self.root);
        if !matches!(kind, Parsed::Command | Parsed::Path) {
            return Ok(());
        }
        let children = self.children(slot);
        for &from in &children {
            let Some(here) = self.slots.get(from) else {
                continue;
            };
            let name = here.place.keys.last().map_or("", |key| &**key);
            let mut literals: Vec<Literal> = Vec::new();
            let mut refuted = true;
            for code in codes(here.text, here.texts.len() + 1, assignment) {
                let other = here
                    .text_at(code)
                    .and_then(|text| decided(kind, name, text));
                let to = other.as_ref().and_then(|(to, _)| {
                    children.iter().copied().find(|at| {
                        let slot = self.slots.get(*at);
                        slot.is_some_and(|slot| {
                            slot.place.keys.last().is_some_and(|key| **key == **to)
                        })
                    })
                });
                let found = match (to, &other) {
                    (Some(to), Some((_, text))) => self.against(to, text, assignment)?,
                    _ => None,
                };
                match found {
                    Some(found) => literals.extend(found),
                    None => {
                        refuted = false;
                        break;
                    }
                }
            }
            if refuted && !literals.is_empty() {
                return Err(self.conflict(from, assignment, literals));
            }
        }
        Ok(())
    }

    /// Literals that a text of a slot contradicts.
    fn against(
        &self,
        slot: usize,
        text: &str,
        assignment: &Assignment<'_>,
    ) -> Result<Option<Vec<Literal>>, Stop> {
        let Some(here) = self.slots.get(slot) else {
            return Ok(None);
        };
        let bits: Vec<Literal> = assignment.of(|var| here.text.has(var)).collect();
        let known = here.texts.iter().position(|known| known == text);
        let code = match known {
            Some(at) => (0..=here.texts.len())
                .find(|code| here.text_at(*code) == here.texts.get(at))
                .unwrap_or(0),
            None => here.other_text(),
        };
        if !codes(here.text, here.texts.len() + 1, assignment).contains(&code) {
            return Ok(Some(bits));
        }
        if here.kinds != [Kind::Text] || known.is_some() {
            return Ok(None);
        }
        for &(var, value) in assignment.literals {
            if let Some(Atom::Text(of, id)) = self.meaning(var)
                && *of == slot
                && self.theory.accepts(*id, text)? != value
            {
                return Ok(Some(bits.into_iter().chain([(var, value)]).collect()));
            }
        }
        Ok(None)
    }
}

/// The codes that an assignment leaves to a number.
pub(super) fn codes(bits: Bits, codes: usize, assignment: &Assignment<'_>) -> Vec<usize> {
    let mut left = vec![0_usize];
    for var in bits.var..bits.var + bits.count {
        let value = assignment.value(var);
        left = left
            .into_iter()
            .flat_map(|code| {
                let zero = (value != Some(true)).then_some(code * 2);
                let one = (value != Some(false)).then_some(code * 2 + 1);
                [zero, one].into_iter().flatten()
            })
            .collect();
    }
    for code in &mut left {
        *code = (*code).min(codes.saturating_sub(1));
    }
    left.dedup();
    left
}
