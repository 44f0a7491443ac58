//! Types of derived values: the parts that each has, by name.

use super::Facet;

/// The type of a value that a facet or one of its parts derives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any value of a request.
    Plain,
    /// An element of a list of a request, or a value below one.
    Element,
    /// A text.
    Text,
    /// A bool.
    Bool,
    /// A number.
    Number,
    /// A list of texts.
    Texts,
    /// The canonical name of a host.
    Host,
    /// A URL.
    Url,
    /// An IP address.
    Address,
    /// A network of IP addresses.
    Network,
    /// The normal form of a path.
    Path,
    /// An address of mail.
    Email,
    /// A version.
    Version,
    /// A value of a JSON document.
    Document,
    /// The commands of a command line.
    Script,
    /// A command.
    Command,
    /// A statement of SQL.
    Statement,
}

impl Kind {
    /// Every type.
    pub const ALL: [Self; 17] = [
        Self::Plain,
        Self::Element,
        Self::Text,
        Self::Bool,
        Self::Number,
        Self::Texts,
        Self::Host,
        Self::Url,
        Self::Address,
        Self::Network,
        Self::Path,
        Self::Email,
        Self::Version,
        Self::Document,
        Self::Script,
        Self::Command,
        Self::Statement,
    ];

    /// Its name beside the Python front end.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "any",
            Self::Element => "element",
            Self::Text => "text",
            Self::Bool => "bool",
            Self::Number => "number",
            Self::Texts => "texts",
            Self::Host => "host",
            Self::Url => "url",
            Self::Address => "address",
            Self::Network => "network",
            Self::Path => "path",
            Self::Email => "email",
            Self::Version => "version",
            Self::Document => "document",
            Self::Script => "script",
            Self::Command => "command",
            Self::Statement => "statement",
        }
    }

    /// The parts, in the order of explanations.
    #[must_use]
    pub fn parts(self) -> &'static [(&'static str, Self)] {
        match self {
            Self::Url => &[
                ("scheme", Self::Text),
                ("host", Self::Host),
                ("port", Self::Number),
                ("path", Self::Text),
                ("query_keys", Self::Texts),
                ("userinfo", Self::Text),
                ("is_ip", Self::Bool),
                ("is_private", Self::Bool),
            ],
            Self::Address => &[
                ("address", Self::Text),
                ("version", Self::Number),
                ("is_private", Self::Bool),
                ("is_loopback", Self::Bool),
                ("is_link_local", Self::Bool),
                ("is_metadata", Self::Bool),
            ],
            Self::Network => &[
                ("address", Self::Text),
                ("prefix", Self::Number),
                ("version", Self::Number),
                ("is_private", Self::Bool),
            ],
            Self::Path => &[
                ("components", Self::Texts),
                ("name", Self::Text),
                ("suffix", Self::Text),
                ("is_absolute", Self::Bool),
            ],
            Self::Email => &[("local", Self::Text), ("domain", Self::Host)],
            Self::Version => &[
                ("major", Self::Number),
                ("minor", Self::Number),
                ("patch", Self::Number),
                ("prerelease", Self::Text),
            ],
            Self::Command => &[
                ("program", Self::Text),
                ("name", Self::Text),
                ("first", Self::Text),
                ("argv", Self::Texts),
                ("effect", Self::Text),
                ("effects", Self::Texts),
                ("via", Self::Texts),
                ("assigns", Self::Texts),
            ],
            Self::Statement => &[
                ("kind", Self::Text),
                ("kinds", Self::Texts),
                ("tables", Self::Texts),
                ("table_names", Self::Texts),
                ("reads", Self::Texts),
                ("writes", Self::Texts),
                ("functions", Self::Texts),
                ("function_names", Self::Texts),
                ("unknown_functions", Self::Texts),
                ("statements", Self::Number),
                ("is_read_only", Self::Bool),
            ],
            Self::Plain
            | Self::Element
            | Self::Text
            | Self::Bool
            | Self::Number
            | Self::Texts
            | Self::Host
            | Self::Document
            | Self::Script => &[],
        }
    }

    /// The type of a part below; `None`: there is no such part.
    #[must_use]
    pub fn at(self, path: &[Box<str>]) -> Option<Self> {
        path.iter().try_fold(self, |kind, name| match kind {
            Self::Document | Self::Element => Some(kind),
            kind => {
                let part = kind.parts().iter().find(|(known, _)| **known == **name);
                part.map(|(_, kind)| *kind)
            }
        })
    }

    /// The type of the elements; `None`: it is no list.
    #[must_use]
    pub fn element(self) -> Option<Self> {
        match self {
            Self::Plain | Self::Element => Some(Self::Element),
            Self::Document => Some(Self::Document),
            Self::Texts => Some(Self::Text),
            Self::Script => Some(Self::Command),
            Self::Text
            | Self::Bool
            | Self::Number
            | Self::Host
            | Self::Url
            | Self::Address
            | Self::Network
            | Self::Path
            | Self::Email
            | Self::Version
            | Self::Command
            | Self::Statement => None,
        }
    }

    /// Returns true for a type without parts of its own, whose values the operators test as they test those of a request.
    #[must_use]
    pub fn is_tested(self) -> bool {
        matches!(
            self,
            Self::Plain
                | Self::Element
                | Self::Text
                | Self::Bool
                | Self::Number
                | Self::Texts
                | Self::Host
                | Self::Document
        )
    }

    /// Returns true for a type with values that a facet can parse.
    #[must_use]
    pub fn is_text(self) -> bool {
        matches!(
            self,
            Self::Plain | Self::Element | Self::Text | Self::Document
        )
    }
}

impl Facet {
    /// The type of the value that it derives.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Url => Kind::Url,
            Self::Ip => Kind::Address,
            Self::Cidr => Kind::Network,
            Self::Path => Kind::Path,
            Self::Email => Kind::Email,
            Self::Semver => Kind::Version,
            Self::Json => Kind::Document,
            Self::Shell => Kind::Script,
            Self::Sql => Kind::Statement,
            Self::Links => Kind::Texts,
        }
    }
}
