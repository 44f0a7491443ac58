//! Effects of commands: a set of five, never empty.

use super::script::{Command, RedirectionKind, Word};
use super::{launch, pack};

/// What a command does: at least `read`, the least of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effects(u8);

/// The effects by name, from the least to the worst.
const NAMES: [&str; 5] = ["read", "write", "network", "run", "unknown"];

impl Effects {
    /// It reads, or less.
    pub const READ: Self = Self(1);
    /// It changes files, processes or settings, here or elsewhere.
    pub const WRITE: Self = Self(2);
    /// It reaches the network.
    pub const NETWORK: Self = Self(4);
    /// It runs code that is not in the command line.
    pub const RUN: Self = Self(8);
    /// No pack knows the command or one of its options.
    pub const UNKNOWN: Self = Self(16);

    /// Both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The effect is one of these.
    #[must_use]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The name of every effect.
    pub fn every_name() -> impl Iterator<Item = &'static str> {
        NAMES.into_iter()
    }

    /// The names, from the least effect to the worst. `read` is left out beside others.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let bits = if self.0 == 0 {
            1
        } else if self.0 > 1 {
            self.0 & !1
        } else {
            self.0
        };
        NAMES
            .iter()
            .enumerate()
            .filter(move |(bit, _)| bits & (1 << bit) != 0)
            .map(|(_, name)| *name)
    }

    /// The effects of a list of names with commas; an unknown name is `unknown`.
    pub(super) fn from_names(names: &str) -> Self {
        let one = |name| {
            NAMES
                .iter()
                .position(|known| *known == name)
                .map_or(Self::UNKNOWN, |bit| Self(1 << bit))
        };
        names
            .split(',')
            .fold(Self(0), |all, name| all.and(one(name)))
    }
}

/// The effects of a command.
pub(super) fn of(command: &Command<'_>) -> Effects {
    let redirected = command.redirections().fold(Effects::READ, |all, found| {
        all.and(redirection(found.kind, found.target))
    });
    let name = command.program();
    if name.is_empty() {
        return redirected;
    }
    let known = if name.contains('/') {
        Effects::RUN.and(Effects::UNKNOWN)
    } else {
        match launch::launcher(name) {
            Some(launcher) if launcher.has_effects => launcher.effects,
            Some(launcher) => {
                let known = pack::effects(command).unwrap_or(launcher.effects);
                if launcher.kind == launch::Kind::Awk {
                    known.and(launch::effects_of_awk(command))
                } else {
                    known
                }
            }
            None => pack::effects(command).unwrap_or(Effects::UNKNOWN),
        }
    };
    let assigned = if command.script.assigns {
        Effects::UNKNOWN
    } else {
        Effects::READ
    };
    known.and(redirected).and(assigned)
}

fn redirection(kind: RedirectionKind, word: Word<'_>) -> Effects {
    use RedirectionKind as Kind;
    if matches!(
        kind,
        Kind::Duplicate | Kind::HereDocument | Kind::HereString
    ) {
        return Effects::READ;
    }
    let target = word.text();
    if word.is_variable() {
        // bash connects to `/dev/tcp/HOST/PORT`.
        return Effects::NETWORK.and(Effects::WRITE).and(Effects::UNKNOWN);
    }
    if target.starts_with("/dev/tcp/") || target.starts_with("/dev/udp/") {
        return Effects::NETWORK.and(Effects::WRITE);
    }
    let nothing = matches!(
        target,
        "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty"
    );
    if kind == Kind::Read || nothing {
        Effects::READ
    } else {
        Effects::WRITE
    }
}
