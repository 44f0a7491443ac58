//! The differences of two policies, by region: a tool, and the two verdicts with the rules that decide.

use std::collections::BTreeMap;

use super::answer::{self, Object, name_of};
use super::budget::{Reason, Stop};
use super::dd::{Dd, Operation};
use super::find::add;
use super::lazy;
use super::policy::{End, Ends, Policy, Rank};
use super::search::{Found, Goal};
use super::verify::{self, Decided};
use super::view::{View, unknown_end};
use super::{Analysis, Asked};

/// A verdict, and the deciding rule.
pub(super) type Side = (Rank, Option<u32>);

/// Requests of one tool that two policies decide differently.
#[derive(Debug)]
pub(super) struct Region {
    tool: Option<String>,
    old: Side,
    new: Side,
    witness: Option<String>,
    reasons: Vec<Reason>,
}

impl Region {
    /// The direction, loosening first.
    fn change(&self) -> Change {
        match self.old.0.cmp(&self.new.0) {
            std::cmp::Ordering::Less => Change::Loosening,
            std::cmp::Ordering::Greater => Change::Tightening,
            std::cmp::Ordering::Equal => Change::Arguments,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Loosening,
    Tightening,
    Arguments,
}

/// The terminal of requests on which both sides agree.
const SAME: Dd = Dd::terminal(0);

/// Pairs of ends that differ.
struct Pairs<'e> {
    id: u32,
    ends: &'e Ends,
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
        if same(self.ends.get(one)?, self.ends.get(other)?) {
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

/// Returns true for ends that are the same decision.
fn same(old: &End, new: &End) -> bool {
    old.unknown.is_none()
        && new.unknown.is_none()
        && old.verdict == new.verdict
        && (old.verdict != Some(Rank::Transform) || old.transforms == new.transforms)
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

/// What is found for one tool.
pub(super) struct Differences<'a> {
    regions: Vec<Region>,
    unknown: Vec<Reason>,
    limit: usize,
    complete: bool,
    policies: (usize, usize),
    tool: Option<&'a str>,
}

impl Analysis {
    pub(super) fn compare(
        &mut self,
        policies: (usize, usize),
        limit: usize,
        asked: &mut Asked<'_>,
    ) -> String {
        let tools = asked.named.clone();
        let mut all = Differences {
            regions: Vec::new(),
            unknown: Vec::new(),
            limit,
            complete: true,
            policies,
            tool: None,
        };
        for (done, tool) in asked.tools.clone().iter().enumerate() {
            if all.regions.len() >= limit {
                all.complete = false;
                break;
            }
            let mut found = Differences {
                regions: Vec::new(),
                unknown: Vec::new(),
                limit: limit - all.regions.len(),
                complete: true,
                policies,
                tool: tool.as_deref(),
            };
            let result = match asked.progress(done, tool.as_deref()) {
                Ok(()) => self.differences(&mut found, &tools),
                Err(stop) => Err(stop),
            };
            all.regions.append(&mut found.regions);
            add(&mut all.unknown, found.unknown);
            all.complete &= found.complete;
            if let Err(stop) = result {
                let ends = matches!(stop, Stop::Seconds | Stop::Stopped | Stop::Internal(_));
                add(&mut all.unknown, vec![stop.into()]);
                if ends {
                    break;
                }
            }
        }
        all.regions
            .sort_by_key(|region| (region.change(), region.witness.is_none()));
        let complete = all.complete && all.unknown.is_empty();
        answer(&all.regions, &all.unknown, complete)
    }

    fn differences(&mut self, found: &mut Differences<'_>, tools: &[String]) -> Result<(), Stop> {
        let (old, new) = found.policies;
        if let (Some(one), Some(other)) = (self.policies.get(old), self.policies.get(new))
            && decides_alike(one, other, found.tool)
        {
            return Ok(());
        }
        let mut view = View::new(self.parts(tools), &[old, new], (found.tool, &[]));
        if let ([one, other], [before, after]) = (&view.policies[..], &view.rules.clone()[..])
            && lazy::is_plain(one, before)
            && lazy::is_plain(other, after)
            && before.len().max(after.len()) >= lazy::MANY
        {
            let policies = (*one, *other);
            return found.long(&mut view, policies, (before, after));
        }
        let mut ends = Ends::default();
        let decisions = view.decisions(&mut ends)?;
        let (Some(&left), Some(&right)) = (decisions.first(), decisions.get(1)) else {
            return Ok(());
        };
        let mut pairs = Pairs {
            id: view.space.dd.operation(),
            ends: &ends,
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
            if let Some((one, other)) = ends {
                let change = match one.verdict.cmp(&other.verdict) {
                    std::cmp::Ordering::Less => Change::Loosening,
                    std::cmp::Ordering::Greater => Change::Tightening,
                    std::cmp::Ordering::Equal => Change::Arguments,
                };
                order.push((change, number, one.clone(), other.clone()));
            }
        }
        order.sort_by_key(|(change, number, ..)| (*change, *number));
        for (_, number, one, other) in order {
            if found.regions.len() >= found.limit {
                found.complete = false;
                break;
            }
            found.pair(&mut view, product, (number, &one, &other))?;
        }
        Ok(())
    }
}

impl Differences<'_> {
    /// Returns true if no more regions are wanted.
    pub(super) fn is_full(&mut self) -> bool {
        let full = self.regions.len() >= self.limit;
        self.complete &= !full;
        full
    }

    /// Returns true for a region with a witness.
    pub(super) fn has(&self, old: Side, new: Side) -> bool {
        let mut regions = self.regions.iter();
        regions.any(|region| region.witness.is_some() && (region.old, region.new) == (old, new))
    }

    /// Adds a region; one with a witness replaces one without.
    pub(super) fn add(
        &mut self,
        old: Side,
        new: Side,
        witness: Option<String>,
        reasons: Vec<Reason>,
    ) {
        let known = |region: &Region| (region.old, region.new) == (old, new);
        if witness.is_some() {
            self.regions.retain(|region| !known(region));
        }
        if !self.regions.iter().any(known) {
            self.regions.push(Region {
                tool: self.tool.map(str::to_owned),
                old,
                new,
                witness,
                reasons,
            });
        }
    }

    /// Searches a request for a pair of ends.
    fn pair(
        &mut self,
        view: &mut View<'_>,
        product: Dd,
        (number, one, other): (u32, &End, &End),
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
        if !open && one.verdict == Some(Rank::Transform) && one.verdict == other.verdict {
            caveats.push(Reason::new(
                "transform",
                "two transforms may make the same arguments",
            ));
        }
        let goal = Pair { number, caveats };
        let searched = view.space.search(product, &goal, &mut |request| {
            let (before, after) = (verify::decide(old, request)?, verify::decide(new, request)?);
            let fits = fits(old, one, &before) && fits(new, other, &after);
            Ok((fits && differ(&before, &after)).then(|| (request.to_owned(), before, after)))
        });
        match searched {
            Ok(Found::Nothing) => {}
            Ok(Found::Witness((request, before, after))) => {
                let (old, new) = ((before.verdict, before.rule), (after.verdict, after.rule));
                if open {
                    // One request tells nothing of the others that a rule of this kind decides.
                    add(&mut self.unknown, goal.caveats);
                }
                // A region that one way leaves open is found in another.
                self.regions.retain(|region| {
                    region.witness.is_some() || (region.old, region.new) != (old, new)
                });
                if !self
                    .regions
                    .iter()
                    .any(|region| (region.old, region.new) == (old, new))
                {
                    self.regions.push(Region {
                        tool: self.tool.map(str::to_owned),
                        old,
                        new,
                        witness: Some(request),
                        reasons: Vec::new(),
                    });
                }
            }
            Ok(Found::Unknown(reasons)) => self.uncertain((old, one), (new, other), reasons),
            Err(stop @ (Stop::Seconds | Stop::Stopped | Stop::Internal(_))) => return Err(stop),
            Err(stop) => self.uncertain((old, one), (new, other), vec![stop.into()]),
        }
        Ok(())
    }

    fn uncertain(
        &mut self,
        (old, one): (&Policy, &End),
        (new, other): (&Policy, &End),
        reasons: Vec<Reason>,
    ) {
        let rule =
            |policy: &Policy, end: &End| end.rule.and_then(|content| policy.rule_of(content));
        if let (Some(before), Some(after)) = (one.verdict, other.verdict)
            && !self.regions.iter().any(|region| {
                region.old == (before, rule(old, one)) && region.new == (after, rule(new, other))
            })
        {
            self.regions.push(Region {
                tool: self.tool.map(str::to_owned),
                old: (before, rule(old, one)),
                new: (after, rule(new, other)),
                witness: None,
                reasons,
            });
        } else {
            add(&mut self.unknown, reasons);
        }
    }
}

/// Returns true if a decision is one that an end foretells.
fn fits(policy: &Policy, end: &End, decided: &Decided) -> bool {
    if decided.asks_host {
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

fn differ(before: &Decided, after: &Decided) -> bool {
    before.verdict != after.verdict
        || (before.verdict == Rank::Transform && before.args != after.args)
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

/// The answer with these regions.
pub(super) fn answer(regions: &[Region], unknown: &[Reason], complete: bool) -> String {
    let side = |(verdict, rule): Side| {
        Object::new()
            .text("verdict", verdict.name())
            .optional("rule", rule)
            .finish()
    };
    let items = regions.iter().map(|region| {
        Object::new()
            .raw("tool", &name_of(region.tool.as_deref()))
            .raw("old", &side(region.old))
            .raw("new", &side(region.new))
            .text(
                "change",
                match region.change() {
                    Change::Loosening => "loosening",
                    Change::Tightening => "tightening",
                    Change::Arguments => "arguments",
                },
            )
            .raw("witness", region.witness.as_deref().unwrap_or("null"))
            .reasons("reasons", &region.reasons)
            .finish()
    });
    Object::new()
        .raw("regions", &answer::list(items))
        .reasons("unknown", unknown)
        .flag("complete", complete)
        .flag("same", complete && regions.is_empty())
        .finish()
}
