//! Questions, read from JSON.

use crate::json::{self, Caps, Json};
use crate::program::TraceOutcome;

use super::policy::Rank;

/// The caps on a question.
const CAPS: Caps = Caps {
    depth: 16,
    nodes: 1_000_000,
};

/// An invalid question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionError(pub String);

type Read<T> = Result<T, QuestionError>;

/// A question.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) ask: Ask,
    /// The time, in seconds.
    pub(super) seconds: Option<f64>,
    /// The fewest rules of a tool that are searched one by one.
    pub(super) many: Option<usize>,
    /// The tools to look at; `None` in the list: any tool that no policy names.
    pub(super) tools: Option<Vec<Option<String>>>,
}

/// What is asked.
#[derive(Debug)]
pub(super) enum Ask {
    /// One request with all these properties.
    Find(Vec<Constraint>),
    /// The differences of two policies.
    Compare {
        old: usize,
        new: usize,
        limit: Option<usize>,
        terms: Option<Terms>,
    },
    /// What each rule of a policy does.
    Rules { policy: usize },
    /// What the policies permit, by tool.
    Tools,
}

/// The terms of the rules of two policies, those of defaults and errors last: decisions with one verdict differ if their
/// numbers do, or if one has none. Equal rules have equal terms.
#[derive(Debug)]
pub(super) struct Terms(pub(super) [Vec<Option<u32>>; 2]);

impl Terms {
    /// The terms of a rule of the first or the second policy.
    pub(super) fn of(&self, side: usize, rule: Option<u32>) -> Option<u32> {
        let own = self.0.get(side)?;
        let own = match rule {
            Some(rule) => own.get(rule as usize),
            None => own.last(),
        };
        own.copied().flatten()
    }
}

/// A property of a request.
#[derive(Debug)]
pub(super) enum Constraint {
    /// The verdict of a policy is one of these.
    Verdicts(usize, Vec<Rank>),
    /// The deciding rule is one of these; `None`: a default.
    Rules(usize, Vec<Option<u32>>),
    /// The match of the first rule of a policy is one of these.
    Match(usize, Vec<TraceOutcome>),
}

fn error(message: impl Into<String>) -> QuestionError {
    QuestionError(message.into())
}

/// Reads a question about so many policies.
pub(super) fn parse(bytes: &[u8], policies: usize) -> Read<Question> {
    let root = json::parse(bytes, CAPS)
        .map_err(|failed| error(format!("{} (at byte {})", failed.message, failed.at)))?;
    let known = |keys: &[&str]| -> Read<()> {
        let keys: Vec<&str> = ["ask", "seconds", "tools", "many"]
            .iter()
            .chain(keys)
            .copied()
            .collect();
        only(&root, &keys)
    };
    let policy = |key: &str| -> Read<usize> {
        let value = get(&root, key).ok_or_else(|| error(format!("`{key}` is missing")))?;
        index(value, policies, key)
    };
    let mut tools = match get(&root, "tools") {
        None => None,
        Some(value) => Some(
            items(value, "tools")?
                .iter()
                .map(|item| match item {
                    Json::Null => Ok(None),
                    item => text(item, "tools").map(|tool| Some(tool.to_owned())),
                })
                .collect::<Read<Vec<_>>>()?,
        ),
    };
    let ask = match get(&root, "ask")
        .map(|value| text(value, "ask"))
        .transpose()?
    {
        Some("find") => {
            known(&["where"])?;
            let value = get(&root, "where").ok_or_else(|| error("`where` is missing"))?;
            let mut constraints = Vec::new();
            for item in items(value, "where")? {
                if let Some(tool) = get(item, "tool") {
                    only(item, &["tool"])?;
                    let tool = match tool {
                        Json::Null => None,
                        tool => Some(text(tool, "tool")?.to_owned()),
                    };
                    tools = Some(match tools {
                        Some(tools) => tools.into_iter().filter(|other| *other == tool).collect(),
                        None => vec![tool],
                    });
                } else {
                    constraints.push(constraint(item, policies)?);
                }
            }
            Ask::Find(constraints)
        }
        Some("compare") => {
            known(&["old", "new", "limit", "terms"])?;
            let limit = match get(&root, "limit") {
                None | Some(Json::Null) => None,
                Some(value) => Some(index(value, usize::MAX, "limit")?),
            };
            Ask::Compare {
                old: policy("old")?,
                new: policy("new")?,
                limit,
                terms: match get(&root, "terms") {
                    None | Some(Json::Null) => None,
                    Some(value) => Some(terms(value)?),
                },
            }
        }
        Some("rules") => {
            known(&["policy"])?;
            Ask::Rules {
                policy: policy("policy")?,
            }
        }
        Some("tools") => {
            known(&[])?;
            Ask::Tools
        }
        Some(other) => return Err(error(format!("`{other}` is not a question"))),
        None => return Err(error("`ask` is missing")),
    };
    let seconds = match get(&root, "seconds") {
        None | Some(Json::Null) => None,
        Some(Json::Int(value)) => Some(*value as f64),
        Some(Json::Float(value)) => Some(*value),
        Some(_) => return Err(error("`seconds` is not a number")),
    };
    if seconds.is_some_and(|seconds| seconds.is_nan() || seconds < 0.0) {
        return Err(error("`seconds` is not a number of seconds"));
    }
    let many = match get(&root, "many") {
        None | Some(Json::Null) => None,
        Some(value) => Some(index(value, usize::MAX, "many")?),
    };
    Ok(Question {
        ask,
        many,
        seconds,
        tools,
    })
}

fn terms(value: &Json<'_>) -> Read<Terms> {
    let side = |value: &Json<'_>| -> Read<Vec<Option<u32>>> {
        let numbers = items(value, "terms")?.iter().map(|item| match item {
            Json::Null => Ok(None),
            item => index(item, u32::MAX as usize, "terms").map(|number| Some(number as u32)),
        });
        numbers.collect()
    };
    match items(value, "terms")? {
        [old, new] => Ok(Terms([side(old)?, side(new)?])),
        _ => Err(error("`terms` has two lists")),
    }
}

fn constraint(item: &Json<'_>, policies: usize) -> Read<Constraint> {
    if let Some(value) = get(item, "match") {
        only(item, &["match", "is"])?;
        let of = index(value, policies, "match")?;
        let is = get(item, "is").ok_or_else(|| error("`is` is missing"))?;
        let outcomes = items(is, "is")?.iter().map(|item| {
            Ok(match text(item, "is")? {
                "true" => TraceOutcome::True,
                "false" => TraceOutcome::False,
                "absent" => TraceOutcome::Absent,
                "error" => TraceOutcome::Error,
                other => return Err(error(format!("`{other}` is not the outcome of a match"))),
            })
        });
        return Ok(Constraint::Match(of, outcomes.collect::<Read<_>>()?));
    }
    let value =
        get(item, "policy").ok_or_else(|| error("a constraint has `policy`, `match` or `tool`"))?;
    let of = index(value, policies, "policy")?;
    match (get(item, "verdicts"), get(item, "rules")) {
        (Some(verdicts), None) => {
            only(item, &["policy", "verdicts"])?;
            let verdicts = items(verdicts, "verdicts")?.iter().map(|item| {
                let name = text(item, "verdicts")?;
                Rank::from_name(name).ok_or_else(|| error(format!("`{name}` is not a verdict")))
            });
            Ok(Constraint::Verdicts(of, verdicts.collect::<Read<_>>()?))
        }
        (None, Some(rules)) => {
            only(item, &["policy", "rules"])?;
            let rules = items(rules, "rules")?.iter().map(|item| match item {
                Json::Null => Ok(None),
                item => index(item, u32::MAX as usize, "rules").map(|rule| Some(rule as u32)),
            });
            Ok(Constraint::Rules(of, rules.collect::<Read<_>>()?))
        }
        _ => Err(error("a constraint on a policy has `verdicts`, or `rules`")),
    }
}

fn get<'j, 'a>(object: &'j Json<'a>, key: &str) -> Option<&'j Json<'a>> {
    match object {
        Json::Map(map) => map.get(key),
        _ => None,
    }
}

fn only(object: &Json<'_>, known: &[&str]) -> Read<()> {
    let Json::Map(map) = object else {
        return Err(error("an object is missing"));
    };
    for (key, _) in map.entries() {
        let key = key.as_str().unwrap_or("\u{fffd}");
        if !known.contains(&key) {
            return Err(error(format!(
                "unknown key `{key}`; the keys are {}",
                known.join(", ")
            )));
        }
    }
    Ok(())
}

fn items<'j, 'a>(value: &'j Json<'a>, key: &str) -> Read<&'j [Json<'a>]> {
    match value {
        Json::List(items) => Ok(items),
        _ => Err(error(format!("`{key}` is not a list"))),
    }
}

fn text<'j>(value: &'j Json<'_>, key: &str) -> Read<&'j str> {
    match value {
        Json::Text(text) => text
            .as_str()
            .ok_or_else(|| error(format!("`{key}` holds a lone surrogate"))),
        _ => Err(error(format!("`{key}` is not a string"))),
    }
}

/// A number below `most`.
fn index(value: &Json<'_>, most: usize, key: &str) -> Read<usize> {
    match value {
        Json::Int(value) => usize::try_from(*value)
            .ok()
            .filter(|value| *value < most)
            .ok_or_else(|| error(format!("`{key}` is out of range: {value}"))),
        _ => Err(error(format!("`{key}` is not an integer"))),
    }
}
