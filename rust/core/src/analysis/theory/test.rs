//! Tests of a text, as policies make them.

use std::collections::BTreeSet;

/// A test of a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TextTest {
    /// The text is one of these.
    OneOf(BTreeSet<String>),
    /// The pattern, of the `re2` dialect, is found in the text.
    Matches {
        /// The pattern.
        pattern: String,
    },
    /// The text begins with one of these.
    StartsWith(Vec<String>),
    /// The text ends with one of these.
    EndsWith(Vec<String>),
    /// The text contains one of these.
    Contains(Vec<String>),
    /// The number of code points is within these bounds, both inclusive.
    Length {
        /// The least.
        min: Option<u64>,
        /// The most.
        max: Option<u64>,
    },
    /// The number of bytes in UTF-8 is within these bounds, both inclusive.
    ByteLength {
        /// The least.
        min: Option<u64>,
        /// The most.
        max: Option<u64>,
    },
    /// The text in lower case passes.
    Lower(Box<TextTest>),
    /// The text is within these bounds by the order of code points; `true`: the bound itself, too.
    Ordered {
        /// The lower bound.
        least: Option<(String, bool)>,
        /// The upper bound.
        most: Option<(String, bool)>,
    },
    /// The text with a suffix appended passes.
    Appended {
        /// The suffix.
        suffix: String,
        /// The test of the longer text.
        test: Box<TextTest>,
    },
    /// The test fails.
    Not(Box<TextTest>),
    /// Every test passes.
    All(Vec<TextTest>),
    /// At least one test passes.
    Any(Vec<TextTest>),
}
