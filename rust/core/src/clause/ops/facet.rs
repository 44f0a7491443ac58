//! The facets, `part` and `within`: tests of what a text means.

use std::net::IpAddr;

use super::{Facts, IndexKey, Inside, OperandType, Operator, OperatorTest, Prepare, operators};
use crate::budget::Steps;
use crate::clause::prepared::PreparedConst;
use crate::error::Fault;
use crate::facets::path::Root;
use crate::facets::{Facet, Kind, address, host, semver};
use crate::value::class::{Class, Classes};
use crate::value::{Value, View};

operators! {
    "url" OperandType::Facet(Facet::Url), Element, None, None, Prepare::Facet(Facet::Url);
    "path" OperandType::Facet(Facet::Path), Element, None, None, Prepare::Facet(Facet::Path);
    "ip" OperandType::Facet(Facet::Ip), Element, None, None, Prepare::Facet(Facet::Ip);
    "cidr" OperandType::Facet(Facet::Cidr), Element, None, None, Prepare::Facet(Facet::Cidr);
    "email" OperandType::Facet(Facet::Email), Element, None, None, Prepare::Facet(Facet::Email);
    "semver" OperandType::Facet(Facet::Semver), Element, None, None, Prepare::Facet(Facet::Semver);
    "json" OperandType::Facet(Facet::Json), Element, None, None, Prepare::Facet(Facet::Json);
    "shell" OperandType::Facet(Facet::Shell), Element, None, None, Prepare::Facet(Facet::Shell);
    "sql" OperandType::Facet(Facet::Sql), Element, None, None, Prepare::Facet(Facet::Sql);
    "links" OperandType::Facet(Facet::Links), Element, None, None, Prepare::Facet(Facet::Links);
    "part" OperandType::Part, Element, None, None, Prepare::Part;
    "within" OperandType::Texts, Element, None, None, Prepare::Within;
}

/// Ranges of which one must hold the value: domains, networks or directories.
#[derive(Debug)]
pub enum Within {
    /// Domains.
    Host(Vec<Box<str>>),
    /// Networks.
    Network(Vec<(IpAddr, u8)>),
    /// Directories.
    Path(Vec<Root>),
}

impl Within {
    /// The test of values of a kind; `None`: they lie in no such ranges.
    #[must_use]
    pub fn new(kind: Kind, texts: &[&str]) -> Option<Self> {
        let mut texts = texts.iter();
        Some(match kind {
            Kind::Host => {
                let canonical = |text: &&str| host::parse(text, 0).is_ok_and(|name| name == *text);
                if !texts.clone().all(canonical) {
                    return None;
                }
                Self::Host(texts.map(|text| (*text).into()).collect())
            }
            Kind::Address | Kind::Network => {
                let ranges = texts.map(|text| address::parse_range(text));
                Self::Network(ranges.collect::<Option<_>>()?)
            }
            Kind::Path => Self::Path(texts.map(|text| Root::parse(text)).collect::<Option<_>>()?),
            _ => {
                texts.next();
                return None;
            }
        })
    }
}

/// One or several texts of an operand.
#[must_use]
pub(crate) fn texts(operand: &PreparedConst) -> Option<Vec<&str>> {
    fn text(item: &PreparedConst) -> Option<&str> {
        match item {
            PreparedConst::Str(text) => Some(text),
            _ => None,
        }
    }
    match operand {
        PreparedConst::List(items) => items.iter().map(text).collect(),
        operand => text(operand).map(|text| vec![text]),
    }
}

/// The operand of a test of versions, in the form in which versions are compared.
#[must_use]
pub(crate) fn versions(operand: PreparedConst) -> Option<PreparedConst> {
    Some(match operand {
        PreparedConst::Str(text) => PreparedConst::Str(semver::parse(&text).ok()?.key.into()),
        PreparedConst::List(items) => {
            PreparedConst::List(items.into_iter().map(versions).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

impl OperatorTest for Within {
    fn eval<V: Value>(&self, _: &V, view: &View<'_>, _: &Steps) -> Result<bool, Fault> {
        let View::Str(text) = view else {
            return Err(Fault::WrongType);
        };
        match self {
            Self::Host(domains) => Ok(domains.iter().any(|domain| host::is_within(text, domain))),
            Self::Network(ranges) => {
                let own = address::parse_range(text).ok_or(Fault::WrongType)?;
                Ok(ranges.iter().any(|range| address::is_within(own, *range)))
            }
            Self::Path(roots) => {
                let mut result = Ok(false);
                for root in roots {
                    match root.holds(text) {
                        Ok(true) => return Ok(true),
                        Ok(false) => {}
                        Err(fault) => result = Err(fault),
                    }
                }
                result
            }
        }
    }

    fn facts(&self) -> Facts {
        Facts {
            cost: 6,
            guard_cost: 4,
            fails: Classes::ALL.without(Class::String),
        }
    }

    fn key(&self) -> IndexKey<'_> {
        IndexKey::Scan
    }
}
