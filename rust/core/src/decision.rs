//! A decision in words: the verdict, the reason, the rules by name, the obligations and the approvals.
//!
//! [`Program::decide`] returns indexes; [`decide`] looks up what a caller shows. It has no host rules.

use std::collections::BTreeSet;
use std::fmt;

use crate::error::ErrorCode;
use crate::lang::Verdict;
use crate::program::{
    DecidedBy, DecisionTemplate, FunctionDecision, LayeredOutcome, Layers, MISSING_SHADOW, Marker,
    NO_MATCH, Obligation, Origin, Program, RuleInfo, Scratch, TransformStep, layer_default,
    rule_error,
};
use crate::value::constant::Const;
use crate::value::request::Request;

/// A decision on a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The verdict.
    pub verdict: Verdict,
    /// The reason as the policy has it; it may be blank.
    pub reason: String,
    /// The names of the rules that took part, the deciding one last.
    pub rules: Vec<String>,
    /// The obligations of a permitted call; none under `deny`.
    pub obligations: Vec<Obligation>,
    /// The approvers that the deciding rule names; none: anyone may approve.
    pub approvers: BTreeSet<String>,
    /// The number of approvals that a call needs under `approve_required`.
    pub approvals_needed: i64,
}

/// A decision that cannot be put in words: host rules, or a program that contradicts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// The policy has rules that only its host can evaluate.
    HostRule,
    /// An outcome names a rule that the program does not have.
    NoSuchRule,
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HostRule => "the decision point failed (internal_error)",
            Self::NoSuchRule => "the policy has no such rule (internal_error)",
        })
    }
}

impl std::error::Error for Undecided {}

type Approvals = (BTreeSet<String>, i64);

/// Decides on `request`. The second value is the request with the arguments of transforms, if there were any and the call is
/// not denied. Under `allow` these make the verdict `transform`.
///
/// # Errors
/// The policy has host rules.
pub fn decide<R: Request>(
    program: &Program,
    request: &R,
    scratch: &mut Scratch,
) -> Result<(Decision, Option<Box<R>>), Undecided> {
    let (rules, verdict, reason, (approvers, approvals_needed), obligations, transformed);
    if let Some(layers) = program.layers() {
        let outcome = program.decide_layered(layers, request, scratch);
        (rules, verdict, reason, (approvers, approvals_needed)) =
            layered(program, layers, &outcome)?;
        obligations = obligations_of(program, verdict, outcome.rules())?;
        transformed = outcome.transformed;
    } else {
        let outcome = program.decide(request, scratch);
        let mut names = earlier_rules(program, (&outcome.markers, &outcome.transforms))?;
        (verdict, reason, (approvers, approvals_needed)) =
            explain(program, &outcome.decided, &mut names)?;
        rules = names;
        let transforms = outcome.transforms.iter();
        let transforms = transforms.map(|step| (step.rule, step.origin.function()));
        let all = transforms.chain(outcome.decided.rule_and_function());
        obligations = obligations_of(program, verdict, all)?;
        transformed = outcome.transformed;
    }
    let transformed = transformed.filter(|_| verdict != Verdict::Deny);
    let verdict = match verdict {
        Verdict::Allow if transformed.is_some() => Verdict::Transform,
        other => other,
    };
    let decision = Decision {
        verdict,
        reason,
        rules,
        obligations,
        approvers,
        approvals_needed,
    };
    Ok((decision, transformed))
}

/// The obligations of the rules that decided on a call, and of the decisions of functions; none if it is denied.
fn obligations_of<'p>(
    program: &'p Program,
    verdict: Verdict,
    rules: impl Iterator<Item = (u32, Option<&'p FunctionDecision>)>,
) -> Result<Vec<Obligation>, Undecided> {
    let mut all = Vec::new();
    if verdict == Verdict::Deny {
        return Ok(all);
    }
    for (rule, function) in rules {
        all.extend_from_slice(match function {
            Some(decision) => &template(program, decision)?.obligations,
            None => &info(program, rule)?.obligations,
        });
    }
    Ok(all)
}

/// The names of the rules before the deciding one: those that could not be evaluated, then the transforms.
fn earlier_rules<D>(
    program: &Program,
    (markers, transforms): (&[Marker], &[TransformStep<D>]),
) -> Result<Vec<String>, Undecided> {
    let mut rules = Vec::new();
    for Marker { rule, code } in markers {
        rules.push(marker(id(info(program, *rule)?), code));
    }
    for TransformStep { rule, origin } in transforms {
        match origin {
            Origin::Match => rules.push(id(info(program, *rule)?).to_owned()),
            Origin::Function(decision) => {
                let template = template(program, decision)?;
                rules.extend(function_rules(template, id(info(program, *rule)?)));
            }
            Origin::Host(_) => return Err(Undecided::HostRule),
        }
    }
    Ok(rules)
}

/// The names of the rules, the verdict and the reason of a policy with layers.
fn layered<R: Request>(
    program: &Program,
    layers: &Layers,
    outcome: &LayeredOutcome<R>,
) -> Result<(Vec<String>, Verdict, String, Approvals), Undecided> {
    if let Some(conflict) = outcome.conflict {
        let (reason, marker) = conflict.texts(layers);
        return Ok((vec![marker], Verdict::Deny, reason, no_approvals()));
    }
    let mut rules = earlier_rules(program, (&outcome.markers, &outcome.transforms))?;
    let mut all: Vec<_> = outcome.also.iter().chain([&outcome.deciding]).collect();
    all.sort_by_key(|opinion| opinion.layer);
    let (mut reasons, mut approvals) = (Vec::<String>::new(), no_approvals());
    for opinion in all {
        let missing_shadow = matches!(opinion.decided, DecidedBy::MissingShadow);
        let reason = if missing_shadow || matches!(opinion.decided, DecidedBy::NoMatch) {
            let (reason, marker) = layer_default(layers.name(opinion.layer), missing_shadow);
            rules.push(marker);
            reason
        } else {
            let (_, reason, own) = explain(program, &opinion.decided, &mut rules)?;
            approvals = own;
            reason
        };
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons.retain(|reason| !reason.is_empty() || outcome.also.is_empty());
    if let Some(joint) = &outcome.approvals {
        approvals = (
            joint.approvers.iter().cloned().collect(),
            joint.needed.into(),
        );
    }
    Ok((
        rules,
        outcome.deciding.verdict,
        reasons.join("; "),
        approvals,
    ))
}

/// The verdict and the reason of what decided; appends its name to `rules`.
fn explain<D>(
    program: &Program,
    decided: &DecidedBy<D>,
    rules: &mut Vec<String>,
) -> Result<(Verdict, String, Approvals), Undecided> {
    let defaults = program.defaults();
    Ok(match decided {
        DecidedBy::Rule(rule) => {
            let info = info(program, *rule)?;
            let Const::Str(text) = &info.reason else {
                return Err(Undecided::NoSuchRule);
            };
            rules.push(id(info).to_owned());
            let approvers = info.approvers.iter().filter_map(|approver| match approver {
                Const::Str(name) => Some(name.to_string()),
                _ => None,
            });
            let approvals = (approvers.collect(), info.approvals_needed.into());
            (info.verdict, text.to_string(), approvals)
        }
        DecidedBy::Function(rule, decision) => {
            let template = template(program, decision)?;
            rules.extend(function_rules(template, id(info(program, *rule)?)));
            let approvers = template.approvers.iter().map(|name| name.to_string());
            let approvals = (approvers.collect(), template.approvals_needed);
            (template.verdict, template.reason.to_string(), approvals)
        }
        DecidedBy::ErrorDeny(rule, code) => {
            let id = id(info(program, *rule)?);
            rules.push(marker(id, code));
            (Verdict::Deny, rule_error(id, code), no_approvals())
        }
        DecidedBy::NoMatch => {
            rules.push("<default:on_no_match>".to_owned());
            (defaults.on_no_match, NO_MATCH.to_owned(), no_approvals())
        }
        DecidedBy::MissingShadow => {
            rules.push("<default:on_missing_shadow>".to_owned());
            (
                defaults.on_missing_shadow,
                MISSING_SHADOW.to_owned(),
                no_approvals(),
            )
        }
        DecidedBy::Host(..) | DecidedBy::Aborted => return Err(Undecided::HostRule),
    })
}

/// Those of a decision that no rule makes.
fn no_approvals() -> Approvals {
    (BTreeSet::new(), 1)
}

fn info(program: &Program, rule: u32) -> Result<&RuleInfo, Undecided> {
    program.rule(rule).ok_or(Undecided::NoSuchRule)
}

fn template<'p>(
    program: &'p Program,
    decision: &'p FunctionDecision,
) -> Result<&'p DecisionTemplate, Undecided> {
    match decision {
        FunctionDecision::Always(number) => program.template(*number).ok_or(Undecided::NoSuchRule),
        FunctionDecision::Made(template) => Ok(template),
    }
}

/// The names that a function gives, and the name of its rule last, unless it is among them.
fn function_rules<'t>(
    template: &'t DecisionTemplate,
    id: &'t str,
) -> impl Iterator<Item = String> + 't {
    let named = template.matched_rules.iter().any(|name| **name == *id);
    let names = template.matched_rules.iter().map(AsRef::as_ref);
    names.chain((!named).then_some(id)).map(ToOwned::to_owned)
}

/// The name of a rule that could not be evaluated.
fn marker(id: &str, code: &ErrorCode) -> String {
    format!("<rule_error:{id}:{code}>")
}

fn id(info: &RuleInfo) -> &str {
    match &info.id {
        Const::Str(id) => id,
        _ => "",
    }
}
