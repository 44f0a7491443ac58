//! The differences of two policies, by the diagrams of both.

use std::collections::BTreeMap;

use super::budget::{Reason, Stop};
use super::dd::{Dd, Operation};
use super::differences::{Change, Differences, differ, differ_in, equal_arguments, terms_of};
use super::find::add;
use super::policy::{End, Ends, Policy, Rank};
use super::question::Terms;
use super::search::{Found, Goal};
use super::verify::{self, Decided};
use super::view::{View, unknown_end};
use super::{Analysis, Asked};

/// The terminal of requests on which both sides agree.
const SAME: Dd = Dd::terminal(0);

/// Pairs of ends that differ.
struct Pairs<'e> {
    id: u32,
    ends: &'e Ends,
    policies: (&'e Policy, &'e Policy),
    terms: Option<&'e Terms>,
    pairs: Vec<(u32, u32)>,
    known: BTreeMap<(u32, u32), u32>,
}

impl Operation for Pairs<'_> {
    fn id(&self) -> u32 {
        self.id
    }

    fn known(&mut self, left: Dd, right: Dd) -> Option<Dd> {
        if left == right {
            return Some(SAME);
        }
        let (one, other) = (left.value()?, right.value()?);
        let ends = (self.ends.get(one)?, self.ends.get(other)?);
        if same(ends.0, ends.1) && !other_terms(self.policies, ends, self.terms) {
            return Some(SAME);
        }
        let next = self.pairs.len() as u32 + 1;
        let number = *self.known.entry((one, other)).or_insert(next);
        if number == next {
            self.pairs.push((one, other));
        }
        Some(Dd::terminal(number))
    }
}

/// Returns true for ends that are the same decision, but for its terms.
fn same(old: &End, new: &End) -> bool {
    old.unknown.is_none()
        && new.unknown.is_none()
        && old.verdict == new.verdict
        && (old.verdict == Some(Rank::Deny) || old.transforms == new.transforms)
}

/// Returns true for ends that may be decisions on other terms.
fn other_terms(
    (old, new): (&Policy, &Policy),
    (one, other): (&End, &End),
    terms: Option<&Terms>,
) -> bool {
    let Some(terms) = terms else {
        return false;
    };
    let of = |side: usize, policy: &Policy, end: &End| match end.fails {
        true => terms.of(side, None),
        false => terms.of(side, end.rule.and_then(|content| policy.rule_of(content))),
    };
    differ_in((of(0, old, one), of(1, new, other)))
}

/// One pair of ends.
struct Pair {
    number: u32,
    caveats: Vec<Reason>,
}

impl Goal for Pair {
    fn wants(&self, terminal: u32) -> bool {
        terminal == self.number
    }

    fn caveat(&self, terminal: u32) -> Option<Reason> {
        match terminal == self.number {
            true => self.caveats.first().cloned(),
            false => None,
        }
    }
}

impl Analysis {
    pub(super) fn compare(
        &mut self,
        policies: (usize, usize),
        (limit, terms): (usize, Option<&Terms>),
        asked: &mut Asked<'_>,
    ) -> String {
        let tools = asked.named.clone();
        let mut all = Differences::new(policies, limit, terms);
        for (done, tool) in asked.tools.clone().into_iter().enumerate() {
            all.begin(tool);
            let result = match asked.progress(done, all.tool.as_deref()) {
                Ok(()) => self.differences(&mut all, &tools),
                Err(stop) => Err(stop),
            };
            if let Err(stop) = result {
                let ends = stop.ends();
                add(&mut all.unknown, vec![stop.into()]);
                if ends {
                    break;
                }
            }
        }
        all.answer()
    }

    fn differences(&mut self, found: &mut Differences<'_>, tools: &[String]) -> Result<(), Stop> {
        let (old, new) = found.policies;
        let tool = found.tool.clone();
        if let (Some(one), Some(other)) = (self.policies.get(old), self.policies.get(new))
            && decides_alike(one, other, tool.as_deref())
        {
            return Ok(());
        }
        let mut view = View::new(self.parts(tools), &[old, new], (tool.as_deref(), &[]));
        let many = view.rules.iter().any(|rules| rules.len() >= view.many);
        if many && let Some(lanes) = view.lanes()? {
            return found.long(&mut view, lanes);
        }
        let mut ends = Ends::default();
        let decisions = view.decisions(&mut ends)?;
        let (Some(&left), Some(&right)) = (decisions.first(), decisions.get(1)) else {
            return Ok(());
        };
        let (Some(&before), Some(&after)) = (view.policies.first(), view.policies.get(1)) else {
            return Ok(());
        };
        let mut pairs = Pairs {
            id: view.space.dd.operation(),
            ends: &ends,
            policies: (before, after),
            terms: found.terms,
            pairs: Vec::new(),
            known: BTreeMap::new(),
        };
        let product = view.space.dd.apply(&mut pairs, left, right)?;
        let mut order: Vec<(Change, u32, End, End)> = Vec::new();
        for number in view.space.dd.terminals(product) {
            let pair = number
                .checked_sub(1)
                .and_then(|at| pairs.pairs.get(at as usize));
            let ends = pair.and_then(|(one, other)| ends.get(*one).zip(ends.get(*other)));
            let Some((one, other)) = ends else {
                continue;
            };
            let change = match one.verdict.cmp(&other.verdict) {
                std::cmp::Ordering::Less => Change::Loosening,
                std::cmp::Ordering::Greater => Change::Tightening,
                std::cmp::Ordering::Equal if same(one, other) => Change::Terms,
                std::cmp::Ordering::Equal => Change::Arguments,
            };
            order.push((change, number, one.clone(), other.clone()));
            let open = one.unknown.is_some() || other.unknown.is_some();
            if change != Change::Terms && open && found.terms.is_some() {
                order.push((Change::Terms, number, one.clone(), other.clone()));
            }
        }
        // A call that rules match is shown before one on which a rule is in error.
        order.sort_by_key(|(change, number, one, other)| {
            let errors = usize::from(one.fails) + usize::from(other.fails);
            (*change, errors, *number)
        });
        for (change, number, one, other) in order {
            if found.is_full(change) {
                continue;
            }
            found.pair(&mut view, product, (change, number), (&one, &other))?;
        }
        Ok(())
    }
}

impl Differences<'_> {
    /// Searches a request for a pair of ends.
    fn pair(
        &mut self,
        view: &mut View<'_>,
        product: Dd,
        (change, number): (Change, u32),
        (one, other): (&End, &End),
    ) -> Result<(), Stop> {
        let policies = view.policies.clone();
        let (Some(old), Some(new)) = (policies.first(), policies.get(1)) else {
            return Ok(());
        };
        let rule =
            |policy: &Policy, end: &End| end.rule.and_then(|content| policy.rule_of(content));
        let mut caveats = Vec::new();
        for (number, policy, end) in [(self.policies.0, old, one), (self.policies.1, new, other)] {
            if let Some(code) = end.unknown {
                caveats.push(unknown_end(code, Some(number), rule(policy, end)));
            }
        }
        let open = !caveats.is_empty();
        if change == Change::Arguments && !open {
            caveats.push(equal_arguments());
        }
        let terms = self.terms.filter(|_| change == Change::Terms);
        let is_known = |decided: &[Decided]| {
            let (Some(terms), Some(first)) = (terms, decided.first()) else {
                return false;
            };
            let (one, other) = terms_of(terms, decided);
            self.has_terms(&(first.verdict, one, other))
        };
        let goal = Pair { number, caveats };
        let searched = view.space.search(product, &goal, &mut |request| {
            let decided = [verify::decide(old, request)?, verify::decide(new, request)?];
            let [before, after] = &decided;
            let fits = fits(old, one, before) && fits(new, other, after);
            let wanted = match terms {
                None => differ(before, after),
                Some(terms) => {
                    before.verdict == after.verdict && differ_in(terms_of(terms, &decided))
                }
            };
            Ok((fits && wanted).then(|| (request.to_owned(), decided)))
        });
        match searched {
            Ok(Found::Nothing) => {}
            Ok(Found::Witness((request, decided))) => {
                if open && !is_known(&decided) {
                    // One request tells nothing of the others that a rule of this kind decides.
                    add(&mut self.unknown, goal.caveats);
                }
                self.found(
                    match change {
                        Change::Terms => change,
                        _ => changed(&decided),
                    },
                    request,
                    &decided,
                );
            }
            Ok(Found::Unknown(reasons)) => {
                self.uncertain(change, (old, one), (new, other), reasons)
            }
            Err(stop) if stop.ends() => return Err(stop),
            Err(stop) => self.uncertain(change, (old, one), (new, other), vec![stop.into()]),
        }
        Ok(())
    }

    fn uncertain(
        &mut self,
        change: Change,
        (old, one): (&Policy, &End),
        (new, other): (&Policy, &End),
        reasons: Vec<Reason>,
    ) {
        let rule =
            |policy: &Policy, end: &End| end.rule.and_then(|content| policy.rule_of(content));
        let (Some(before), Some(after)) = (one.verdict, other.verdict) else {
            return add(&mut self.unknown, reasons);
        };
        let sides = ((before, rule(old, one)), (after, rule(new, other)));
        if self.knows(change, sides) {
            return add(&mut self.unknown, reasons);
        }
        self.add(change, sides, (None, reasons));
    }
}

/// The change of two decisions that differ in more than terms.
fn changed([before, after]: &[Decided; 2]) -> Change {
    Change::of(before.verdict, after.verdict).unwrap_or(Change::Arguments)
}

/// Returns true if a decision is one that an end foretells.
fn fits(policy: &Policy, end: &End, decided: &Decided) -> bool {
    if decided.asks_more {
        return false;
    }
    match end.unknown {
        Some(_) => true,
        None => {
            end.verdict == Some(decided.verdict)
                && end.rule.and_then(|content| policy.rule_of(content)) == decided.rule
        }
    }
}

/// Returns true if two policies have the same rules about a tool.
fn decides_alike(one: &Policy, other: &Policy, tool: Option<&str>) -> bool {
    let contents = |policy: &Policy| {
        let rules = policy.rules(tool).into_iter();
        rules
            .map(|rule| policy.content.get(rule as usize).copied())
            .collect::<Vec<_>>()
    };
    one.program.layers().is_none()
        && other.program.layers().is_none()
        && one.program.defaults() == other.program.defaults()
        && one.program.memory_bytes() == other.program.memory_bytes()
        && contents(one) == contents(other)
}
