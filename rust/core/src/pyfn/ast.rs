//! The code of a function, as it runs: decoded, checked, names resolved.

use std::sync::OnceLock;

use super::cfg::Node;
use super::consts::PyConst;
use super::decision::Obligation;
use super::exception::Exception;
use super::pattern::Pattern;
use super::predicate::FastNode;
use super::trigger::Trigger;
use crate::lang::Verdict;
use crate::lang::path::{Field, Head};
use crate::value::memory::Wanted;

/// A function that was written as a rule.
#[derive(Debug)]
pub(crate) struct Function {
    /// The number of locals.
    pub(crate) locals: usize,
    /// The node it begins with.
    pub(crate) start: u32,
    /// The node it begins with for the tools that it is listed under.
    pub(crate) pinned: Option<u32>,
    /// The nodes of the CFG.
    pub(crate) nodes: Box<[Node]>,
    /// The same nodes, as far as the fast path supports them.
    pub(crate) fast_nodes: Box<[FastNode]>,
    /// Triggers, one of which holds if the function does more than return None; `None`: it is called for every request.
    pub(crate) triggers: Option<Box<[Trigger]>>,
    /// The number of the first of its decisions that are always the same.
    pub(crate) template: u32,
    /// Its source form, for explanations: decoded again for the first one.
    pub(crate) written: OnceLock<Box<[Statement]>>,
}

/// Objects reached from the parameters of a rule that are not values. `own`: of the request itself, whatever context was
/// passed beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    Request,
    Declared,
    Context { own: bool },
    Principal { own: bool },
}

impl Object {
    /// Returns the attribute `name`; `None`: it has no such attribute.
    pub(crate) fn attribute(self, name: &str) -> Option<Member> {
        let (head, keys, own): (Head, &[&str], bool) = match self {
            Self::Request => {
                return match name {
                    "tool" => Some(Member::Field(Field::Tool, true)),
                    "args" => Some(Member::Field(Field::Args, true)),
                    "declared" => Some(Member::Object(Self::Declared)),
                    "context" => Some(Member::Object(Self::Context { own: true })),
                    _ => None,
                };
            }
            Self::Context { own } if name == "principal" => {
                return Some(Member::Object(Self::Principal { own }));
            }
            Self::Declared => (Head::Declared, &[name], true),
            Self::Context { own } => (Head::Context, &[name], own),
            Self::Principal { own } => (Head::Context, &["principal", name], own),
        };
        Field::resolve(head, keys).map(|(field, _)| Member::Field(field, own))
    }
}

/// An attribute of an [`Object`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Member {
    Object(Object),
    Field(Field, bool),
}

/// An expression.
#[derive(Debug)]
pub(crate) enum Code {
    Const(PyConst),
    Local(u32),
    Object(Object),
    /// A path of the program, and the same thing step by step: what is done when the path leads nowhere, to raise what
    /// Python raises there.
    Path(u32, Box<Code>),
    Attribute(Box<Code>, Box<str>),
    Item(Box<(Code, Code)>),
    Slice(Box<(Code, [Option<Code>; 3])>),
    Call(Builtin, Box<[Code]>),
    IsInstance(Box<Code>, Types),
    Method(Box<Code>, Method, Box<[Code]>),
    Regex(Box<(Pattern, Code)>),
    Compare(Box<Code>, Box<[(Comparison, Code)]>),
    /// Membership of a key in a mapping: the path of the value, the path of the mapping, and the same as a comparison.
    Has(u32, u32, Box<Code>),
    And(Box<[Code]>),
    Or(Box<[Code]>),
    Not(Box<Code>),
    Unary(Unary, Box<Code>),
    Binary(Binary, Box<(Code, Code)>),
    IfElse(Box<(Code, Code, Code)>),
    List(Box<[Code]>),
    Tuple(Box<[Code]>),
    Set(Box<[Code]>),
    Mapping(Box<[(Option<Code>, Code)]>),
    Collect(Box<Collect>),
    Text(Box<[Part]>),
    Bind(u32, Box<Code>),
    Inline(Box<Inline>),
    Decide(Box<Decide>),
    /// The value of a measure or a formula of the state of the run, by the number of its definition.
    Run(u32),
    /// True if the argument at a path came from one of some sources; a missing one came from none.
    Origin(Wanted, u32),
    /// The same of a value.
    OriginOf(Wanted, Box<Code>),
}

/// A comprehension.
#[derive(Debug)]
pub(crate) struct Collect {
    pub(crate) kind: Collection,
    pub(crate) key: Option<Code>,
    pub(crate) value: Code,
    pub(crate) loops: Box<[Loop]>,
    /// The fuel of a turn of one of its loops.
    pub(crate) weight: usize,
    /// The result without arguments.
    pub(crate) default: Option<PyConst>,
}

/// One `for` of a comprehension.
#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) target: Target,
    pub(crate) over: Code,
    pub(crate) conditions: Box<[Code]>,
}

/// A part of an f-string.
#[derive(Debug)]
pub(crate) enum Part {
    Literal(Box<str>),
    Shown(Code, Conversion, Box<str>),
}

/// A call of another function.
#[derive(Debug)]
pub(crate) struct Inline {
    pub(crate) parameters: Box<[(u32, Code)]>,
    /// The locals of the function that are no parameters: they have no value when it begins.
    pub(crate) locals: Box<[u32]>,
    pub(crate) body: Box<[Statement]>,
}

/// A constructor of a decision.
#[derive(Debug)]
pub(crate) struct Decide {
    pub(crate) verdict: Verdict,
    pub(crate) args: Box<[(Argument, Code)]>,
    pub(crate) obligations: Box<[Obligation]>,
    /// The number of what it makes, when that is always the same.
    pub(crate) always: Option<u32>,
}

/// The target of an assignment.
#[derive(Debug)]
pub(crate) enum Target {
    Slot(u32),
    Unpack(Box<[Target]>),
}

impl Target {
    /// Returns true if this local is assigned to.
    pub(crate) fn is(&self, slot: u32) -> bool {
        match self {
            Self::Slot(own) => *own == slot,
            Self::Unpack(targets) => targets.iter().any(|target| target.is(slot)),
        }
    }
}

/// A statement.
#[derive(Debug)]
pub(crate) enum Statement {
    Assign(Target, Code),
    Append(u32, Code),
    /// `slot[key] = value`
    Store(u32, Box<(Code, Code)>),
    If(Code, Box<[Statement]>, Box<[Statement]>),
    For(Box<For>),
    Break,
    Continue,
    Return(Code),
    Evaluate(Code),
    Raise(Exception),
    Try(Box<Try>),
}

#[derive(Debug)]
pub(crate) struct For {
    pub(crate) target: Target,
    pub(crate) over: Code,
    /// The fuel of a turn.
    pub(crate) weight: usize,
    pub(crate) body: Box<[Statement]>,
    pub(crate) otherwise: Box<[Statement]>,
}

#[derive(Debug)]
pub(crate) struct Try {
    pub(crate) body: Box<[Statement]>,
    pub(crate) handlers: Box<[Handler]>,
    pub(crate) otherwise: Box<[Statement]>,
}

#[derive(Debug)]
pub(crate) struct Handler {
    pub(crate) names: Box<[Exception]>,
    pub(crate) body: Box<[Statement]>,
}

/// Types for `isinstance`, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Types(pub(crate) u16);

impl Types {
    pub(crate) const BOOL: Self = Self(1);
    pub(crate) const INT: Self = Self(2);
    pub(crate) const FLOAT: Self = Self(4);
    pub(crate) const STR: Self = Self(8);
    pub(crate) const LIST: Self = Self(16);
    pub(crate) const TUPLE: Self = Self(32);
    pub(crate) const DICT: Self = Self(64);
    pub(crate) const SET: Self = Self(128);
    pub(crate) const NONE: Self = Self(256);
    pub(crate) const BYTES: Self = Self(512);
    pub(crate) const MAPPING: Self = Self(1024);
    pub(crate) const SEQUENCE: Self = Self(2048);

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "bool" => Self::BOOL,
            "int" => Self::INT,
            "float" => Self::FLOAT,
            "str" => Self::STR,
            "list" => Self::LIST,
            "tuple" => Self::TUPLE,
            "dict" => Self::DICT,
            "set" => Self::SET,
            "NoneType" => Self::NONE,
            "bytes" => Self::BYTES,
            "Mapping" => Self::MAPPING,
            "Sequence" => Self::SEQUENCE,
            _ => return None,
        })
    }

    /// The types of both.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if the two sets have a type in common.
    pub(crate) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// An enumeration of words, with the text of each.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($member:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($member),* }

        impl $name {
            pub(crate) fn from_name(name: &str) -> Option<Self> {
                Some(match name {
                    $($text => Self::$member,)*
                    _ => return None,
                })
            }
        }
    };
}

words! {
    /// The operators of comparisons.
    Comparison {
        Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge", In = "in", NotIn = "not_in", Is = "is",
        IsNot = "is_not",
    }
}

words! {
    /// Operators of one operand.
    Unary { Neg = "neg", Pos = "pos", Invert = "invert" }
}

words! {
    /// Operators of two operands.
    Binary {
        Add = "add", Sub = "sub", Mul = "mul", Div = "div", FloorDiv = "floordiv", Mod = "mod", Pow = "pow", And = "and",
        Or = "or", Xor = "xor",
    }
}

words! {
    /// Builtin functions.
    Builtin {
        Abs = "abs", All = "all", Any = "any", Bool = "bool", Dict = "dict", Enumerate = "enumerate", FacetPart = "facet_part", Float = "float",
        Frozenset = "frozenset", Int = "int", Len = "len", List = "list", Max = "max", Min = "min", OccursIn = "occurs_in", Range = "range",
        Repr = "repr", Reversed = "reversed", Round = "round", Set = "set", Sorted = "sorted",
        SortedBy = "sorted_by", Str = "str", Sum = "sum",
        Tuple = "tuple", Zip = "zip",
    }
}

words! {
    /// The kinds of comprehensions.
    Collection {
        List = "list", Set = "set", Dict = "dict", Any = "any", All = "all", Sum = "sum", Min = "min", Max = "max",
        First = "first",
    }
}

words! {
    /// The conversions of the parts of a text.
    Conversion { None = "", Str = "s", Repr = "r", Ascii = "a" }
}

words! {
    /// The arguments of a decision.
    Argument {
        Reason = "reason", MatchedRules = "matched_rules", Approvers = "approvers",
        TimeoutSeconds = "timeout_seconds", ApprovalsNeeded = "approvals_needed", TransformArgs = "transform_args",
    }
}

impl Method {
    /// Returns true if strings have the method.
    pub(crate) fn is_of_text(self) -> bool {
        !self.is_of_mapping() && !self.is_of_set() && !self.is_of_match() && !self.is_of_datetime()
    }

    /// Returns true if lists and tuples have the method.
    pub(crate) fn is_of_sequence(self) -> bool {
        matches!(self, Self::Count | Self::Index)
    }

    /// Returns true if mappings have the method.
    pub(crate) fn is_of_mapping(self) -> bool {
        matches!(self, Self::Get | Self::Keys | Self::Values | Self::Items)
    }

    /// Returns true if sets have the method.
    pub(crate) fn is_of_set(self) -> bool {
        matches!(
            self,
            Self::IsDisjoint
                | Self::IsSubset
                | Self::IsSuperset
                | Self::Union
                | Self::Intersection
                | Self::Difference
        )
    }

    /// Returns true if matches have the method.
    pub(crate) fn is_of_match(self) -> bool {
        matches!(
            self,
            Self::Group | Self::Groups | Self::GroupDict | Self::Start | Self::End | Self::Span
        )
    }

    /// Returns true if datetimes have the method, except for `replace`.
    pub(crate) fn is_of_datetime(self) -> bool {
        matches!(
            self,
            Self::Weekday | Self::IsoWeekday | Self::Timestamp | Self::IsoFormat
        )
    }
}

words! {
    /// Methods.
    Method {
        StartsWith = "startswith", EndsWith = "endswith", Lower = "lower", Upper = "upper", Casefold = "casefold",
        Title = "title", Capitalize = "capitalize", SwapCase = "swapcase", Strip = "strip", LStrip = "lstrip",
        RStrip = "rstrip", Split = "split", RSplit = "rsplit", SplitLines = "splitlines", Partition = "partition",
        RPartition = "rpartition", RemovePrefix = "removeprefix", RemoveSuffix = "removesuffix", Replace = "replace",
        Find = "find", RFind = "rfind", Index = "index", RIndex = "rindex", Count = "count", Join = "join",
        IsDigit = "isdigit", IsAlpha = "isalpha", IsAlnum = "isalnum", IsSpace = "isspace", IsUpper = "isupper",
        IsLower = "islower", IsNumeric = "isnumeric", IsDecimal = "isdecimal", IsAscii = "isascii",
        IsIdentifier = "isidentifier", IsPrintable = "isprintable", IsTitle = "istitle", ZFill = "zfill",
        Get = "get", Keys = "keys", Values = "values", Items = "items",
        IsDisjoint = "isdisjoint", IsSubset = "issubset", IsSuperset = "issuperset", Union = "union",
        Intersection = "intersection", Difference = "difference",
        Group = "group", Groups = "groups", GroupDict = "groupdict", Start = "start", End = "end", Span = "span",
        Weekday = "weekday", IsoWeekday = "isoweekday", Timestamp = "timestamp", IsoFormat = "isoformat",
    }
}
