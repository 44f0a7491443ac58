//! Classes of values, as far as they determine which operators apply.

/// The classes of values: the type, as far as it determines which operators cannot evaluate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Null,
    Bool,
    Number,
    String,
    List,
    Mapping,
    Timestamp,
    /// A value that no operator can evaluate.
    Broken,
    /// A short list or tuple of scalars, in which Python looks for a scalar without an exception: `lynx` profile only.
    Plain,
}

impl Class {
    /// Every class, in the order of its discriminant.
    pub(crate) const ALL: [Self; 9] = [
        Self::Null,
        Self::Bool,
        Self::Number,
        Self::String,
        Self::List,
        Self::Mapping,
        Self::Timestamp,
        Self::Broken,
        Self::Plain,
    ];
}

/// Classes of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Classes(u16);

impl Classes {
    pub(crate) const ALL: Self = Self(u16::MAX);
    pub(crate) const NONE: Self = Self(0);
    /// Those that are no scalars.
    pub(crate) const SHAPES: Self = Self::NONE
        .with(Class::List)
        .with(Class::Mapping)
        .with(Class::Broken);

    pub(crate) const fn with(self, class: Class) -> Self {
        Self(self.0 | 1 << class as u16)
    }

    pub(crate) const fn without(self, class: Class) -> Self {
        Self(self.0 & !(1 << class as u16))
    }

    pub(crate) const fn has(self, class: Class) -> bool {
        self.0 & 1 << class as u16 != 0
    }
}
