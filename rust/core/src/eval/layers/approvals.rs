//! Approvals that several layers require.

use crate::program::{Approvals, Conflict, DecidedBy, FunctionDecision, Opinion, Program};
use crate::value::constant::Const;

/// The approvals that hold for all these layers.
///
/// # Errors
/// Two layers whose approvers exclude each other.
#[cold]
pub(super) fn joint_approvals<D>(
    program: &Program,
    deciding: &Opinion<D>,
    also: &[Opinion<D>],
) -> Result<Approvals, Conflict> {
    let mut joint = approvals_of(program, &deciding.decided);
    for other in also {
        let both = joint.and(&approvals_of(program, &other.decided));
        joint = both.ok_or(Conflict::Approvals(deciding.layer, other.layer))?;
    }
    Ok(joint)
}

/// The approvals that a rule or a default requires.
fn approvals_of<D>(program: &Program, decided: &DecidedBy<D>) -> Approvals {
    let mut found = Approvals {
        approvers: Vec::new(),
        needed: 1,
    };
    match decided {
        DecidedBy::Rule(rule) => {
            if let Some(info) = program.rule(*rule) {
                found.needed = info.approvals_needed;
                found.approvers = info
                    .approvers
                    .iter()
                    .filter_map(|name| match name {
                        Const::Str(name) => Some(name.to_string()),
                        _ => None,
                    })
                    .collect();
            }
        }
        DecidedBy::Function(_, decision) => {
            let template = match decision {
                FunctionDecision::Always(number) => program.template(*number),
                FunctionDecision::Made(template) => Some(&**template),
            };
            if let Some(template) = template {
                found.needed = u32::try_from(template.approvals_needed).unwrap_or(u32::MAX);
                found.approvers = template.approvers.iter().map(ToString::to_string).collect();
            }
        }
        DecidedBy::Host(..)
        | DecidedBy::ErrorDeny(..)
        | DecidedBy::NoMatch
        | DecidedBy::MissingShadow
        | DecidedBy::Aborted => {}
    }
    let mut seen = Vec::new();
    found.approvers.retain(|name| {
        let new = !seen.contains(name);
        if new {
            seen.push(name.clone());
        }
        new
    });
    found
}
