//! The bytes of a policy. A program keeps them: its parts are built from them on first use.

use std::fmt;

/// A location in a [`Source`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The offset of the first byte.
    pub start: u32,
    /// The offset after the last byte.
    pub end: u32,
}

/// Bytes of any owner.
pub struct Source(Box<dyn AsRef<[u8]> + Send + Sync>);

impl Source {
    /// The bytes of `owner`, which must never change.
    #[must_use]
    pub fn new(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self(Box::new(owner))
    }

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        (*self.0).as_ref()
    }

    /// The bytes at `span`; empty if it is out of range.
    #[must_use]
    pub fn get(&self, span: Span) -> &[u8] {
        self.bytes()
            .get(span.start as usize..span.end as usize)
            .unwrap_or_default()
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({} bytes)", self.bytes().len())
    }
}
