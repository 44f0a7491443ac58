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
    /// What the run has done, by the name of a definition.
    Run,
    /// The result of an earlier call; in definitions only.
    Result,
    /// A record of a result; in definitions only.
    Record,
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
            Self::Run => "run",
            Self::Result => "result",
            Self::Record => "record",
        }
    }
}

/// The fields, each with the head and the keys of its path.
macro_rules! fields {
    ($($field:ident = $head:ident [$($key:literal),*],)*) => {
        /// The fixed places a request answers for directly.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Field {
            $(#[doc = concat!("`", stringify!($head), $(".", $key,)* "`")] $field,)*
        }

        impl Field {
            /// Every field, in the order of its discriminant.
            pub const ALL: [Self; [$(Self::$field),*].len()] = [$(Self::$field),*];

            /// Returns the path of the field as a policy writes it.
            #[must_use]
            pub const fn path(self) -> (Head, &'static [&'static str]) {
                match self {
                    $(Self::$field => (Head::$head, &[$($key),*]),)*
                }
            }
        }
    };
}

fields! {
    Tool = Tool [],
    Args = Args [],
    Cost = Declared ["cost"],
    Reversible = Declared ["reversible"],
    Scope = Declared ["scope"],
    BlastRadiusHint = Declared ["blast_radius_hint"],
    HasShadow = Declared ["has_shadow"],
    Isolation = Declared ["isolation"],
    Effect = Declared ["effect"],
    Environment = Context ["environment"],
    Workspace = Context ["workspace"],
    CorrelationId = Context ["correlation_id"],
    StepSeq = Context ["step_seq"],
    Timestamp = Context ["timestamp"],
    PrincipalKind = Context ["principal", "kind"],
    PrincipalId = Context ["principal", "id"],
    PrincipalName = Context ["principal", "name"],
    Extra = Context ["extra"],
    Task = Context ["task"],
    Result = Result [],
    Record = Record [],
}

impl Field {
    /// The field that `head` and `path` begin with, and how many keys of `path` it takes.
    #[must_use]
    pub fn resolve(head: Head, path: &[impl AsRef<str>]) -> Option<(Self, usize)> {
        Self::ALL.into_iter().find_map(|field| {
            let (own, keys) = field.path();
            let begins = own == head
                && keys.len() <= path.len()
                && keys
                    .iter()
                    .zip(path)
                    .all(|(key, text)| *key == text.as_ref());
            begins.then_some((field, keys.len()))
        })
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
