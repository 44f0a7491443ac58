//! Lists with wanted results among their elements.

use crate::json::Json;

use super::budget::{Reason, Stop};
use super::dd::{Dd, Literal, TRUE};
use super::elements::Elements;
use super::facet_leaf::is_derived;
use super::line::as_i64;
use super::model::{Assignment, Failed, Valued};
use super::sample;
use super::space::{Atom, Space};

/// A literal about elements: its variable and value, the predicate, the result, and if it is about the first one.
struct Wanted {
    literal: Literal,
    number: usize,
    outcome: Dd,
    first: bool,
}

/// Elements under way: what one element must be, and the literals that it makes true.
struct Chosen {
    of: Dd,
    value: Json<'static>,
}

/// The most refused results of which a smallest contradiction is searched.
const FEW: usize = 16;

impl Space<'_> {
    /// The value of a list.
    pub(super) fn list_value(&mut self, slot: usize, assignment: &Assignment<'_>) -> Valued {
        let Some(here) = self.slots.get(slot) else {
            return Ok(None);
        };
        let code = assignment.code(here.list, here.lists.len() + 1);
        if let Some(constant) = code.checked_sub(1).and_then(|at| here.lists.get(at)) {
            return Ok(Some(constant.clone()));
        }
        let (count, set) = (here.count, assignment.is_set(here.count));
        let cell = assignment.code(count, here.counts.cells.len());
        let bounds = match set {
            true => (
                here.counts.cells.get(cell).and_then(as_i64).unwrap_or(0),
                here.counts.last_of(cell),
            ),
            false => (0, None),
        };
        let (mut least, most) = bounds;
        if here.lists.contains(&sample::list(Vec::new())) {
            least = least.max(1);
        }
        if most.is_some_and(|most| most < least) {
            let literals: Vec<Literal> = assignment.of(|var| count.has(var)).collect();
            return Err(self.conflict(slot, assignment, literals));
        }
        let bounds = (least, most);
        let place = here.place.clone();
        let mut wanted = Vec::new();
        for &literal in assignment.literals {
            if let Some(Atom::Element {
                slot: of,
                number,
                outcome,
                first,
            }) = self.meaning(literal.0)
                && *of == slot
            {
                wanted.push(Wanted {
                    literal,
                    number: *number,
                    outcome: *outcome,
                    first: *first,
                });
            }
        }
        let made = match self.elements.remove(&place) {
            Some(mut elements) => {
                let made = listed(&mut elements, &wanted, bounds);
                self.elements.insert(place, elements);
                made?
            }
            None => Ok((filled(Vec::new(), bounds.0, "x"), Vec::new())),
        };
        match made {
            Ok((items, caveats)) => {
                self.caveats.extend(caveats);
                self.note_orders(slot, &items);
                self.other_list(slot, items, bounds, &wanted)
            }
            Err((mut literals, counts)) => {
                if counts {
                    literals.extend(assignment.of(|var| count.has(var)));
                }
                Err(self.conflict(slot, assignment, literals))
            }
        }
    }

    /// Notes the lists of the same elements in which one that cannot be evaluated comes elsewhere.
    fn note_orders(&mut self, slot: usize, items: &[Json<'static>]) {
        let is_broken = |item: &Json<'static>| matches!(item, Json::Text(crate::json::Text::Bad));
        let (broken, rest): (Vec<_>, Vec<_>) = items.iter().cloned().partition(is_broken);
        let Some(place) = self.slots.get(slot).map(|slot| slot.place.clone()) else {
            return;
        };
        if broken.is_empty() || place.field.is_none() || is_derived(&place) {
            return;
        }
        let orders = (0..rest.len()).map(|at| {
            let (before, after) = rest.split_at(at);
            sample::list([before, &broken, after].concat())
        });
        self.others.push((place, orders.collect()));
    }

    /// The list, changed until it equals no constant.
    fn other_list(
        &mut self,
        slot: usize,
        mut items: Vec<Json<'static>>,
        (_, most): (i64, Option<i64>),
        wanted: &[Wanted],
    ) -> Valued {
        let Some(here) = self.slots.get(slot) else {
            return Ok(None);
        };
        let known = here.lists.clone();
        for filler in 0..=known.len() {
            let made = sample::list(items.clone());
            if !known.contains(&made) {
                return Ok(Some(made));
            }
            if most.is_none_or(|most| (items.len() as i64) < most) {
                // One more of the elements that are there has no other results.
                let more = items.last().cloned();
                let more = more.unwrap_or_else(|| sample::text(&format!("x{filler}")));
                if wanted.is_empty() || !items.is_empty() {
                    items.push(more);
                    continue;
                }
            } else if wanted.is_empty() && !items.is_empty() {
                items = filled(Vec::new(), items.len() as i64, &format!("x{filler}"));
                continue;
            }
            break;
        }
        self.caveats.push(Reason::new(
            "list",
            "a list must differ from one that a clause compares with",
        ));
        Ok(Some(sample::list(items)))
    }
}

fn filled(mut items: Vec<Json<'static>>, least: i64, filler: &str) -> Vec<Json<'static>> {
    while (items.len() as i64) < least {
        items.push(sample::text(filler));
    }
    items
}

type Listed = Result<(Vec<Json<'static>>, Vec<Reason>), (Vec<Literal>, bool)>;

/// Elements with the wanted results, or literals that contradict; `true`: together with the length.
fn listed(
    elements: &mut Elements<'_>,
    wanted: &[Wanted],
    (least, most): (i64, Option<i64>),
) -> Result<Listed, Failed> {
    let mut caveats = Vec::new();
    let mut base = TRUE;
    for one in wanted.iter().filter(|one| !one.literal.1 && !one.first) {
        let outside = elements.with(one.number, one.outcome, false)?;
        base = elements.both(base, outside)?;
    }
    let refused = || {
        let own = wanted.iter().filter(|one| !one.literal.1 && !one.first);
        own.map(|one| one.literal).collect::<Vec<_>>()
    };
    let mut chosen: Vec<Chosen> = Vec::new();
    if wanted.iter().any(|one| one.first) {
        let mut of = base;
        for one in wanted.iter().filter(|one| one.first) {
            let with = elements.with(one.number, one.outcome, one.literal.1)?;
            of = elements.both(of, with)?;
        }
        match elements.pick(of)? {
            Some((value, more)) => {
                caveats.extend(more);
                chosen.push(Chosen { of, value });
            }
            None => {
                let firsts = wanted.iter().filter(|one| one.first);
                let literals = refused().into_iter().chain(firsts.map(|one| one.literal));
                return Ok(Err((literals.collect(), false)));
            }
        }
    }
    for one in wanted.iter().filter(|one| one.literal.1 && !one.first) {
        let with = elements.with(one.number, one.outcome, true)?;
        // An element that is there already may have the result, too.
        let mut joined = false;
        for other in &mut chosen {
            let both = elements.both(other.of, with)?;
            if let Some((value, more)) = elements.pick(both)? {
                caveats.extend(more);
                *other = Chosen { of: both, value };
                joined = true;
                break;
            }
        }
        if joined {
            continue;
        }
        let of = elements.both(base, with)?;
        match elements.pick(of)? {
            Some((value, more)) => {
                caveats.extend(more);
                chosen.push(Chosen { of, value });
            }
            None => {
                let mut literals = smallest(elements, with, wanted)?;
                literals.push(one.literal);
                return Ok(Err((literals, false)));
            }
        }
    }
    if most.is_some_and(|most| (chosen.len() as i64) > most) {
        // Of one element at most, the first that does not join the others contradicts them.
        if most.is_some_and(|most| most <= 1) {
            return Ok(Err((wanted.iter().map(|one| one.literal).collect(), true)));
        }
        caveats.push(Reason::new(
            "list",
            "a list may be too short for these elements",
        ));
    }
    let mut items: Vec<Json<'static>> = chosen.into_iter().map(|one| one.value).collect();
    if (items.len() as i64) < least {
        let more = match items.last() {
            Some(last) => last.clone(),
            None => match elements.pick(base)? {
                Some((value, more)) => {
                    caveats.extend(more);
                    value
                }
                None => return Ok(Err((refused(), true))),
            },
        };
        while (items.len() as i64) < least {
            items.push(more.clone());
        }
    }
    // What cannot be evaluated comes last, where `contains` has found what it looks for.
    let keep = usize::from(wanted.iter().any(|one| one.first));
    if let Some(rest) = items.get_mut(keep..) {
        rest.sort_by_key(|item| matches!(item, Json::Text(crate::json::Text::Bad)));
    }
    Ok(Ok((items, caveats)))
}

/// The fewest refused results that leave no element with a wanted one.
fn smallest(
    elements: &mut Elements<'_>,
    with: Dd,
    wanted: &[Wanted],
) -> Result<Vec<Literal>, Stop> {
    let mut refused: Vec<&Wanted> = wanted
        .iter()
        .filter(|one| !one.literal.1 && !one.first)
        .collect();
    let mut at = 0;
    while refused.len() <= FEW && at < refused.len() {
        let mut of = with;
        for (other, one) in refused.iter().enumerate() {
            if other != at {
                let outside = elements.with(one.number, one.outcome, false)?;
                of = elements.both(of, outside)?;
            }
        }
        match elements.pick(of)? {
            Some(_) => at += 1,
            None => {
                refused.remove(at);
            }
        }
    }
    Ok(refused.into_iter().map(|one| one.literal).collect())
}
