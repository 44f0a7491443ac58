//! The vocabulary of policies: profiles, verdicts, paths.

pub mod path;

/// The semantics of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The default: absence and errors never permit.
    Strict,
    /// Decision by decision what lynx-agent 2.5 does.
    Lynx,
}

/// The verdict of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The call may run.
    Allow,
    /// The call may not run.
    Deny,
    /// Only the shadow may run.
    DryRun,
    /// A human must approve the call.
    ApproveRequired,
    /// The call may run with other arguments.
    Transform,
}

impl Verdict {
    /// The verdict a policy calls `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "allow" => Self::Allow,
            "deny" => Self::Deny,
            "dry_run" => Self::DryRun,
            "approve_required" => Self::ApproveRequired,
            "transform" => Self::Transform,
            _ => return None,
        })
    }

    /// The name of the verdict in a policy and in a decision.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::DryRun => "dry_run",
            Self::ApproveRequired => "approve_required",
            Self::Transform => "transform",
        }
    }

    /// The place among all verdicts, from the loosest, 0, to the strictest.
    #[must_use]
    pub fn strictness(self) -> u8 {
        match self {
            Self::Allow => 0,
            Self::Transform => 1,
            Self::DryRun => 2,
            Self::ApproveRequired => 3,
            Self::Deny => 4,
        }
    }

    /// Returns true if a rule with this verdict permits a call: then absence does not fire it, and an error skips it.
    #[must_use]
    pub fn permits(self) -> bool {
        match self {
            Self::Allow | Self::Transform => true,
            Self::Deny | Self::DryRun | Self::ApproveRequired => false,
        }
    }
}

/// The outcomes when no rule decides, and when a rule cannot be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// The verdict when no rule fires.
    pub on_no_match: Verdict,
    /// The verdict when no rule fires on an irreversible action without a shadow.
    pub on_missing_shadow: Verdict,
    /// True if a restricting rule in error is skipped instead of denying.
    pub continue_on_error: bool,
}
