//! Checks of texts: known for the constants of a slot, atoms for any other text.

use std::collections::{BTreeMap, BTreeSet};

use crate::clause::operand::{Check, Operand};
use crate::clause::ops::OperandType;
use crate::facets::Kind as Parsed;
use crate::num::number::Number;
use crate::value::constant::Const;

use super::budget::{Reason, Stop};
use super::cells::{self, Among, Cell};
use super::connect::Connect;
use super::dd::{Dd, ERROR, FALSE, TRUE};
use super::elements::ELEMENT;
use super::facet_leaf::of_facet;
use super::leaf::{Tested, count_passes, numbers};
use super::line::{COUNTS, Line, as_i64};
use super::sample;
use super::space::Space;
use super::theory::TextTest;

/// A text that no policy compares with: equality and membership have one result for all such texts.
pub(super) const OTHER: &str = "\u{10fffd}\u{10fffc}\u{10fffd}";

/// A text made from the value.
#[derive(Clone, Debug, Default)]
pub(super) struct Made {
    /// Its lower case.
    pub(super) lower: bool,
    /// The value with this behind it.
    pub(super) suffix: String,
}

impl Made {
    fn is_made(&self) -> bool {
        self.lower || !self.suffix.is_empty()
    }

    /// The test of the value for a test of the text.
    fn test(&self, test: TextTest) -> TextTest {
        let test = match self.lower {
            true => TextTest::Lower(Box::new(test)),
            false => test,
        };
        match self.suffix.is_empty() {
            true => test,
            false => TextTest::Appended {
                suffix: self.suffix.clone(),
                test: Box::new(test),
            },
        }
    }
}

impl<'a> Space<'a> {
    /// The result of a check of a text.
    pub(super) fn of_text(&mut self, slot: usize, tested: Tested<'a, '_>) -> Result<Dd, Stop> {
        let prefixes = cells::prefixes(tested.check);
        let other = match prefixes {
            // Made where some cell needs it.
            Some(_) => FALSE,
            None => self.other_text(slot, tested, &Made::default())?,
        };
        let Some(here) = self.slots.get(slot) else {
            return Ok(FALSE);
        };
        let bits = here.text;
        let free = matches!(tested.check.op.operand, OperandType::Places)
            && sample::reads_beside(tested.check).is_some();
        if let Some(prefixes) = prefixes {
            return self.of_prefixes(slot, tested, &prefixes);
        }
        if bits.count == 0 {
            return Ok(other);
        }
        let own = match tested.check.op.name {
            "eq" | "in" | "not_in" => Some(own_texts(tested.check)),
            _ => None,
        };
        // PERF: of equality and membership all texts but its own have one result.
        let rest = sample::result_of(tested.test, &sample::text(OTHER));
        if let Some(own) = own.filter(|_| other == rest && !free) {
            let codes: BTreeSet<usize> = own.iter().map(|text| here.cells.code_of(text)).collect();
            let mut results = BTreeMap::new();
            for code in codes {
                if let Some(text) = here.text_at(code) {
                    results.insert(code, sample::result_of(tested.test, &sample::text(text)));
                }
            }
            let runs = spots(&results, (rest, here.cells.len()));
            return self.dd.switch(bits.var, bits.count, &runs);
        }
        let results: Vec<Dd> = here
            .texts
            .iter()
            .map(|text| match free {
                true => other,
                false => sample::result_of(tested.test, &sample::text(text)),
            })
            .collect();
        let runs = here.text_runs(other, &results);
        self.dd.switch(bits.var, bits.count, &runs)
    }

    /// The result of a check that wants one of some prefixes: false for all texts without one.
    fn of_prefixes(
        &mut self,
        slot: usize,
        tested: Tested<'a, '_>,
        prefixes: &[String],
    ) -> Result<Dd, Stop> {
        let Some((cells, bits)) = self
            .slots
            .get(slot)
            .map(|slot| (slot.cells.clone(), slot.text))
        else {
            return Ok(FALSE);
        };
        let whole = tested.check.op.name == "starts_with";
        let mut results = BTreeMap::new();
        for code in cells.codes_of(prefixes) {
            let constant = cells.get(code).and_then(Cell::constant);
            let result = match (constant, cells.place(code, prefixes)) {
                (Some(text), _) => sample::result_of(tested.test, &sample::text(text)),
                (None, Among::None) => FALSE,
                (None, Among::All) if whole => TRUE,
                (None, Among::All | Among::Some) => {
                    self.other_text(slot, tested, &Made::default())?
                }
            };
            results.insert(code, result);
        }
        if bits.count == 0 {
            return Ok(results.get(&0).copied().unwrap_or(FALSE));
        }
        self.dd
            .switch(bits.var, bits.count, &spots(&results, (FALSE, cells.len())))
    }

    /// The result for texts other than the constants. `made`: of a text made from them.
    pub(super) fn other_text(
        &mut self,
        slot: usize,
        tested: Tested<'a, '_>,
        made: &Made,
    ) -> Result<Dd, Stop> {
        let check = tested.check;
        let constant = check.operand.constant();
        match (check.op.name, &check.operand) {
            ("matches", Operand::Const(Const::Str(pattern))) => {
                let pattern = pattern.to_string();
                self.atom_of(slot, TextTest::Matches { pattern }, made)
            }
            ("starts_with", _) => match texts(constant) {
                Some(texts) => self.atom_of(slot, TextTest::StartsWith(texts), made),
                None => Ok(ERROR),
            },
            ("ends_with", _) => match texts(constant) {
                Some(texts) => self.atom_of(slot, TextTest::EndsWith(texts), made),
                None => Ok(ERROR),
            },
            ("contains" | "contains_any" | "contains_all", Operand::Const(operand)) => {
                self.contained(slot, (check.op.name, operand), made)
            }
            ("gt" | "ge" | "lt" | "le" | "between" | "not_between", Operand::Const(operand)) => {
                match ordered(check.op.name, operand) {
                    Some((test, negated)) => {
                        let found = self.atom_of(slot, test, made)?;
                        if negated {
                            self.dd.not(found)
                        } else {
                            Ok(found)
                        }
                    }
                    None => Ok(ERROR),
                }
            }
            ("eq" | "in" | "not_in", Operand::Const(_)) => {
                let rest = sample::result_of(tested.test, &sample::text(OTHER));
                let own = own_texts(check);
                match own.first() {
                    Some(one) if made.is_made() => {
                        let hit = sample::result_of(tested.test, &sample::text(one));
                        let found = self.atom_of(slot, TextTest::OneOf(own), made)?;
                        self.dd.choose(found, [hit, rest, rest])
                    }
                    _ => Ok(rest),
                }
            }
            ("length" | "byte_length", Operand::Tests(_)) => self.lengths(slot, tested, made),
            ("lower", Operand::Tests(checks)) => {
                let lower = Made {
                    lower: true,
                    ..made.clone()
                };
                self.group(slot, (Connect::All, checks), tested, &lower)
            }
            ("all_of", Operand::Tests(checks)) => {
                self.group(slot, (Connect::All, checks), tested, made)
            }
            ("not", Operand::Tests(checks)) => {
                let all = self.group(slot, (Connect::All, checks), tested, made)?;
                self.dd.not(all)
            }
            ("any_of", Operand::Tests(checks)) => {
                self.group(slot, (Connect::Any, checks), tested, made)
            }
            ("occurs_in", _) => {
                let reason = Reason::new("occurs_in", "a clause searches for the value in a text");
                self.unknown((tested.name, 3), &reason, &[FALSE, TRUE, ERROR])
            }
            ("within", Operand::Const(_)) => self.in_domains(slot, check, made),
            _ if of_facet(check).is_some() => match made.is_made() {
                true => {
                    let place = self.slots.get(slot).map(|slot| slot.place.clone());
                    self.uncertain_facet(tested, &place.unwrap_or(ELEMENT))
                }
                false => match of_facet(check) {
                    Some(found) => self.of_parsed(slot, tested, found),
                    None => Ok(ERROR),
                },
            },
            _ => Ok(sample::result_of(tested.test, &sample::text(OTHER))),
        }
    }

    fn group(
        &mut self,
        slot: usize,
        (by, checks): (Connect, &[Check]),
        tested: Tested<'a, '_>,
        made: &Made,
    ) -> Result<Dd, Stop> {
        let mut result = match by {
            Connect::All => TRUE,
            Connect::Any => FALSE,
        };
        for (at, check) in checks.iter().enumerate() {
            let Some(test) = tested.program.prepare_check(check, self.type_at(slot)) else {
                return Err(Stop::Internal("a test cannot be prepared".to_owned()));
            };
            // Free variables of a nested test have a name of their own.
            let name = [tested.name, b"/", at.to_string().as_bytes()].concat();
            let inner = Tested {
                check,
                test: &test,
                name: &name,
                ..tested
            };
            let found = self.other_text(slot, inner, made)?;
            result = self.dd.connect(by, result, found)?;
        }
        Ok(result)
    }

    /// The atom of a test.
    pub(super) fn atom_of(&mut self, slot: usize, test: TextTest, made: &Made) -> Result<Dd, Stop> {
        let test = made.test(test);
        let var = self.text_atom(slot, test)?;
        self.dd.node(var, FALSE, TRUE)
    }

    fn contained(
        &mut self,
        slot: usize,
        (name, operand): (&str, &Const),
        made: &Made,
    ) -> Result<Dd, Stop> {
        let items = match operand {
            Const::List(items) => items.as_slice(),
            single => std::slice::from_ref(single),
        };
        if name == "contains_all" {
            let mut all = TRUE;
            for item in items {
                let found = match item {
                    Const::Str(text) => {
                        self.atom_of(slot, TextTest::Contains(vec![text.to_string()]), made)?
                    }
                    _ => ERROR,
                };
                all = self.dd.connect(Connect::All, all, found)?;
            }
            return Ok(all);
        }
        let texts: Vec<String> = items.iter().filter_map(text_of).collect();
        let rest = if texts.len() < items.len() {
            ERROR
        } else {
            FALSE
        };
        if texts.is_empty() {
            return Ok(rest);
        }
        let found = self.atom_of(slot, TextTest::Contains(texts), made)?;
        self.dd.connect(Connect::Any, found, rest)
    }

    /// `length` and `byte_length`: the lengths with each result as bounds.
    fn lengths(&mut self, slot: usize, tested: Tested<'a, '_>, made: &Made) -> Result<Dd, Stop> {
        let Operand::Tests(checks) = &tested.check.operand else {
            return Ok(ERROR);
        };
        let tests: Vec<_> = checks
            .iter()
            .filter_map(|check| tested.program.prepare_check(check, Parsed::Number))
            .collect();
        let mut line = Line::new(COUNTS);
        numbers(tested.check)
            .iter()
            .for_each(|number| line.cut(number));
        line.cut(&Number::Int(0));
        line.finish();
        let cells: Vec<(i64, Dd)> = line
            .cells
            .iter()
            .filter_map(as_i64)
            .map(|count| (count, count_passes(&tests, count)))
            .collect();
        let first = cells.first().map_or(FALSE, |(_, result)| *result);
        if cells.iter().all(|(_, result)| *result == first) {
            return Ok(first);
        }
        let mut result = FALSE;
        for wanted in [super::dd::ABSENT, ERROR, TRUE] {
            let mut ranges = Vec::new();
            for (at, (least, found)) in cells.iter().enumerate() {
                if *found != wanted {
                    continue;
                }
                let min = u64::try_from(*least).ok();
                let max = cells
                    .get(at + 1)
                    .and_then(|(next, _)| u64::try_from(next - 1).ok());
                ranges.push(match tested.check.op.name {
                    "length" => TextTest::Length { min, max },
                    _ => TextTest::ByteLength { min, max },
                });
            }
            let test = match ranges.len() {
                0 => continue,
                1 => ranges.remove(0),
                _ => TextTest::Any(ranges),
            };
            let found = self.atom_of(slot, test, made)?;
            result = self.dd.choose(found, [wanted, result, result])?;
        }
        Ok(result)
    }
}

/// Runs of so many codes with these results, and `rest` for all others.
fn spots(results: &BTreeMap<usize, Dd>, (rest, codes): (Dd, usize)) -> Vec<(u32, Dd)> {
    let mut runs: Vec<(u32, Dd)> = vec![(0, rest)];
    let mut add = |code: usize, result: Dd| {
        if runs.last().is_some_and(|(at, _)| *at == code as u32) {
            runs.pop();
        }
        if runs.last().is_none_or(|(_, last)| *last != result) {
            runs.push((code as u32, result));
        }
    };
    for (&code, &result) in results {
        add(code, result);
        if code + 1 < codes && !results.contains_key(&(code + 1)) {
            add(code + 1, rest);
        }
    }
    runs
}

fn text_of(constant: &Const) -> Option<String> {
    match constant {
        Const::Str(text) => Some(text.to_string()),
        _ => None,
    }
}

/// The texts of an operand that is a text or a list of texts.
fn texts(constant: Option<&Const>) -> Option<Vec<String>> {
    match constant? {
        Const::List(items) => items.iter().map(text_of).collect(),
        single => Some(vec![text_of(single)?]),
    }
}

/// The texts that equality and membership compare with.
fn own_texts(check: &Check) -> BTreeSet<String> {
    let mut own = BTreeSet::new();
    match check.operand.constant() {
        Some(Const::List(items)) => own.extend(items.iter().filter_map(text_of)),
        Some(single) => own.extend(text_of(single)),
        None => {}
    }
    own
}

/// A comparison of texts by code point, and if it is negated.
fn ordered(name: &str, operand: &Const) -> Option<(TextTest, bool)> {
    let (least, most) = match (name, operand) {
        ("between" | "not_between", Const::List(bounds)) => match bounds.as_slice() {
            [least, most] => (Some((text_of(least)?, true)), Some((text_of(most)?, true))),
            _ => return None,
        },
        ("gt", operand) => (Some((text_of(operand)?, false)), None),
        ("ge", operand) => (Some((text_of(operand)?, true)), None),
        ("lt", operand) => (None, Some((text_of(operand)?, false))),
        (_, operand) => (None, Some((text_of(operand)?, true))),
    };
    Some((TextTest::Ordered { least, most }, name == "not_between"))
}
