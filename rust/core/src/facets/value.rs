//! Parsed values and their parts, as the evaluator reads them.

use super::address::{self, Address, Network};
use super::email::Email;
use super::path::Path;
use super::semver::Version;
use super::shell::{Command, Effects, Script};
use super::sql::Statement;
use super::url::Url;
use crate::json::value::JsonValue;
use crate::lang::path::Key;
use crate::value::{Step, Value, View};

/// The value of a text that a facet has parsed.
#[derive(Debug)]
pub enum Parsed {
    /// Of `url`.
    Url(Url),
    /// Of `ip`.
    Address(Address),
    /// Of `cidr`.
    Network(Network),
    /// Of `path`.
    Path(Path),
    /// Of `email`.
    Email(Email),
    /// Of `semver`.
    Version(Version),
    /// Of `json`.
    Document(JsonValue<'static>),
    /// Of `shell`.
    Script(Script),
    /// Of `sql`.
    Statement(Statement),
    /// Of `links`.
    Links(Vec<String>),
}

/// A parsed value, or a part of one.
#[derive(Clone, Debug)]
pub enum Part<'p> {
    /// All of it.
    Whole(&'p Parsed),
    /// A text.
    Text(&'p str),
    /// A bool.
    Bool(bool),
    /// A number.
    Number(i64),
    /// A list of texts.
    Texts(&'p [String]),
    /// The last components of a list of names with `.` between the components.
    Last(&'p [String]),
    /// The names of the parameters of a URL.
    Keys(&'p Url),
    /// A list of texts with `/` between them; without any, an empty one.
    Split(&'p str),
    /// A value of a document.
    Json(JsonValue<'static>),
    /// A command.
    Command(Command<'p>),
    /// The arguments of a command, all of them literal.
    Arguments(Command<'p>),
    /// The launchers in front of a command.
    Launchers(Command<'p>),
    /// The names of the variables that are assigned in front of a command.
    Assigned(Command<'p>),
    /// The effects of a command.
    Effects(Effects),
    /// A part that the text does not decide.
    Undecidable,
}

impl<'p> Part<'p> {
    fn named(parsed: &'p Parsed, name: &str) -> Step<Self> {
        let optional = |part: Option<Self>| part.map_or(Step::Absent, Step::Found);
        Step::Found(match (parsed, name) {
            (Parsed::Url(url), name) => return optional(Self::of_url(url, name)),
            (Parsed::Address(found), name) => match name {
                "address" => Self::Text(&found.text),
                "version" => Self::version(found.ip.is_ipv4()),
                "is_private" => Self::Bool(address::is_private(found.ip)),
                "is_loopback" => Self::Bool(address::is_loopback(found.ip)),
                "is_link_local" => Self::Bool(address::is_link_local(found.ip)),
                "is_metadata" => Self::Bool(address::is_metadata(found.ip)),
                _ => return Step::Unreadable,
            },
            (Parsed::Network(found), name) => match name {
                "address" => Self::Text(found.text.split('/').next().unwrap_or_default()),
                "prefix" => Self::Number(found.prefix.into()),
                "version" => Self::version(found.ip.is_ipv4()),
                "is_private" => Self::Bool(address::holds_private((found.ip, found.prefix))),
                _ => return Step::Unreadable,
            },
            (Parsed::Path(path), name) => match name {
                "components" => Self::Split(path.components()),
                "name" => Self::Text(path.name()),
                "suffix" => Self::Text(path.suffix()),
                "is_absolute" => Self::Bool(path.is_absolute()),
                _ => return Step::Unreadable,
            },
            (Parsed::Email(email), name) => match name {
                "local" => Self::Text(&email.local),
                "domain" => Self::Text(&email.domain),
                _ => return Step::Unreadable,
            },
            (Parsed::Version(version), name) => {
                let [major, minor, patch] = version.numbers;
                match name {
                    "major" => Self::Number(major),
                    "minor" => Self::Number(minor),
                    "patch" => Self::Number(patch),
                    "prerelease" => Self::Text(&version.prerelease),
                    _ => return Step::Unreadable,
                }
            }
            (Parsed::Document(json), name) => {
                return Self::of_json(json.get(Key::unprepared(name)));
            }
            (Parsed::Statement(statement), name) => return Self::of_statement(statement, name),
            (Parsed::Script(_) | Parsed::Links(_), _) => return Step::Unreadable,
        })
    }

    fn of_statement(statement: &'p Statement, name: &str) -> Step<Self> {
        let names = statement.names.as_ref();
        let functions = names.and_then(|names| names.functions.as_deref());
        let certain = |part: Option<Self>| part.unwrap_or(Self::Undecidable);
        Step::Found(match name {
            "kind" => match statement.kinds.as_slice() {
                [kind] => Self::Text(kind),
                _ => Self::Undecidable,
            },
            "kinds" => Self::Texts(&statement.kinds),
            "tables" => certain(names.map(|names| Self::Texts(&names.tables))),
            "table_names" => certain(names.map(|names| Self::Last(&names.tables))),
            "reads" => certain(names.map(|names| Self::Texts(&names.reads))),
            "writes" => certain(names.map(|names| Self::Texts(&names.writes))),
            "functions" => certain(functions.map(Self::Texts)),
            "function_names" => certain(functions.map(Self::Last)),
            "unknown_functions" => {
                certain(functions.and(names.map(|names| Self::Texts(&names.unknown_functions))))
            }
            "statements" => Self::Number(1),
            "is_read_only" => Self::Bool(statement.is_read_only()),
            _ => return Step::Unreadable,
        })
    }

    fn of_command(command: Command<'p>, name: &str) -> Step<Self> {
        let certain = |certain: bool, part: Self| if certain { part } else { Self::Undecidable };
        Step::Found(match name {
            "program" => Self::Text(command.program()),
            "name" => Self::Text(command.name()),
            "first" => match command.argv().next() {
                Some(word) => certain(word.is_literal(), Self::Text(word.text())),
                None if command.is_open() => Self::Undecidable,
                None => return Step::Absent,
            },
            "argv" => certain(command.argv_is_certain(), Self::Arguments(command)),
            "effect" => {
                let effects = command.effects();
                let mut names = effects.names();
                match (names.next(), names.next()) {
                    (Some(name), None) => Self::Text(name),
                    _ => Self::Undecidable,
                }
            }
            "effects" => Self::Effects(command.effects()),
            "via" => Self::Launchers(command),
            "assigns" => Self::Assigned(command),
            _ => return Step::Unreadable,
        })
    }

    /// Item `index` of a list of texts.
    fn text_at(&self, index: usize) -> Option<&'p str> {
        match self {
            Self::Texts(texts) => texts.get(index).map(String::as_str),
            Self::Last(texts) => texts.get(index).and_then(|text| text.rsplit('.').next()),
            Self::Keys(url) => url.query_keys().nth(index),
            Self::Split("") => None,
            Self::Split(text) => text.split('/').nth(index),
            Self::Arguments(command) => command.argv().nth(index).map(|word| word.text()),
            Self::Launchers(command) => command.via().nth(index),
            Self::Assigned(command) => command.assignments().nth(index).map(|(name, _)| name),
            Self::Effects(effects) => effects.names().nth(index),
            _ => None,
        }
    }

    fn of_url(url: &'p Url, name: &str) -> Option<Self> {
        Some(match name {
            "scheme" => Self::Text(url.scheme()),
            "host" => Self::Text(url.host()?),
            "port" => Self::Number(url.port?.into()),
            "path" => Self::Text(url.path()),
            "query_keys" => Self::Keys(url),
            "userinfo" => Self::Text(url.userinfo()?),
            "is_ip" => Self::Bool(url.ip.is_some()),
            "is_private" => Self::Bool(url.is_private()),
            _ => return None,
        })
    }

    fn version(v4: bool) -> Self {
        Self::Number(if v4 { 4 } else { 6 })
    }

    fn of_json(step: Step<JsonValue<'static>>) -> Step<Self> {
        match step {
            Step::Found(value) => Step::Found(Self::Json(value)),
            Step::Absent => Step::Absent,
            Step::Unreadable => Step::Unreadable,
        }
    }
}

impl Value for Part<'_> {
    fn view(&self) -> View<'_> {
        match self {
            Self::Whole(parsed) => match parsed {
                Parsed::Url(_) | Parsed::Email(_) | Parsed::Statement(_) => View::Map,
                Parsed::Address(address) => View::Str(&address.text),
                Parsed::Network(network) => View::Str(&network.text),
                Parsed::Path(path) => View::Str(&path.normal),
                Parsed::Version(version) => View::Str(&version.key),
                Parsed::Document(json) => json.view(),
                Parsed::Script(_) | Parsed::Links(_) => View::List,
            },
            Self::Command(_) => View::Map,
            Self::Undecidable => View::Opaque,
            Self::Text(text) => View::Str(text),
            Self::Bool(flag) => View::Bool(*flag),
            Self::Number(number) => View::Int(*number),
            Self::Texts(_)
            | Self::Last(_)
            | Self::Keys(_)
            | Self::Split(_)
            | Self::Arguments(_)
            | Self::Launchers(_)
            | Self::Assigned(_)
            | Self::Effects(_) => View::List,
            Self::Json(json) => json.view(),
        }
    }

    fn is_undecidable(&self) -> bool {
        matches!(self, Self::Undecidable)
    }

    fn get(&self, key: Key<'_>) -> Step<Self> {
        match self {
            Self::Whole(parsed) => Self::named(parsed, key.text),
            Self::Json(json) => Self::of_json(json.get(key)),
            Self::Command(command) => Self::of_command(*command, key.text),
            _ => Step::Unreadable,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Texts(texts) | Self::Last(texts) => texts.len(),
            Self::Whole(Parsed::Links(links)) => links.len(),
            Self::Keys(url) => url.query_keys().count(),
            Self::Split("") => 0,
            Self::Split(text) => text.split('/').count(),
            Self::Arguments(command) => command.argv().len(),
            Self::Launchers(command) => command.via().count(),
            Self::Assigned(command) => command.assignments().count(),
            Self::Effects(effects) => effects.names().count(),
            Self::Whole(Parsed::Script(script)) => script.len(),
            Self::Whole(Parsed::Document(json)) => json.len(),
            Self::Json(json) => json.len(),
            _ => 0,
        }
    }

    fn item(&self, index: usize) -> Option<Self> {
        match self {
            Self::Whole(Parsed::Document(json)) => json.item(index).map(Self::Json),
            Self::Whole(Parsed::Script(script)) => script.command(index).map(Self::Command),
            Self::Json(json) => json.item(index).map(Self::Json),
            Self::Whole(Parsed::Links(links)) => links.get(index).map(|link| Self::Text(link)),
            other => other.text_at(index).map(Self::Text),
        }
    }

    fn each_entry(&self, visit: &mut dyn FnMut(View<'_>, &Self) -> bool) {
        if let Self::Json(json) | Self::Whole(Parsed::Document(json)) = self {
            json.each_entry(&mut |key, value| visit(key, &Self::Json(value.clone())));
        }
    }
}
