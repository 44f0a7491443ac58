//! Differences of two policies, by region: a tool, and the two verdicts with the rules that decide.

use std::collections::{BTreeSet, HashMap};

use super::answer::{self, Object, name_of};
use super::budget::Reason;
use super::find::add;
use super::policy::Rank;
use super::question::Terms;
use super::verify::Decided;

/// A verdict, and the deciding rule.
pub(super) type Side = (Rank, Option<u32>);

/// Requests of one tool that two policies decide differently.
#[derive(Debug)]
pub(super) struct Region {
    change: Change,
    tool: Option<String>,
    old: Side,
    new: Side,
    witness: Option<String>,
    reasons: Vec<Reason>,
}

/// The difference between two decisions, loosening first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Change {
    Loosening,
    Tightening,
    Arguments,
    /// The same verdict on other terms.
    Terms,
}

impl Change {
    /// Every change, in order.
    pub(super) const ALL: [Self; 4] = [
        Self::Loosening,
        Self::Tightening,
        Self::Arguments,
        Self::Terms,
    ];

    /// The change of a verdict.
    pub(super) fn of(old: Rank, new: Rank) -> Option<Self> {
        match old.cmp(&new) {
            std::cmp::Ordering::Less => Some(Self::Loosening),
            std::cmp::Ordering::Greater => Some(Self::Tightening),
            std::cmp::Ordering::Equal => None,
        }
    }
}

/// A verdict, and two numbers of terms.
pub(super) type Termed = (Rank, Option<u32>, Option<u32>);

/// What is found.
#[derive(Debug)]
pub(super) struct Differences<'t> {
    regions: Vec<Region>,
    /// The regions of the tool under way.
    known: HashMap<(Change, Side, Side), usize>,
    pub(super) unknown: Vec<Reason>,
    limit: usize,
    /// The regions that differ in terms only, and the others.
    counts: (usize, usize),
    complete: bool,
    pub(super) policies: (usize, usize),
    pub(super) tool: Option<String>,
    pub(super) terms: Option<&'t Terms>,
    /// The terms of the calls that were found of the tool under way.
    termed: BTreeSet<Termed>,
}

impl<'t> Differences<'t> {
    /// Nothing yet.
    pub(super) fn new(policies: (usize, usize), limit: usize, terms: Option<&'t Terms>) -> Self {
        Self {
            regions: Vec::new(),
            known: HashMap::new(),
            unknown: Vec::new(),
            limit,
            counts: (0, 0),
            complete: true,
            policies,
            tool: None,
            terms,
            termed: BTreeSet::new(),
        }
    }

    /// Begins with the next tool.
    pub(super) fn begin(&mut self, tool: Option<String>) {
        self.known.clear();
        self.termed.clear();
        self.tool = tool;
    }

    /// Returns true if a region of the tool is known, with a witness or without.
    pub(super) fn knows(&self, change: Change, (old, new): (Side, Side)) -> bool {
        self.known.contains_key(&(change, old, new))
    }

    /// The answer, all that was found.
    pub(super) fn answer(mut self) -> String {
        self.regions
            .sort_by_key(|region| (region.change, region.witness.is_none()));
        let complete = self.complete && self.unknown.is_empty();
        answer(&self.regions, &self.unknown, complete)
    }

    /// Returns true if no more regions of a change are wanted.
    pub(super) fn is_full(&mut self, change: Change) -> bool {
        let full = match change {
            Change::Terms => self.counts.0 >= self.limit,
            _ => self.counts.1 >= self.limit,
        };
        self.complete &= !full;
        full
    }

    /// Returns true for a region of the tool that has a witness.
    pub(super) fn has(&self, change: Change, (old, new): (Side, Side)) -> bool {
        let known = self.known.get(&(change, old, new));
        let region = known.and_then(|at| self.regions.get(*at));
        region.is_some_and(|region| region.witness.is_some())
    }

    /// Returns true if a call on these terms was found.
    pub(super) fn has_terms(&self, termed: &Termed) -> bool {
        self.termed.contains(termed)
    }

    /// Adds a call.
    pub(super) fn found(&mut self, change: Change, witness: String, decided: &[Decided]) {
        let [old, new] = decided else {
            return;
        };
        if change == Change::Terms
            && let Some(terms) = self.terms
        {
            let (one, other) = terms_of(terms, decided);
            if !self.termed.insert((old.verdict, one, other)) {
                return;
            }
        }
        let sides = ((old.verdict, old.rule), (new.verdict, new.rule));
        self.add(change, sides, (Some(witness), Vec::new()));
    }

    /// Adds a region; one with a witness replaces one without.
    pub(super) fn add(
        &mut self,
        change: Change,
        (old, new): (Side, Side),
        (witness, reasons): (Option<String>, Vec<Reason>),
    ) {
        if change == Change::Terms && witness.is_none() {
            return add(&mut self.unknown, reasons);
        }
        let key = (change, old, new);
        let known = self.known.get(&key).copied();
        if let Some(region) = known.and_then(|at| self.regions.get_mut(at)) {
            if witness.is_some() && region.witness.is_none() {
                region.witness = witness;
                region.reasons = reasons;
            }
            return;
        }
        self.known.insert(key, self.regions.len());
        match change {
            Change::Terms => self.counts.0 += 1,
            _ => self.counts.1 += 1,
        }
        self.regions.push(Region {
            change,
            tool: self.tool.clone(),
            old,
            new,
            witness,
            reasons,
        });
    }
}

/// Returns true for terms that are not known to be the same.
pub(super) fn differ_in((old, new): (Option<u32>, Option<u32>)) -> bool {
    old.is_none() || old != new
}

/// The terms of two decisions.
pub(super) fn terms_of(terms: &Terms, decided: &[Decided]) -> (Option<u32>, Option<u32>) {
    let of = |side: usize| {
        let decided = decided.get(side)?;
        terms.of(side, decided.rule.filter(|_| !decided.failed))
    };
    (of(0), of(1))
}

/// The reason for which two transforms may be no difference.
pub(super) fn equal_arguments() -> Reason {
    Reason::new("transform", "two transforms may make the same arguments")
}

/// Returns true for decisions that differ in more than terms.
pub(super) fn differ(before: &Decided, after: &Decided) -> bool {
    before.verdict != after.verdict || before.args != after.args
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
                match region.change {
                    Change::Loosening => "loosening",
                    Change::Tightening => "tightening",
                    Change::Arguments => "arguments",
                    Change::Terms => "terms",
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
