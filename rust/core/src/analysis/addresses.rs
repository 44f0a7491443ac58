//! Addresses with the parts that an assignment wants: one for each combination of the ranges of a policy and the classes
//! of addresses, so that parts that no address has together are proved to contradict each other.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::facets::{Kind as Parsed, address};
use crate::num::bigint::{BigInt, to_i64};
use crate::num::number::Number;

use super::compose::NORMAL;
use super::facet_leaf::{normal, type_of};
use super::model::{Assignment, Failed};
use super::shape::codes;
use super::slot::{Kind, Slot};
use super::space::Space;

/// Addresses that a witness prefers.
const USUAL: [&str; 9] = [
    "8.8.8.8",
    "10.0.0.1",
    "127.0.0.1",
    "169.254.0.1",
    "169.254.169.254",
    "2606:4700::1111",
    "fd00::1",
    "fe80::1",
    "::1",
];
/// The most texts for one assignment.
const MOST: usize = 8;

/// An address that stands for all with the same parts.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    ip: IpAddr,
    text: String,
    /// The cell of its number.
    cell: usize,
    /// True if it stands for itself: a clause compares the address with its text.
    constant: bool,
}

impl Sample {
    fn flag(&self, name: &str) -> Option<bool> {
        Some(match name {
            "is_private" => address::is_private(self.ip),
            "is_loopback" => address::is_loopback(self.ip),
            "is_link_local" => address::is_link_local(self.ip),
            "is_metadata" => address::is_metadata(self.ip),
            _ => return None,
        })
    }

    fn version(&self) -> Number {
        Number::Int(if self.ip.is_ipv4() { 4 } else { 6 })
    }

    /// Returns true if an assignment leaves its part, or that of an address with the same parts, to a slot.
    fn fits(&self, here: &Slot, assignment: &Assignment<'_>) -> bool {
        let name = here.place.keys.last().map_or("", |key| &**key);
        let numbers = || codes(here.number, here.numbers.cells.len(), assignment);
        match name {
            NORMAL => numbers().contains(&self.cell),
            "version" => {
                let cell = here.numbers.cell_of(&self.version());
                cell.is_some_and(|cell| numbers().contains(&cell))
            }
            "address" => codes(here.text, here.cells.len(), assignment)
                .into_iter()
                .any(|code| match here.text_at(code) {
                    Some(text) => self.constant && *text == self.text,
                    None => !self.constant,
                }),
            name => {
                let Some(flag) = self.flag(name) else {
                    return true;
                };
                let wanted = if flag { Kind::True } else { Kind::False };
                codes(here.kind, here.kinds.len(), assignment)
                    .into_iter()
                    .any(|code| here.kinds.get(code) == Some(&wanted))
            }
        }
    }
}

impl Space<'_> {
    /// Notes the addresses of each slot of one, once the cells of its numbers are known.
    pub(super) fn note_addresses(&mut self) {
        for (at, slot) in self.slots.iter().enumerate() {
            if type_of(&slot.place, self.root) == Parsed::Address {
                let number = self.places.get(&normal(&slot.place));
                let number = number.and_then(|number| self.slots.get(*number));
                let text = self.places.get(&slot.place.below(&["address".into()]));
                let text = text.and_then(|text| self.slots.get(*text));
                let texts = text.map_or(&[][..], |text| &text.texts);
                if let Some(number) = number {
                    self.addresses.insert(at, samples(number, texts));
                }
            }
        }
    }

    /// Fails if no address has the parts that an assignment wants.
    pub(super) fn check_address(
        &self,
        slot: usize,
        assignment: &Assignment<'_>,
    ) -> Result<(), Failed> {
        if !self.addresses.contains_key(&slot) || self.fitting(slot, assignment).next().is_some() {
            return Ok(());
        }
        let parts = self.children(slot).into_iter();
        let parts: Vec<&Slot> = parts.filter_map(|part| self.slots.get(part)).collect();
        let literals = assignment.of(|var| {
            let has = |part: &&Slot| {
                let bits = [part.kind, part.number, part.text];
                bits.iter().any(|bits| bits.has(var))
            };
            parts.iter().any(has)
        });
        Err(self.conflict(slot, assignment, literals))
    }

    /// Texts of addresses that may have the parts that an assignment wants.
    pub(super) fn address_texts(&self, slot: usize, assignment: &Assignment<'_>) -> Vec<String> {
        let fitting = self.fitting(slot, assignment).take(MOST);
        fitting.map(|sample| sample.text.clone()).collect()
    }

    fn fitting(&self, slot: usize, assignment: &Assignment<'_>) -> impl Iterator<Item = &Sample> {
        let parts: Vec<&Slot> = self
            .children(slot)
            .into_iter()
            .filter_map(|part| self.slots.get(part))
            .collect();
        let all = self.addresses.get(&slot).into_iter().flatten();
        all.filter(move |sample| parts.iter().all(|part| sample.fits(part, assignment)))
    }
}

/// An address of each cell and class, and the constants: both change at the first address of a range, or behind its last.
fn samples(numbers: &Slot, texts: &[String]) -> Vec<Sample> {
    let mut all: Vec<(IpAddr, bool)> = Vec::new();
    all.extend(
        USUAL
            .iter()
            .filter_map(|text| Some((text.parse().ok()?, false))),
    );
    let cuts = numbers.numbers.cuts().iter().filter_map(integer);
    let classes = address::classes().into_iter().flat_map(|(ip, prefix)| {
        let width = if ip.is_ipv4() { 32 } else { 128 };
        let first = number_of(ip);
        let next = &first + (BigInt::from(1) << (width - u32::from(prefix)));
        [first, next]
    });
    let starts = [BigInt::from(0), BigInt::from(1) << 64];
    for at in starts.into_iter().chain(cuts).chain(classes) {
        let after = &at + 1;
        all.extend(
            [after, at]
                .iter()
                .filter_map(address_of)
                .map(|ip| (ip, false)),
        );
    }
    let constants = texts.iter().filter_map(|text| text.parse().ok());
    all.extend(constants.map(|ip| (ip, true)));
    let mut known = BTreeSet::new();
    let mut made = Vec::new();
    for (ip, constant) in all {
        let number = number_of(ip);
        let number = to_i64(&number).map_or(Number::Big(number), Number::Int);
        let Some(cell) = numbers.numbers.cell_of(&number) else {
            continue;
        };
        let sample = Sample {
            ip,
            text: ip.to_string(),
            cell,
            constant,
        };
        let names = ["is_private", "is_loopback", "is_link_local", "is_metadata"];
        let flags = names.map(|name| sample.flag(name));
        let own = constant.then(|| sample.text.clone());
        if known.insert((cell, flags, ip.is_ipv4(), own)) {
            made.push(sample);
        }
    }
    made
}

/// The number of an address: those of IPv6 come after those of IPv4.
pub(super) fn number_of(ip: IpAddr) -> BigInt {
    match ip {
        IpAddr::V4(ip) => BigInt::from(ip.to_bits()),
        IpAddr::V6(ip) => BigInt::from(ip.to_bits()) + (BigInt::from(1) << 64),
    }
}

/// The address with a number, in its canonical form.
fn address_of(number: &BigInt) -> Option<IpAddr> {
    if let Ok(bits) = u32::try_from(number) {
        return Some(IpAddr::V4(bits.into()));
    }
    let bits = u128::try_from(number - (BigInt::from(1) << 64)).ok()?;
    let ip = IpAddr::V6(bits.into());
    // A mapped address is read as the IPv4 address.
    (ip.to_canonical() == ip).then_some(ip)
}

fn integer(number: &Number) -> Option<BigInt> {
    match number {
        Number::Int(value) => Some(BigInt::from(*value)),
        Number::Big(value) => Some(value.clone()),
        Number::Float(_) => None,
    }
}
