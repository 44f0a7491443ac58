//! Paths: where in a request a clause reads, resolved when a program is loaded.

/// The first segment of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Head {
    /// The name of the tool.
    Tool,
    /// The arguments.
    Args,
    /// Properties that the tool declares about itself.
    Declared,
    /// The place and time of the call.
    Context,
}

impl Head {
    /// The head as a policy writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Args => "args",
            Self::Declared => "declared",
            Self::Context => "context",
        }
    }
}

/// The fixed places a request answers for directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Field {
    /// `tool`
    Tool,
    /// `args`
    Args,
    /// `declared.cost`
    Cost,
    /// `declared.reversible`
    Reversible,
    /// `declared.scope`
    Scope,
    /// `declared.blast_radius_hint`
    BlastRadiusHint,
    /// `declared.has_shadow`
    HasShadow,
    /// `declared.isolation`
    Isolation,
    /// `declared.effect`
    Effect,
    /// `context.environment`
    Environment,
    /// `context.workspace`
    Workspace,
    /// `context.correlation_id`
    CorrelationId,
    /// `context.step_seq`
    StepSeq,
    /// `context.timestamp`
    Timestamp,
    /// `context.principal.kind`
    PrincipalKind,
    /// `context.principal.id`
    PrincipalId,
    /// `context.principal.name`
    PrincipalName,
    /// `context.extra`
    Extra,
}

impl Field {
    /// Every field, in the order of its discriminant.
    pub const ALL: [Self; 18] = [
        Self::Tool,
        Self::Args,
        Self::Cost,
        Self::Reversible,
        Self::Scope,
        Self::BlastRadiusHint,
        Self::HasShadow,
        Self::Isolation,
        Self::Effect,
        Self::Environment,
        Self::Workspace,
        Self::CorrelationId,
        Self::StepSeq,
        Self::Timestamp,
        Self::PrincipalKind,
        Self::PrincipalId,
        Self::PrincipalName,
        Self::Extra,
    ];

    /// The field that `head` and `path` begin with, and how many keys of `path` it takes.
    #[must_use]
    pub fn resolve(head: Head, path: &[Box<str>]) -> Option<(Self, usize)> {
        let mut texts = path.iter().map(AsRef::as_ref);
        match head {
            Head::Tool => Some((Self::Tool, 0)),
            Head::Args => Some((Self::Args, 0)),
            Head::Declared => {
                let field = match texts.next()? {
                    "cost" => Self::Cost,
                    "reversible" => Self::Reversible,
                    "scope" => Self::Scope,
                    "blast_radius_hint" => Self::BlastRadiusHint,
                    "has_shadow" => Self::HasShadow,
                    "isolation" => Self::Isolation,
                    "effect" => Self::Effect,
                    _ => return None,
                };
                Some((field, 1))
            }
            Head::Context => {
                let field = match texts.next()? {
                    "environment" => Self::Environment,
                    "workspace" => Self::Workspace,
                    "correlation_id" => Self::CorrelationId,
                    "step_seq" => Self::StepSeq,
                    "timestamp" => Self::Timestamp,
                    "extra" => Self::Extra,
                    "principal" => {
                        let part = match texts.next()? {
                            "kind" => Self::PrincipalKind,
                            "id" => Self::PrincipalId,
                            "name" => Self::PrincipalName,
                            _ => return None,
                        };
                        return Some((part, 2));
                    }
                    _ => return None,
                };
                Some((field, 1))
            }
        }
    }
}

impl Field {
    /// Returns the path of the field as a policy writes it.
    #[must_use]
    pub fn path(self) -> (Head, &'static [&'static str]) {
        match self {
            Self::Tool => (Head::Tool, &[]),
            Self::Args => (Head::Args, &[]),
            Self::Cost => (Head::Declared, &["cost"]),
            Self::Reversible => (Head::Declared, &["reversible"]),
            Self::Scope => (Head::Declared, &["scope"]),
            Self::BlastRadiusHint => (Head::Declared, &["blast_radius_hint"]),
            Self::HasShadow => (Head::Declared, &["has_shadow"]),
            Self::Isolation => (Head::Declared, &["isolation"]),
            Self::Effect => (Head::Declared, &["effect"]),
            Self::Environment => (Head::Context, &["environment"]),
            Self::Workspace => (Head::Context, &["workspace"]),
            Self::CorrelationId => (Head::Context, &["correlation_id"]),
            Self::StepSeq => (Head::Context, &["step_seq"]),
            Self::Timestamp => (Head::Context, &["timestamp"]),
            Self::PrincipalKind => (Head::Context, &["principal", "kind"]),
            Self::PrincipalId => (Head::Context, &["principal", "id"]),
            Self::PrincipalName => (Head::Context, &["principal", "name"]),
            Self::Extra => (Head::Context, &["extra"]),
        }
    }
}

/// The keys of one path, with their ids in the program's key table.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'k> {
    ids: &'k [u32],
    table: &'k [Box<str>],
}

impl<'k> Keys<'k> {
    /// The keys `ids` of `table`.
    #[must_use]
    pub fn new(ids: &'k [u32], table: &'k [Box<str>]) -> Self {
        Self { ids, table }
    }

    /// The keys in order.
    pub fn iter(self) -> impl Iterator<Item = Key<'k>> + use<'k> {
        let table = self.table;
        self.ids
            .iter()
            .filter_map(move |&id| table.get(id as usize).map(|text| Key { id, text }))
    }
}

/// A key of a path, prepared when a program is loaded.
///
/// `id` indexes the program's key table ([`crate::program::Program::keys`]), so that an implementation can keep its own
/// prepared form of every key (an interned Python string) beside it.
#[derive(Clone, Copy, Debug)]
pub struct Key<'k> {
    /// Index into the program's key table.
    pub id: u32,
    /// The text of the key.
    pub text: &'k str,
}

impl<'k> Key<'k> {
    /// A key that is in no table: it is looked up by its text. Keys inside operands are such.
    #[must_use]
    pub fn unprepared(text: &'k str) -> Self {
        Self { id: u32::MAX, text }
    }
}

/// A path, resolved.
#[derive(Debug)]
pub struct Path {
    /// The head.
    pub head: Head,
    /// The field the path begins with; `None` for paths only the `lynx` profile has.
    pub field: Option<Field>,
    /// The number of keys that the field takes.
    pub taken: usize,
    /// All keys, as indexes into the key table.
    pub keys: Box<[u32]>,
    /// The one key of the arguments it leads to, when that is all it does. PERF: most paths are such.
    pub(crate) arg: Option<u32>,
}
