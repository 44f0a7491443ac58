//! The results of a test for the values of each kind: the interpreter evaluates it where one value is enough; texts and numbers
//! are divided at its constants.

use std::collections::BTreeSet;

use crate::json::Json;
use crate::lang::path::Field;
use crate::num::number::Number;
use crate::pyfn::ast::Comparison;
use crate::pyfn::consts::PyConst;
use crate::regex::LiteralKind;

use crate::analysis::budget::Stop;
use crate::analysis::dd::{ABSENT, Dd, ERROR, FALSE, TRUE};
use crate::analysis::line::as_i64;
use crate::analysis::sample;
use crate::analysis::slot::Kind;
use crate::analysis::space::Space;
use crate::analysis::text_leaf::{Made, OTHER};
use crate::analysis::theory::TextTest;

use super::around::{evaluated, truth_of};
use super::form::{Form, Test};
use super::operand::{Of, Rule};

/// The most elements of a list or a text that is made to have a length.
const ELEMENTS: i64 = 4096;

impl<'a> Space<'a> {
    /// The result for the values of a kind.
    pub(super) fn of_value(
        &mut self,
        rule: Rule<'a, '_>,
        test: &Test<'a>,
        (slot, kind): (usize, Kind),
    ) -> Result<Dd, Stop> {
        let keys = &test.read.place.keys;
        let of = |value: Json<'static>| evaluated(rule, test, keys, Some(value));
        if test.read.is_key {
            return Ok(match kind {
                Kind::Absent => evaluated(rule, test, keys, None),
                _ => of(Json::Null),
            });
        }
        match kind {
            Kind::Absent => Ok(evaluated(rule, test, keys, None)),
            Kind::True => Ok(of(Json::Bool(true))),
            Kind::False => Ok(of(Json::Bool(false))),
            Kind::Null => Ok(of(Json::Null)),
            Kind::Instant => Ok(ABSENT),
            Kind::Broken => match (of(sample::broken()), of(Json::HugeInt)) {
                (one, other) if one == other => Ok(one),
                (one, other) => self.either(rule, test, "broken", &[one, other]),
            },
            Kind::Number => self.of_numbers(rule, test, slot),
            Kind::Text => self.of_texts(rule, test, slot),
            Kind::List => {
                let other = self.of_container(rule, test, (slot, kind), &|count| {
                    of(sample::list(vec![Json::Null; count]))
                })?;
                let Some(here) = self.slots.get(slot) else {
                    return Ok(ABSENT);
                };
                let mut runs = vec![(0, other)];
                runs.extend((1..).zip(here.lists.iter().map(|list| of(list.clone()))));
                let bits = here.list;
                self.dd.switch(bits.var, bits.count, &runs)
            }
            Kind::Map => {
                let other = self.of_container(rule, test, (slot, kind), &|count| {
                    let entries = (0..count).map(|at| (format!("k{at}"), Json::Null));
                    of(sample::mapping(entries.collect()))
                })?;
                let Some(here) = self.slots.get(slot) else {
                    return Ok(ABSENT);
                };
                let mut runs = vec![(0, other)];
                runs.extend((1..).zip(here.maps.iter().map(|map| of(map.clone()))));
                let bits = here.map;
                self.dd.switch(bits.var, bits.count, &runs)
            }
        }
    }

    /// The result for lists, or mappings, that are no constants of the slot; `of`: for one of some length.
    fn of_container(
        &mut self,
        rule: Rule<'a, '_>,
        test: &Test<'a>,
        (slot, kind): (usize, Kind),
        of: &dyn Fn(usize) -> Dd,
    ) -> Result<Dd, Stop> {
        if test.derived.text {
            return self.either(rule, test, "container", &[FALSE, TRUE, ERROR]);
        }
        if let Form::Contains(key) = &test.form {
            let child = test.key(key);
            let child = child.and_then(|place| self.places.get(&place).copied());
            return match child.filter(|_| kind == Kind::Map) {
                Some(child) => self.by_kind(child, |kind| {
                    truth_of(Some((kind == Kind::Absent) == test.negated))
                }),
                None => self.either(rule, test, "container", &[FALSE, TRUE, ERROR]),
            };
        }
        let by_length = matches!(test.form, Form::Truth) || test.derived.of == Of::Length;
        match by_length || test.derived.replaced {
            true => self.of_counts(slot, test, of),
            false => Ok(of(0)),
        }
    }

    /// One of some results, only the evaluator knows which.
    fn either(
        &mut self,
        rule: Rule<'a, '_>,
        test: &Test<'a>,
        part: &str,
        results: &[Dd],
    ) -> Result<Dd, Stop> {
        let name = format!(
            "condition {part} {:?} {:?} {:?}",
            test.read, test.code, test.bound
        );
        self.unknown((name.as_bytes(), 0), rule.reason, results)
    }

    fn of_counts(
        &mut self,
        slot: usize,
        test: &Test<'a>,
        of: &dyn Fn(usize) -> Dd,
    ) -> Result<Dd, Stop> {
        let Some(here) = self.slots.get(slot) else {
            return Ok(ABSENT);
        };
        let runs: Vec<(u32, Dd)> = here
            .counts
            .runs(&test.lengths())
            .into_iter()
            .filter_map(|start| {
                let count = here.counts.cells.get(start).and_then(as_i64)?;
                let result = match count {
                    0..=ELEMENTS => of(count as usize),
                    _ => ABSENT,
                };
                Some((start as u32, result))
            })
            .collect();
        let bits = here.count;
        self.dd.switch(bits.var, bits.count, &runs)
    }

    fn of_numbers(&mut self, rule: Rule<'a, '_>, test: &Test<'a>, slot: usize) -> Result<Dd, Stop> {
        let Some(here) = self.slots.get(slot) else {
            return Ok(ABSENT);
        };
        if test.derived.text {
            return self.either(rule, test, "number", &[FALSE, TRUE, ERROR]);
        }
        let keys = &test.read.place.keys;
        let of = |number: &Number| evaluated(rule, test, keys, Some(sample::json_number(number)));
        if let Form::Types | Form::Value = test.form {
            let whole = of(&Number::Int(1));
            let broken = of(&Number::Float(1.5));
            let only_whole = matches!(
                test.read.place.field(),
                Some(Field::StepSeq | Field::BlastRadiusHint)
            );
            return match whole == broken || only_whole {
                true => Ok(whole),
                false => self.either(rule, test, "number", &[whole, broken]),
            };
        }
        let runs: Vec<(u32, Dd)> = here
            .numbers
            .runs(&test.numbers())
            .into_iter()
            .filter_map(|start| Some((start as u32, of(here.numbers.cells.get(start)?))))
            .collect();
        let bits = here.number;
        self.dd.switch(bits.var, bits.count, &runs)
    }

    fn of_texts(&mut self, rule: Rule<'a, '_>, test: &Test<'a>, slot: usize) -> Result<Dd, Stop> {
        let other = self.of_other_texts(rule, test, slot)?;
        let keys = &test.read.place.keys;
        let of = |text: &str| evaluated(rule, test, keys, Some(sample::text(text)));
        let Some(here) = self.slots.get(slot) else {
            return Ok(ABSENT);
        };
        let own: Option<BTreeSet<&str>> = match (&test.form, test.derived.of) {
            (Form::Equal(items), Of::Itself) => {
                Some(items.iter().filter_map(|item| item.text()).collect())
            }
            _ => None,
        };
        // PERF: of equality all texts but its own have one result.
        let results: Vec<Dd> = here
            .texts
            .iter()
            .map(|text| match &own {
                Some(own) if !own.contains(text.as_str()) => other,
                _ => of(text),
            })
            .collect();
        let runs = here.text_runs(other, &results);
        let bits = here.text;
        self.dd.switch(bits.var, bits.count, &runs)
    }

    /// The result for texts that are no constants of the slot.
    fn of_other_texts(
        &mut self,
        rule: Rule<'a, '_>,
        test: &Test<'a>,
        slot: usize,
    ) -> Result<Dd, Stop> {
        let keys = &test.read.place.keys;
        let of = |text: &str| evaluated(rule, test, keys, Some(sample::text(text)));
        let made = Made {
            lower: test.derived.of == Of::Lower,
            suffix: String::new(),
        };
        let wanted = match (&test.form, test.derived.of) {
            (Form::Value | Form::Key | Form::Types, _) => return Ok(of(OTHER)),
            (_, Of::Length) => return self.of_text_lengths(test, slot, &of),
            (Form::Truth | Form::Equal(_), Of::Itself) => return Ok(of(OTHER)),
            (Form::Truth, Of::Lower) => TextTest::Length {
                min: Some(1),
                max: None,
            },
            (Form::Equal(items), Of::Lower) => {
                let texts = items.iter().filter_map(|item| item.text());
                TextTest::OneOf(texts.map(str::to_owned).collect())
            }
            (Form::Starts(texts), _) => TextTest::StartsWith(texts.clone()),
            (Form::Ends(texts), _) => TextTest::EndsWith(texts.clone()),
            (Form::Contains(text), _) => TextTest::Contains(vec![text.clone()]),
            (Form::Order(bounds), _) => {
                let tests: Option<Vec<TextTest>> = bounds.iter().map(ordered).collect();
                match tests {
                    Some(tests) => TextTest::All(tests),
                    // A text has no order with anything else.
                    None => return Ok(of(OTHER)),
                }
            }
            (Form::Pattern(pattern), _) => match pattern.parsed.literal_kind() {
                Some(LiteralKind::Exact(word)) => TextTest::OneOf(BTreeSet::from([word])),
                Some(LiteralKind::Prefix(word)) => TextTest::StartsWith(vec![word]),
                Some(LiteralKind::Suffix(word)) => TextTest::EndsWith(vec![word]),
                Some(LiteralKind::Contains(word)) => TextTest::Contains(vec![word]),
                None => return self.either(rule, test, "pattern", &[FALSE, TRUE]),
            },
        };
        let found = self.atom_of(slot, wanted, &made)?;
        match test.negated {
            true => self.dd.not(found),
            false => Ok(found),
        }
    }

    fn of_text_lengths(
        &mut self,
        test: &Test<'a>,
        slot: usize,
        of: &dyn Fn(&str) -> Dd,
    ) -> Result<Dd, Stop> {
        let mut cuts: BTreeSet<i64> = BTreeSet::from([0]);
        for number in test.lengths() {
            if let Number::Int(value) = number {
                cuts.extend([value, value.saturating_add(1)]);
            }
        }
        cuts.retain(|cut| *cut >= 0);
        let cuts: Vec<i64> = cuts.into_iter().collect();
        let mut result = ABSENT;
        for (at, least) in cuts.iter().enumerate() {
            let own = match usize::try_from(*least) {
                Ok(count) if *least <= ELEMENTS => of(&"x".repeat(count)),
                _ => ABSENT,
            };
            let max = cuts.get(at + 1).map(|next| (next - 1) as u64);
            let within = TextTest::Length {
                min: Some(*least as u64),
                max,
            };
            let within = self.atom_of(slot, within, &Made::default())?;
            result = self.dd.choose(within, [own, result, result])?;
        }
        Ok(result)
    }
}

/// The test of a text for its order with another one.
fn ordered((operator, constant): &(Comparison, &PyConst)) -> Option<TextTest> {
    let bound = constant.text()?.to_owned();
    let (least, most) = match operator {
        Comparison::Gt => (Some((bound, false)), None),
        Comparison::Ge => (Some((bound, true)), None),
        Comparison::Lt => (None, Some((bound, false))),
        _ => (None, Some((bound, true))),
    };
    Some(TextTest::Ordered { least, most })
}
