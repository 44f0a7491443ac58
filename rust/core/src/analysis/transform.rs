//! Arguments after transforms: clauses read what was set, deleted or appended instead of the arguments of the call.

use crate::clause::operand::{Check, Operand};
use crate::json::Json;
use crate::lang::path::{Field, Head};
use crate::program::{Body, Program};
use crate::value::Step;
use crate::value::constant::Const;
use crate::value::request::{Transform, TransformOp};

use super::budget::{Reason, Stop};
use super::dd::{ABSENT, Dd, ERROR, FALSE, TRUE};
use super::leaf::{Tested, step_into};
use super::policy::Policy;
use super::sample;
use super::slot::{Kind, Place};
use super::space::{Space, clause_of};
use super::text_leaf::Made;

/// Rewrites of the arguments, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Changed {
    pub(super) changes: Vec<Transform>,
    pub(super) numbers: Vec<u32>,
}

impl Changed {
    /// These, and one more.
    pub(super) fn with(&self, change: &Transform, number: u32) -> Self {
        let mut next = self.clone();
        next.changes.push(change.clone());
        next.numbers.push(number);
        next
    }

    /// Returns true if a rule may read what was changed.
    pub(super) fn touches(&self, policy: &Policy, rule: u32) -> bool {
        let program = &policy.program;
        let own = policy.change(rule);
        if own.is_some_and(|change| self.touches_path(&change.path)) {
            // A transform that could not be made before may be possible now.
            return true;
        }
        match program.rules.get(rule as usize).map(|rule| &rule.body) {
            Some(Body::Match(body)) => {
                let mut touched = false;
                program
                    .written(body)
                    .leaves(&mut |clause| touched |= self.touches_clause(program, clause));
                touched
            }
            Some(Body::Host(_) | Body::Function(_)) => true,
            None => false,
        }
    }

    fn touches_clause(&self, program: &Program, clause: u32) -> bool {
        let Some(info) = program.clause(clause) else {
            return true;
        };
        if info.head == Head::Run || info.operand.reads_sources() {
            return true;
        }
        let mut touched = info.head == Head::Args && self.touches_path(&info.path);
        let _ = info.operand.each_ref(&mut |head, keys| {
            touched |= head == Head::Args && self.touches_path(keys);
            Ok::<(), std::convert::Infallible>(())
        });
        touched
    }

    fn touches_path(&self, keys: &[Box<str>]) -> bool {
        let mut changes = self.changes.iter();
        changes.any(|change| keys.starts_with(&change.path) || change.path.starts_with(keys))
    }
}

/// The number of the type of a step that leads nowhere.
const UNREADABLE: u32 = 100;

fn shape_of(kind: Kind) -> Dd {
    Dd::terminal(kind as u32)
}

impl<'a> Space<'a> {
    /// True where a rewrite can be made.
    pub(super) fn applies(&mut self, change: &Transform, before: &Changed) -> Result<Dd, Stop> {
        let mut result = TRUE;
        let Some((_, owners)) = change.path.split_last() else {
            return Ok(TRUE);
        };
        if change.op == TransformOp::Append {
            let text = matches!(change.value, Const::Str(_));
            let shape = self.shape(&change.path, &before.changes)?;
            result = self.is_shape(shape, &|kind| match kind {
                Kind::List => true,
                Kind::Text | Kind::Broken => text,
                _ => false,
            })?;
        }
        for length in (1..=owners.len()).rev() {
            let owner = owners.get(..length).unwrap_or_default();
            let shape = self.shape(owner, &before.changes)?;
            let map = self.is_shape(shape, &|kind| kind == Kind::Map)?;
            let missing = self.is_shape(shape, &|kind| kind == Kind::Absent)?;
            // Without an owner nothing below it is looked at.
            let without = match change.op {
                TransformOp::Set | TransformOp::Delete => TRUE,
                TransformOp::Append => FALSE,
            };
            let other = self.dd.choose(missing, [without, FALSE, FALSE])?;
            result = self.dd.choose(map, [result, other, other])?;
        }
        Ok(result)
    }

    fn is_shape(&mut self, shape: Dd, is: &dyn Fn(Kind) -> bool) -> Result<Dd, Stop> {
        let id = self.dd.operation();
        self.dd.map(id, shape, &mut |value| {
            let kind = super::slot::KINDS.get(value as usize);
            if kind.is_some_and(|kind| is(*kind)) {
                TRUE
            } else {
                FALSE
            }
        })
    }

    /// The type of the value at an argument after rewrites.
    fn shape(&mut self, keys: &[Box<str>], changes: &[Transform]) -> Result<Dd, Stop> {
        let Some((change, before)) = changes.split_last() else {
            return self.first_shape(keys);
        };
        if let Some(rest) = keys.strip_prefix(change.path.as_slice()) {
            return match change.op {
                TransformOp::Delete => Ok(shape_of(Kind::Absent)),
                TransformOp::Append if rest.is_empty() => self.shape(keys, before),
                TransformOp::Append => Ok(Dd::terminal(UNREADABLE)),
                TransformOp::Set => Ok(match sample::of_const(&change.value) {
                    Some(value) => match step_into(&value, rest) {
                        Step::Found(value) => shape_of(sample::kind_of(&value)),
                        Step::Absent => shape_of(Kind::Absent),
                        Step::Unreadable => Dd::terminal(UNREADABLE),
                    },
                    None => Dd::terminal(UNREADABLE),
                }),
            };
        }
        if change.path.starts_with(keys) && change.op == TransformOp::Set {
            return Ok(shape_of(Kind::Map));
        }
        self.shape(keys, before)
    }

    /// The type of the value at an argument of the call.
    fn first_shape(&mut self, keys: &[Box<str>]) -> Result<Dd, Stop> {
        if keys.is_empty() {
            return Ok(shape_of(Kind::Map));
        }
        let place = Place::new(Field::Args, keys);
        let Some(&slot) = self.places.get(&place) else {
            return Err(Stop::Internal(format!("no slot of {}", place.text())));
        };
        let own = self.by_kind(slot, shape_of)?;
        self.within(
            slot,
            own,
            [shape_of(Kind::Absent), Dd::terminal(UNREADABLE)],
            &mut |_, value| Ok(shape_of(sample::kind_of(&value))),
        )
    }

    /// The truth value of a clause after rewrites.
    pub(super) fn leaf_after(
        &mut self,
        program: &'a Program,
        clause: u32,
        changes: &[Transform],
    ) -> Result<Dd, Stop> {
        let found = if changes.is_empty() {
            None
        } else {
            clause_of(program, clause)
        };
        let Some((place, check)) = found else {
            return self.leaf(program, clause);
        };
        let name = [
            program.clause_bytes(clause),
            format!("{changes:?}").as_bytes(),
        ]
        .concat();
        let tested = Tested {
            check: &check,
            test: program.test(clause),
            name: &name,
            program,
        };
        let changed = Changed {
            changes: changes.to_vec(),
            numbers: Vec::new(),
        };
        if sample::reads_beside(&check).is_some() && changed.touches_clause(program, clause) {
            return self.unknown_after(tested);
        }
        if place.field() != Some(Field::Args) {
            return self.leaf(program, clause);
        }
        self.check_after((program, clause), (&place, tested), changes)
    }

    fn check_after(
        &mut self,
        (program, clause): (&'a Program, u32),
        (place, tested): (&Place, Tested<'a, '_>),
        changes: &[Transform],
    ) -> Result<Dd, Stop> {
        let Some((change, before)) = changes.split_last() else {
            return self.leaf(program, clause);
        };
        let (absent, unreadable) = missing(tested.check);
        if let Some(rest) = place.keys.strip_prefix(change.path.as_slice()) {
            return match change.op {
                TransformOp::Delete => Ok(absent),
                TransformOp::Append if rest.is_empty() => {
                    self.appended(place, tested, (&change.value, before))
                }
                TransformOp::Append => Ok(unreadable),
                TransformOp::Set => match sample::of_const(&change.value) {
                    Some(value) => match step_into(&value, rest) {
                        Step::Found(value) => self.concrete(tested, value),
                        Step::Absent => Ok(absent),
                        Step::Unreadable => Ok(unreadable),
                    },
                    None => self.unknown_after(tested),
                },
            };
        }
        if change.path.starts_with(&place.keys) {
            if tested.check.op.name != "exists" {
                return self.unknown_after(tested);
            }
            if change.op == TransformOp::Set {
                return Ok(if absent == FALSE { TRUE } else { FALSE });
            }
        }
        self.check_after((program, clause), (place, tested), before)
    }

    /// The result of a check of a value that was extended.
    fn appended(
        &mut self,
        place: &Place,
        tested: Tested<'a, '_>,
        (more, before): (&Const, &[Transform]),
    ) -> Result<Dd, Stop> {
        let touched = before.iter().any(|change| {
            place.keys.starts_with(&change.path) || change.path.starts_with(&place.keys)
        });
        let (Some(&slot), Const::Str(suffix), false) = (self.places.get(place), more, touched)
        else {
            return self.unknown_after(tested);
        };
        if tested.check.op.name == "exists" {
            return Ok(sample::result_of(tested.test, &Json::Null));
        }
        let made = Made {
            suffix: suffix.to_string(),
            ..Made::default()
        };
        let other = self.other_text(slot, tested, &made)?;
        let (texts, bits) = match self.slots.get(slot) {
            Some(here) => (here.texts.clone(), here.text),
            None => return Ok(FALSE),
        };
        let mut results = Vec::new();
        for text in &texts {
            let longer = sample::text(&[text.as_str(), suffix].concat());
            let value = crate::json::value::JsonValue::Json(longer);
            results.push(self.concrete(tested, value)?);
        }
        let runs = self
            .slots
            .get(slot)
            .map(|here| here.text_runs(other, &results));
        let runs = runs.unwrap_or_default();
        let texts = self.dd.switch(bits.var, bits.count, &runs)?;
        let lists = self.unknown_after(tested)?;
        let broken = sample::result_of(tested.test, &sample::broken());
        // Of any other type there is nothing to append to.
        let own = self.by_kind(slot, |kind| match kind {
            Kind::Text => texts,
            Kind::List => lists,
            Kind::Broken => broken,
            _ => FALSE,
        })?;
        let name = tested.name;
        let reason = after_reason();
        self.within(slot, own, [FALSE, FALSE], &mut |space, _| {
            space.unknown((name, 5), &reason, &[FALSE, TRUE, ERROR, ABSENT])
        })
    }

    fn unknown_after(&mut self, tested: Tested<'a, '_>) -> Result<Dd, Stop> {
        self.unknown(
            (tested.name, 6),
            &after_reason(),
            &[FALSE, TRUE, ERROR, ABSENT],
        )
    }
}

fn after_reason() -> Reason {
    Reason::new("transform", "a clause reads what a transform has changed")
}

/// The results of a check where its path leads nowhere.
pub(super) fn missing(check: &Check) -> (Dd, Dd) {
    match (check.op.name, &check.operand) {
        ("exists", Operand::Const(Const::Bool(wanted))) => {
            let missing = if *wanted { FALSE } else { TRUE };
            (missing, missing)
        }
        _ => (ABSENT, ERROR),
    }
}
