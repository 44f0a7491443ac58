//! Exact questions about policies: what holds of every request, not of one.
//!
//! Behind the feature `analysis`, which processes that only decide do without. The requests of one tool are assignments of
//! boolean variables ([`space`]); clauses, rules and policies are functions of these ([`leaf`], [`decide`]), as decision
//! diagrams ([`dd`]). A search takes a path of a diagram, asks the theory of each path for values ([`model`]), and the
//! evaluator for its decision ([`verify`]): an answer is a confirmed request, a proof, or unknown with its reasons.

mod addresses;
mod answer;
mod ascending;
mod budget;
mod cells;
mod compare;
mod compose;
mod composed;
mod connect;
mod culprits;
mod dd;
mod decide;
mod differences;
mod elements;
mod facet_leaf;
mod find;
mod function;
mod layers;
mod lazy;
mod leaf;
mod line;
mod list_leaf;
mod list_model;
mod long_compare;
mod long_find;
mod map_leaf;
mod map_model;
mod model;
mod notes;
mod order;
mod pair;
mod policy;
mod pool;
mod question;
mod rules;
mod sample;
mod script;
mod search;
mod shape;
mod slot;
mod space;
mod surface;
mod text_leaf;
mod text_value;
pub mod theory;
mod transform;
mod verify;
mod view;
mod way;
mod witness;

use std::collections::BTreeSet;

pub use budget::{ASSIGNMENTS, Budget, Clock, NODES, STATES};
pub use question::QuestionError;

use crate::error::DecodeError;
use crate::program::Program;
use crate::regex::CacheBudget;
use crate::source::Source;

use answer::Object;
use budget::{Reason, Stop};
use policy::{Contents, Policy};
use question::Ask;
use space::Theory;
use theory::Texts;

/// What the host does for a question.
pub trait Host {
    /// Returns the clock that is over after so many seconds, or when the caller wants no more.
    fn clock(&mut self, seconds: Option<f64>) -> Option<Clock>;
    /// Takes note of the tools that are done, and the next one; returns false to stop.
    fn progress(&mut self, done: usize, total: usize, tool: Option<&str>) -> bool;
}

/// Policies that are asked about.
#[derive(Debug)]
pub struct Analysis {
    policies: Vec<Policy>,
    theory: Theory,
    budget: Budget,
    /// The fewest rules of a tool that are searched one by one, and not by one diagram.
    many: usize,
}

/// A question under way.
pub(crate) struct Asked<'h> {
    host: &'h mut dyn Host,
    /// The tools that some policy names, or the question.
    named: Vec<String>,
    /// The tools to look at.
    tools: Vec<Option<String>>,
}

impl Asked<'_> {
    fn progress(&mut self, done: usize, tool: Option<&str>) -> Result<(), Stop> {
        match self.host.progress(done, self.tools.len(), tool) {
            true => Ok(()),
            false => Err(Stop::Stopped),
        }
    }
}

impl Analysis {
    /// The policies with these canonical IR bytes.
    ///
    /// # Errors
    /// Those of [`Program::from_layered_source`], with the index of the policy.
    pub fn new(
        policies: impl IntoIterator<Item = Vec<u8>>,
        budget: Budget,
    ) -> Result<Self, (usize, DecodeError)> {
        let mut contents = Contents::new();
        let mut read = Vec::new();
        for (at, bytes) in policies.into_iter().enumerate() {
            let program = Program::from_layered_source(Source::new(bytes), &CacheBudget::default())
                .map_err(|error| (at, error))?;
            read.push(Policy::new(program, &mut contents));
        }
        Ok(Self {
            policies: read,
            theory: Theory::new(Texts::new(budget.theory())),
            budget,
            many: lazy::MANY,
        })
    }

    /// Answers a question: JSON in, JSON out.
    ///
    /// # Errors
    /// The question is invalid.
    pub fn ask(&mut self, question: &[u8], host: &mut dyn Host) -> Result<String, QuestionError> {
        let question = question::parse(question, self.policies.len())?;
        self.many = question.many.unwrap_or(lazy::MANY);
        self.budget.is_over = host.clock(question.seconds);
        // A lost theory gives no answer: the first search says so.
        let _ = self.theory.set_budget(&self.budget);
        let mut named: BTreeSet<String> = BTreeSet::new();
        for policy in &self.policies {
            named.extend(policy.tools.iter().cloned());
        }
        let tools: Vec<Option<String>> = match question.tools {
            Some(tools) => tools,
            None => named.iter().cloned().map(Some).chain([None]).collect(),
        };
        named.extend(tools.iter().flatten().cloned());
        let mut asked = Asked {
            host,
            named: named.into_iter().collect(),
            tools,
        };
        let lynx = self.policies.iter().position(Policy::is_lynx);
        let reasons = lynx.map(|policy| {
            let mut reason = Reason::new("lynx_profile", "only the `strict` profile is analysed");
            reason.policy = Some(policy);
            vec![reason]
        });
        Ok(match (question.ask, reasons) {
            (Ask::Find(_), Some(reasons)) => Object::new()
                .text("answer", "unknown")
                .reasons("reasons", &reasons)
                .finish(),
            (Ask::Compare { .. }, Some(reasons)) => differences::answer(&[], &reasons, false),
            (Ask::Rules { policy }, Some(reasons)) => self.unknown_rules(policy, &reasons),
            (Ask::Tools, Some(reasons)) => Object::new()
                .raw("tools", "[]")
                .reasons("unknown", &reasons)
                .finish(),
            (Ask::Find(constraints), None) => self.find(&constraints, &mut asked),
            (
                Ask::Compare {
                    old,
                    new,
                    limit,
                    terms,
                },
                None,
            ) => {
                let limit = limit.unwrap_or(usize::MAX);
                self.compare((old, new), (limit, terms.as_ref()), &mut asked)
            }
            (Ask::Rules { policy }, None) => self.rules(policy, &mut asked),
            (Ask::Tools, None) => self.surface(&mut asked),
        })
    }
}
