//! Decisions of functions, as constants of a program.

use crate::lang::Verdict;
use crate::value::constant::Const;

/// The approval timeout when a constructor does not give one.
pub(crate) const APPROVAL_SECONDS: i64 = 1800;

/// What a call that a rule decides is bound to: the host performs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Obligation {
    /// The name, by which the host finds what performs it.
    pub name: Box<str>,
    /// True if it is performed before the effect, which depends on it.
    pub before: bool,
    /// Its parameters.
    pub value: Const,
}

/// A decision of a function. The name of its rule is added to `matched_rules` when the decision is completed.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionTemplate {
    /// The verdict.
    pub verdict: Verdict,
    /// The reason.
    pub reason: Box<str>,
    /// Rules the function names.
    pub matched_rules: Vec<Box<str>>,
    /// The approvers.
    pub approvers: Vec<Box<str>>,
    /// Null or a number.
    pub timeout_seconds: Const,
    /// The number of approvers who must approve.
    pub approvals_needed: i64,
    /// The obligations that it binds the call to.
    pub obligations: Vec<Obligation>,
}

impl DecisionTemplate {
    /// Returns the decision of a constructor without arguments.
    pub(crate) fn new(verdict: Verdict) -> Self {
        Self {
            verdict,
            reason: "".into(),
            matched_rules: Vec::new(),
            approvers: Vec::new(),
            timeout_seconds: match verdict {
                Verdict::ApproveRequired => Const::Int(APPROVAL_SECONDS),
                Verdict::Allow | Verdict::Deny | Verdict::DryRun | Verdict::Transform => {
                    Const::Null
                }
            },
            approvals_needed: 1,
            obligations: Vec::new(),
        }
    }
}

/// A decision of a function.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionDecision {
    /// A static decision, by its number: [`crate::program::Program::template`].
    Always(u32),
    /// One made for this request.
    Made(Box<DecisionTemplate>),
}
