//! Checks of what a facet parses: its parts are slots of their own, as if any parts could stand together.
//!
//! So what cannot be true of the parts cannot be true of a text, and what can be is for the evaluator to confirm. Witnesses
//! come from the texts of [`super::pool`].

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::clause::operand::{Check, Operand};
use crate::clause::ops::OperandType;
use crate::facets::{Facet, Kind as Parsed, address, semver};
use crate::num::bigint::{BigInt, to_i64};
use crate::value::constant::Const;

use super::addresses::number_of;
use super::budget::{Reason, Stop};
use super::compose::NORMAL;
use super::connect::Connect;
use super::dd::{Dd, ERROR, FALSE, TRUE};
use super::leaf::Tested;
use super::slot::{Kind, Place, kinds};
use super::space::Space;
use super::text_leaf::Made;
use super::theory::TextTest;

/// The first character of the key of a parsed value.
pub(super) const PARSED: char = '\u{0}';

/// The key of what a facet parses.
fn key(facet: Facet) -> Box<str> {
    format!("{PARSED}{}", facet.name()).into()
}

/// Returns true for the place of a parsed value, which no mapping holds.
pub(super) fn is_parsed(place: &Place) -> bool {
    place.keys.last().is_some_and(|key| key.starts_with(PARSED))
}

/// Returns true for the place of a parsed value or of a part of one.
pub(super) fn is_derived(place: &Place) -> bool {
    place.keys.iter().any(|key| key.starts_with(PARSED))
}

/// The facet and the checks of a check by a facet.
pub(super) fn of_facet(check: &Check) -> Option<(Facet, &[Check])> {
    match (check.op.operand, &check.operand) {
        (OperandType::Facet(facet), Operand::Tests(checks)) => Some((facet, checks)),
        _ => None,
    }
}

/// The place of what a facet parses of the text at a place.
pub(super) fn parsed(place: &Place, facet: Facet) -> Place {
    place.below(&[key(facet)])
}

/// The place of the normal form of a path.
pub(super) fn normal(place: &Place) -> Place {
    place.below(&[NORMAL.into()])
}

/// The type of the value at a place; `root`: of an element.
pub(super) fn type_of(place: &Place, root: Parsed) -> Parsed {
    let marker = place.keys.iter().rposition(|key| key.starts_with(PARSED));
    let (base, rest) = match marker {
        Some(at) => {
            let name = place.keys.get(at).and_then(|key| key.strip_prefix(PARSED));
            let facet = name.and_then(Facet::from_name);
            (
                facet.map_or(Parsed::Plain, Facet::kind),
                place.keys.get(at + 1..).unwrap_or_default(),
            )
        }
        None if place.field.is_none() => (root, place.keys.as_slice()),
        None => return Parsed::Plain,
    };
    match rest {
        [only] if **only == *NORMAL => match base {
            Parsed::Address => Parsed::Number,
            _ => Parsed::Text,
        },
        rest => base.at(rest).unwrap_or(Parsed::Plain),
    }
}

/// The types of values at a place.
pub(super) fn kinds_of(place: &Place, root: Parsed) -> &'static [Kind] {
    use Kind::{Absent, Broken, False, List, Map, Null, Number, Text, True};
    let derived = is_derived(place) || (place.field.is_none() && root != Parsed::Element);
    if !derived {
        return kinds(place);
    }
    let name = place.keys.last().map_or("", |key| &**key);
    let is_root = place.keys.is_empty();
    let uncertain = !place.keys.is_empty() && !is_parsed(place) && {
        let owner = place.parent().unwrap_or_else(|| place.clone());
        matches!(type_of(&owner, root), Parsed::Command | Parsed::Statement)
    };
    match type_of(place, root) {
        Parsed::Url
        | Parsed::Address
        | Parsed::Network
        | Parsed::Path
        | Parsed::Email
        | Parsed::Version
        | Parsed::Statement => &[Map, Broken],
        Parsed::Command => &[Map],
        Parsed::Script => &[List, Broken],
        Parsed::Texts if is_parsed(place) || uncertain => &[List, Broken],
        Parsed::Texts => &[List],
        Parsed::Document if is_parsed(place) || is_root => {
            &[Map, Text, Number, True, False, Null, List, Broken]
        }
        Parsed::Document => &[Absent, Text, Number, True, False, Null, List, Map, Broken],
        Parsed::Text if uncertain && name == "first" => &[Text, Absent, Broken],
        Parsed::Text if uncertain && matches!(name, "program" | "name") => &[Text],
        Parsed::Text if uncertain => &[Text, Broken],
        Parsed::Text if name == "userinfo" => &[Absent, Text],
        Parsed::Text => &[Text],
        Parsed::Host => &[Text, Absent],
        Parsed::Number if name == "port" => &[Number, Absent],
        Parsed::Number => &[Number],
        Parsed::Bool => &[False, True],
        Parsed::Plain | Parsed::Element => kinds(place),
    }
}

impl<'a> Space<'a> {
    /// The result of a check by a facet, of texts that are not constants.
    pub(super) fn of_parsed(
        &mut self,
        slot: usize,
        tested: Tested<'a, '_>,
        (facet, checks): (Facet, &[Check]),
    ) -> Result<Dd, Stop> {
        let Some(place) = self.slots.get(slot).map(|slot| parsed(&slot.place, facet)) else {
            return Ok(FALSE);
        };
        let Some(&child) = self.places.get(&place) else {
            return Err(Stop::Internal(format!("no slot of {}", place.text())));
        };
        let mut result = TRUE;
        for (at, check) in checks.iter().enumerate() {
            let one = match self.direct(child, &place, check, tested)? {
                Some(one) => one,
                None => {
                    let kind = type_of(&place, self.root);
                    let Some(test) = tested.program.prepare_check(check, kind) else {
                        return self.uncertain_facet(tested, &place);
                    };
                    let name = [tested.name, b"/", at.to_string().as_bytes()].concat();
                    let inner = Tested {
                        check,
                        test: &test,
                        name: &name,
                        program: tested.program,
                    };
                    self.here(child, inner, super::dd::ABSENT)?
                }
            };
            result = self.dd.connect(Connect::All, result, one)?;
        }
        Ok(result)
    }

    /// The result of a check of a whole parsed value that has parts; `None`: it is a check of a part, or of a list.
    fn direct(
        &mut self,
        child: usize,
        place: &Place,
        check: &Check,
        tested: Tested<'a, '_>,
    ) -> Result<Option<Dd>, Stop> {
        if matches!(check.operand, Operand::Part(..)) {
            return Ok(None);
        }
        if let Some(checks) = converted(type_of(place, self.root), check)
            && let Some(&slot) = self.places.get(&normal(place))
        {
            let mut any = FALSE;
            for check in &checks {
                let kind = self.type_at(slot);
                let Some(test) = tested.program.prepare_check(check, kind) else {
                    return Ok(Some(self.uncertain_facet(tested, place)?));
                };
                let name = format!("{} {check:?}", place.text());
                let inner = Tested {
                    check,
                    test: &test,
                    name: name.as_bytes(),
                    program: tested.program,
                };
                let one = self.here(slot, inner, super::dd::ABSENT)?;
                any = self.dd.connect(Connect::Any, any, one)?;
            }
            let found = self.by_kind(child, |kind| match kind {
                Kind::Broken => ERROR,
                _ => any,
            })?;
            return Ok(Some(found));
        }
        let own = match (type_of(place, self.root), check.op.name) {
            (Parsed::Path, "within") => {
                let Some(&text) = self.places.get(&normal(place)) else {
                    return Ok(Some(self.uncertain_facet(tested, place)?));
                };
                self.in_directories(text, check)?
            }
            (
                Parsed::Url
                | Parsed::Address
                | Parsed::Network
                | Parsed::Path
                | Parsed::Email
                | Parsed::Version
                | Parsed::Statement,
                _,
            ) => {
                let name = format!("{} {check:?}", place.text());
                let reason = facet_reason(place);
                self.unknown((name.as_bytes(), 0), &reason, &[FALSE, TRUE, ERROR])?
            }
            _ => return Ok(None),
        };
        let found = self.by_kind(child, |kind| match kind {
            Kind::Broken => ERROR,
            _ => own,
        })?;
        Ok(Some(found))
    }

    /// `within` of the normal form of a path.
    fn in_directories(&mut self, text: usize, check: &Check) -> Result<Dd, Stop> {
        let absolute = TextTest::StartsWith(vec!["/".to_owned()]);
        let absolute = self.plain_atom(text, absolute)?;
        let [mut of_absolute, mut of_relative] = [FALSE, FALSE];
        for root in texts(check.operand.constant()) {
            let own = match root
                .strip_prefix("./")
                .unwrap_or(&root)
                .trim_end_matches('/')
            {
                "" | "." => TRUE,
                root => {
                    let same = TextTest::OneOf(BTreeSet::from([root.to_owned()]));
                    let below = TextTest::StartsWith(vec![format!("{root}/")]);
                    self.plain_atom(text, TextTest::Any(vec![same, below]))?
                }
            };
            let (here, there) = match root.starts_with('/') {
                true => (&mut of_absolute, &mut of_relative),
                false => (&mut of_relative, &mut of_absolute),
            };
            *here = self.dd.connect(Connect::Any, *here, own)?;
            *there = self.dd.connect(Connect::Any, *there, ERROR)?;
        }
        self.dd
            .choose(absolute, [of_absolute, of_relative, of_relative])
    }

    fn plain_atom(&mut self, slot: usize, test: TextTest) -> Result<Dd, Stop> {
        let var = self.text_atom(slot, test)?;
        self.dd.node(var, FALSE, TRUE)
    }

    /// `within` of the name of a host.
    pub(super) fn in_domains(
        &mut self,
        slot: usize,
        check: &Check,
        made: &Made,
    ) -> Result<Dd, Stop> {
        let domains = texts(check.operand.constant());
        let below = domains.iter().map(|domain| format!(".{domain}"));
        let test = TextTest::Any(vec![
            TextTest::EndsWith(below.collect()),
            TextTest::OneOf(domains.into_iter().collect()),
        ]);
        self.atom_of(slot, test, made)
    }

    pub(super) fn uncertain_facet(
        &mut self,
        tested: Tested<'a, '_>,
        place: &Place,
    ) -> Result<Dd, Stop> {
        let results = [FALSE, TRUE, ERROR, super::dd::ABSENT];
        self.unknown((tested.name, 4), &facet_reason(place), &results)
    }
}

/// Checks of the normal form of a parsed value of which one is enough: the key of a version, by which versions are
/// compared, or the number of an address. `None`: there are no such checks.
pub(super) fn converted(kind: Parsed, check: &Check) -> Option<Vec<Check>> {
    let Operand::Const(operand) = &check.operand else {
        return None;
    };
    match (kind, check.op.name) {
        (Parsed::Version, _) => Some(vec![Check {
            operand: Operand::Const(version_keys(operand)?),
            ..check.clone()
        }]),
        (Parsed::Address, "within") => {
            let op = crate::clause::ops::Operator::from_name("between")?;
            let ranges = texts(Some(operand));
            let between = ranges.iter().map(|range| {
                let (address, prefix) = address::parse_range(range)?;
                Some(Check {
                    op,
                    operand: Operand::Const(Const::List(bounds(address, prefix))),
                    dialect: None,
                })
            });
            between.collect()
        }
        _ => None,
    }
}

fn version_keys(operand: &Const) -> Option<Const> {
    Some(match operand {
        Const::Str(text) => Const::Str(semver::parse(text).ok()?.key.to_string().into()),
        Const::List(items) => Const::List(items.iter().map(version_keys).collect::<Option<_>>()?),
        _ => return None,
    })
}

/// The first and the last number of a range of addresses: those of IPv6 come after those of IPv4.
fn bounds(address: IpAddr, prefix: u8) -> Vec<Const> {
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let size = BigInt::from(1) << (bits - u32::from(prefix).min(bits));
    let first = number_of(address);
    let last = &first + size - 1;
    [first, last]
        .into_iter()
        .map(|number| match to_i64(&number) {
            Some(small) => Const::Int(small),
            None => Const::BigInt(number),
        })
        .collect()
}

/// The reason for which parts may not stand together.
pub(super) fn facet_reason(place: &Place) -> Reason {
    let marker = place.keys.iter().position(|key| key.starts_with(PARSED));
    let (own, facet) = match marker {
        Some(at) => {
            let keys = place.keys.get(..at).unwrap_or_default().to_vec();
            let own = Place {
                field: place.field,
                keys,
            };
            let name = place.keys.get(at).and_then(|key| key.strip_prefix(PARSED));
            (own.text(), name.unwrap_or_default().to_owned())
        }
        None => (place.text(), "text".to_owned()),
    };
    Reason {
        path: Some(own),
        ..Reason::new(
            "facet",
            format!("no {facet} with the parts was found, and none is excluded"),
        )
    }
}

/// The texts of an operand.
fn texts(operand: Option<&Const>) -> Vec<String> {
    match operand {
        Some(Const::Str(text)) => vec![text.to_string()],
        Some(Const::List(items)) => items.iter().flat_map(|item| texts(Some(item))).collect(),
        _ => Vec::new(),
    }
}
