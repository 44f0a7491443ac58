//! Parts of texts: the usual form of each, the texts that it can have at all, and what it must be beside another part.

use crate::facets::Kind as Parsed;
use crate::facets::shell::Effects;
use crate::facets::{address, host};

use super::budget::Stop;
use super::dd::Literal;
use super::facet_leaf::type_of;
use super::line::as_i64;
use super::model::{Assignment, Failed};
use super::sample;
use super::slot::{Bits, Kind, Place};
use super::space::{Atom, Space};
use super::theory::{Solved, TextTest};

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

/// What a part is that another part of the same value decides.
enum Decided {
    Text(String),
    Flag(bool),
    /// A list of one text.
    Only(String),
}

/// The parts that another part of the same value decides.
fn decided(owner: Parsed, name: &str, text: &str) -> Vec<(&'static str, Decided)> {
    let last = text.rsplit('/').next().unwrap_or(text);
    match (owner, name) {
        (Parsed::Command, "program") => vec![("name", Decided::Text(last.to_owned()))],
        (Parsed::Command, "effect") => vec![("effects", Decided::Only(text.to_owned()))],
        (Parsed::Statement, "kind") => vec![("kinds", Decided::Only(text.to_owned()))],
        (Parsed::Path, "name") => {
            let suffix = match text.rfind('.') {
                Some(at) if at > 0 => text.get(at..).unwrap_or_default(),
                _ => "",
            };
            vec![("suffix", Decided::Text(suffix.to_owned()))]
        }
        (Parsed::Url, "host") => {
            let ip = text.parse().ok();
            let is_private = match ip {
                Some(ip) => address::is_private(ip),
                None => host::is_private(text),
            };
            vec![
                ("is_ip", Decided::Flag(ip.is_some())),
                ("is_private", Decided::Flag(is_private)),
            ]
        }
        (Parsed::Address, "address") => match text.parse() {
            Ok(ip) => vec![
                ("is_private", Decided::Flag(address::is_private(ip))),
                ("is_loopback", Decided::Flag(address::is_loopback(ip))),
                ("is_link_local", Decided::Flag(address::is_link_local(ip))),
                ("is_metadata", Decided::Flag(address::is_metadata(ip))),
            ],
            Err(_) => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// What the text of a part must pass beside a flag of the same value; true: and it must be there.
fn implied(owner: Parsed, name: &str, flag: bool) -> Option<(&'static str, TextTest, bool)> {
    let not = |test| TextTest::Not(Box::new(test));
    let ip = || {
        TextTest::Any(vec![
            TextTest::Matches {
                pattern: "^[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+$".to_owned(),
            },
            TextTest::Matches {
                pattern: "^[0-9a-f:.]*:[0-9a-f:.]*$".to_owned(),
            },
        ])
    };
    let local = || {
        let below = host::PRIVATE.iter().map(|name| format!(".{name}"));
        let names = host::PRIVATE.iter().map(|name| (*name).to_owned());
        TextTest::Any(vec![
            not(TextTest::Contains(vec![".".to_owned()])),
            TextTest::EndsWith(below.collect()),
            TextTest::OneOf(names.collect()),
        ])
    };
    match (owner, name, flag) {
        (Parsed::Url, "is_ip", true) => Some(("host", ip(), true)),
        (Parsed::Url, "is_ip", false) => Some(("host", not(ip()), false)),
        (Parsed::Url, "is_private", true) => {
            Some(("host", TextTest::Any(vec![ip(), local()]), false))
        }
        (Parsed::Url, "is_private", false) => {
            Some(("host", TextTest::Any(vec![ip(), not(local())]), true))
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
        let children = self.children(slot);
        for &from in &children {
            let Some(here) = self.slots.get(from) else {
                continue;
            };
            let name = here.place.keys.last().map_or("", |key| &**key).to_owned();
            let kinds = codes(here.kind, here.kinds.len(), assignment);
            let of = |code: &usize| here.kinds.get(*code).copied();
            if let [code] = kinds.as_slice()
                && let Some(flag @ (Kind::True | Kind::False)) = of(code)
                && let Some(needed) = implied(kind, &name, flag == Kind::True)
                && let Some(literals) = self.must_pass(&children, needed, assignment)?
            {
                return Err(self.conflict(from, assignment, literals));
            }
            if !kinds.iter().all(|code| of(code) == Some(Kind::Text)) {
                continue;
            }
            let mut literals: Vec<Literal> = Vec::new();
            let mut refuted = true;
            for code in codes(here.text, here.cells.len(), assignment) {
                let others = here.text_at(code).map(|text| decided(kind, &name, text));
                let mut found = None;
                for (to, other) in others.into_iter().flatten() {
                    if let Some(to) = self.named(&children, to)
                        && found.is_none()
                    {
                        found = self.against(to, &other, assignment)?;
                    }
                }
                match found {
                    Some(found) => literals.extend(found),
                    None => {
                        refuted = false;
                        break;
                    }
                }
            }
            if refuted && !literals.is_empty() {
                literals.extend(assignment.of(|var| here.kind.has(var)));
                return Err(self.conflict(from, assignment, literals));
            }
        }
        Ok(())
    }

    /// The child with a name.
    fn named(&self, children: &[usize], name: &str) -> Option<usize> {
        let is_named = |at: &usize| {
            let slot = self.slots.get(*at);
            slot.is_some_and(|slot| slot.place.keys.last().is_some_and(|key| **key == *name))
        };
        children.iter().copied().find(is_named)
    }

    /// Literals of a text that contradict a test which it must pass.
    fn must_pass(
        &self,
        children: &[usize],
        (name, test, without): (&str, TextTest, bool),
        assignment: &Assignment<'_>,
    ) -> Result<Option<Vec<Literal>>, Stop> {
        let Some((slot, here)) = self
            .named(children, name)
            .and_then(|at| Some((at, self.slots.get(at)?)))
        else {
            return Ok(None);
        };
        let kinds = codes(here.kind, here.kinds.len(), assignment);
        let is = |kind: Kind| {
            kinds
                .iter()
                .all(|code| here.kinds.get(*code) == Some(&kind))
        };
        if without && is(Kind::Absent) {
            return Ok(Some(assignment.of(|var| here.kind.has(var)).collect()));
        }
        if !is(Kind::Text) {
            return Ok(None);
        }
        let id = self.theory.add(test)?;
        let mut literals: Vec<Literal> = assignment
            .of(|var| here.kind.has(var) || here.text.has(var))
            .collect();
        for code in codes(here.text, here.cells.len(), assignment) {
            match here.text_at(code) {
                Some(text) if !self.theory.accepts(id, text)? => {}
                Some(_) => return Ok(None),
                None => {
                    let mut wanted = vec![(id, true)];
                    for &(var, value) in assignment.literals {
                        if let Some(Atom::Text(of, id)) = self.meaning(var)
                            && *of == slot
                        {
                            wanted.push((*id, value));
                            literals.push((var, value));
                        }
                    }
                    if !matches!(self.theory.solve(&wanted, &[])?, Solved::Conflict(_)) {
                        return Ok(None);
                    }
                }
            }
        }
        Ok(Some(literals))
    }

    /// Literals of a slot that a decided part contradicts.
    fn against(
        &self,
        slot: usize,
        other: &Decided,
        assignment: &Assignment<'_>,
    ) -> Result<Option<Vec<Literal>>, Stop> {
        match other {
            Decided::Text(text) => self.against_text(slot, text, assignment),
            Decided::Flag(flag) => {
                let Some(here) = self.slots.get(slot) else {
                    return Ok(None);
                };
                let wanted = if *flag { Kind::True } else { Kind::False };
                let kinds = codes(here.kind, here.kinds.len(), assignment);
                let fits = kinds
                    .iter()
                    .any(|code| here.kinds.get(*code) == Some(&wanted));
                let own = || assignment.of(|var| here.kind.has(var)).collect();
                Ok((!fits).then(own))
            }
            Decided::Only(text) => self.against_only(slot, text, assignment),
        }
    }

    /// Literals of a list that a list of this one text contradicts.
    fn against_only(
        &self,
        slot: usize,
        text: &str,
        assignment: &Assignment<'_>,
    ) -> Result<Option<Vec<Literal>>, Stop> {
        let Some(here) = self.slots.get(slot) else {
            return Ok(None);
        };
        let kinds = codes(here.kind, here.kinds.len(), assignment);
        let lists = codes(here.list, here.lists.len() + 1, assignment);
        let is_list = |code: &usize| here.kinds.get(*code) == Some(&Kind::List);
        if !kinds.iter().all(is_list) || !lists.iter().all(|code| *code == 0) {
            return Ok(None);
        }
        let own = || assignment.of(|var| here.kind.has(var) || here.list.has(var));
        let counts = codes(here.count, here.counts.cells.len(), assignment);
        let one = here
            .counts
            .cells
            .iter()
            .rposition(|cell| as_i64(cell).is_some_and(|least| least <= 1));
        if let Some(one) = one
            && !counts.contains(&one)
        {
            let counts = assignment.of(|var| here.count.has(var));
            return Ok(Some(own().chain(counts).collect()));
        }
        let Some(elements) = self.elements.get(&here.place) else {
            return Ok(None);
        };
        for &(var, value) in assignment.literals {
            if let Some(Atom::Element {
                slot: of,
                number,
                outcome,
                ..
            }) = self.meaning(var)
                && *of == slot
                && let Some(found) = elements.result(*number, &sample::text(text))
                && (found == *outcome) != value
            {
                return Ok(Some(own().chain([(var, value)]).collect()));
            }
        }
        Ok(None)
    }

    /// Literals that a text of a slot contradicts.
    fn against_text(
        &self,
        slot: usize,
        text: &str,
        assignment: &Assignment<'_>,
    ) -> Result<Option<Vec<Literal>>, Stop> {
        let Some(here) = self.slots.get(slot) else {
            return Ok(None);
        };
        let bits: Vec<Literal> = assignment.of(|var| here.text.has(var)).collect();
        let code = here.cells.code_of(text);
        if !codes(here.text, here.cells.len(), assignment).contains(&code) {
            return Ok(Some(bits));
        }
        let known = here.text_at(code);
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
