//! Facets: the meaning of a text argument, parsed or refused.
//!
//! Each module parses texts of one form. It accepts a text only if every program that reads it understands the same by it; any
//! other text is [`Undecidable`], and the clause that asked is in error. A facet reads no file, no name service and no
//! environment.

pub mod address;
pub(crate) mod cache;
pub mod describe;
pub mod document;
pub mod email;
pub mod host;
pub mod kind;
pub mod links;
pub mod path;
pub mod semver;
pub mod shell;
pub mod sql;
pub mod url;
pub mod value;

use std::fmt;
use std::rc::Rc;

pub use kind::Kind;
pub use value::{Parsed, Part};

/// The reason why a text has no certain meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecidable {
    /// A stable, documented code.
    pub code: &'static str,
    /// The byte offset in the text at which its meaning became uncertain.
    pub at: usize,
    /// The construct at that place, for a person.
    pub detail: String,
}

impl Undecidable {
    /// The reason `code` at the byte offset `at`.
    pub fn new(code: &'static str, at: usize, detail: impl Into<String>) -> Self {
        Self {
            code,
            at,
            detail: detail.into(),
        }
    }
}

impl fmt::Display for Undecidable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}", self.code, self.at, self.detail)
    }
}

impl std::error::Error for Undecidable {}

/// The facets of the policy language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Facet {
    /// An absolute URL.
    Url,
    /// An IP address.
    Ip,
    /// A network of IP addresses.
    Cidr,
    /// A path of a file.
    Path,
    /// An address of mail.
    Email,
    /// A semantic version.
    Semver,
    /// A JSON document.
    Json,
    /// A command line of a POSIX shell.
    Shell,
    /// A statement of SQL.
    Sql,
    /// The links in a text.
    Links,
}

impl Facet {
    /// Every facet.
    pub const ALL: [Self; 10] = [
        Self::Url,
        Self::Ip,
        Self::Cidr,
        Self::Path,
        Self::Email,
        Self::Semver,
        Self::Json,
        Self::Shell,
        Self::Sql,
        Self::Links,
    ];

    /// The facet that a policy calls `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|facet| facet.name() == name)
    }

    /// Its name in a policy.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::Ip => "ip",
            Self::Cidr => "cidr",
            Self::Path => "path",
            Self::Email => "email",
            Self::Semver => "semver",
            Self::Json => "json",
            Self::Shell => "shell",
            Self::Sql => "sql",
            Self::Links => "links",
        }
    }

    /// Parses a text.
    ///
    /// # Errors
    /// The text has no certain meaning.
    pub fn parse(self, text: &str) -> Result<Parsed, Undecidable> {
        self.parse_shared(&text.into())
    }

    /// The same of a text that the value may share.
    pub(crate) fn parse_shared(self, text: &Rc<str>) -> Result<Parsed, Undecidable> {
        Ok(match self {
            Self::Url => Parsed::Url(url::parse_shared(text)?),
            Self::Ip => Parsed::Address(address::parse(text)?),
            Self::Cidr => Parsed::Network(address::parse_network(text)?),
            Self::Path => Parsed::Path(path::parse_shared(text)?),
            Self::Email => Parsed::Email(email::parse(text)?),
            Self::Semver => Parsed::Version(semver::parse(text)?),
            Self::Json => Parsed::Document(document::parse(text)?),
            Self::Shell => Parsed::Script(shell::parse(text)?),
            Self::Sql => Parsed::Statement(sql::parse(text)?),
            Self::Links => Parsed::Links(links::parse(text)?),
        })
    }
}
