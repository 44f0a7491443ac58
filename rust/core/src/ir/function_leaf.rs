//! The leaves of function rules: the meanings of names, constants, patterns and paths of the request.
//!
//! [`super::function`] walks the nodes and calls these; nothing here walks.

use super::constant::{constant, string};
use super::decode::Decoder;
use super::node::{Decode, bad, list};
use crate::error::DecodeError;
use crate::json::tape::{Item, Node};
use crate::lang::path::{Field, Head};
use crate::lang::{Profile, Verdict};
use crate::limits::MAX_PATH_KEYS;
use crate::pyfn::ast::{Argument, Code, Comparison, Member, Object, Types};
use crate::pyfn::consts::PyConst;
use crate::pyfn::decision::DecisionTemplate;
use crate::pyfn::exception::Exception;
use crate::pyfn::pattern::{How, Pattern};
use crate::value::constant::Const;

/// An attribute, which may be an object or a path of the request.
#[inline(never)]
pub(super) fn attribute(decoder: &mut Decoder<'_>, of: Code, name: &str) -> Decode<Code> {
    let Code::Object(object) = of else {
        return Ok(Code::Attribute(Box::new(of), name.into()));
    };
    let path = match object.attribute(name) {
        Some(Member::Object(object)) => return Ok(Code::Object(object)),
        // A context passed beside a request hides its own from paths; declared metadata needs its type.
        Some(Member::Field(Field::Scope, _)) | None => None,
        Some(Member::Field(_, own)) => match (object, own) {
            (Object::Request, _) if name == "tool" => Some((Head::Tool, Vec::new())),
            (Object::Request, _) => Some((Head::Args, Vec::new())),
            (Object::Declared, _) => Some((Head::Declared, vec![name.into()])),
            (Object::Context { .. }, false) => Some((Head::Context, vec![name.into()])),
            (Object::Principal { .. }, false) => {
                Some((Head::Context, vec!["principal".into(), name.into()]))
            }
            (Object::Context { .. } | Object::Principal { .. }, true) => None,
        },
    };
    let path = match path {
        Some((head, keys)) => Some(decoder.path_of(head, keys)?),
        None => None,
    };
    Ok(reached(path, Code::Attribute(Box::new(of), name.into())))
}

/// The path one key below that of `of`.
pub(super) fn step(decoder: &mut Decoder<'_>, of: &Code, key: &Code) -> Decode<Option<u32>> {
    let (Code::Path(path, _), Code::Const(PyConst::Str(key))) = (of, key) else {
        return Ok(None);
    };
    let Some((head, mut keys)) = decoder.path_at(*path) else {
        return Ok(None);
    };
    match Field::resolve(head, &keys) {
        Some((Field::Args | Field::Extra, _)) if keys.len() < MAX_PATH_KEYS => {
            keys.push(key.clone());
            decoder.path_of(head, keys).map(Some)
        }
        Some(_) | None => Ok(None),
    }
}

/// A comparison; the test of a key in the arguments or the extras of the context is a read of its path.
pub(super) fn comparison(
    decoder: &mut Decoder<'_>,
    first: Code,
    others: Box<[(Comparison, Code)]>,
) -> Decode<Code> {
    let key = match (&first, &*others) {
        (
            Code::Const(PyConst::Str(_)),
            [(Comparison::In | Comparison::NotIn, Code::Path(of, _))],
        ) => key_of(decoder, *of, &first)?,
        _ => None,
    };
    let code = Code::Compare(Box::new(first), others);
    Ok(match key {
        Some((path, of)) => Code::Has(path, of, Box::new(code)),
        None => code,
    })
}

/// The path of `key` in the mapping that `of` leads to, if that is a whole field.
fn key_of(decoder: &mut Decoder<'_>, of: u32, key: &Code) -> Decode<Option<(u32, u32)>> {
    let (Code::Const(PyConst::Str(key)), Some((head, mut keys))) = (key, decoder.path_at(of))
    else {
        return Ok(None);
    };
    match Field::resolve(head, &keys) {
        Some((Field::Args | Field::Extra, taken)) if taken == keys.len() => {
            keys.push(key.clone());
            Ok(Some((decoder.path_of(head, keys)?, of)))
        }
        Some(_) | None => Ok(None),
    }
}

/// The pattern of a search, with its flags as letters in front of it.
pub(super) fn pattern(
    decoder: &mut Decoder<'_>,
    flags: Item<'_, '_>,
    how: &str,
    pattern: &str,
) -> Decode<Pattern> {
    let letters = flag_letters(flags)?;
    let how = match how {
        "search" => How::Search,
        "match" => How::Match,
        "fullmatch" => How::FullMatch,
        other => return Err(unknown(other, "search")),
    };
    decoder.count_pattern(pattern)?;
    let text = if letters.is_empty() {
        pattern.to_owned()
    } else {
        format!("(?{letters}){pattern}")
    };
    let pattern = Pattern::new(&text, how, decoder.caches()).map_err(|error| {
        DecodeError::new(
            "bad_pattern",
            format!("`{pattern}`: {} ({})", error.message, error.code),
        )
    })?;
    decoder.count_cost(pattern.cost())?;
    Ok(pattern)
}

/// The letters of the flags of `re` that a number has.
fn flag_letters(item: Item<'_, '_>) -> Decode<String> {
    let Node::Int(flags @ 0..=0x1ff) = item.node() else {
        return Err(bad("`flags` are not those of `re`"));
    };
    if flags & !(2 | 8 | 16 | 32 | 64 | 256) != 0 {
        return Err(bad("`flags` has one that no text has"));
    }
    let letters = [
        (2, 'i'),
        (8, 'm'),
        (16, 's'),
        (32, 'u'),
        (64, 'x'),
        (256, 'a'),
    ];
    let set = letters.iter().filter(|(bit, _)| flags & bit != 0);
    Ok(set.map(|(_, letter)| letter).collect())
}

/// The types that `isinstance` names.
pub(super) fn types(item: Item<'_, '_>) -> Decode<Types> {
    let mut types = Types::default();
    for item in list(item, "`types`")? {
        let name = string(item, "the name of a type")?;
        types = types.and(word(name, "type", Types::from_name)?);
    }
    Ok(types)
}

/// A read that leads along a path.
pub(super) fn reached(path: Option<u32>, code: Code) -> Code {
    match path {
        Some(path) => Code::Path(path, Box::new(code)),
        None => code,
    }
}

/// The decision of a constructor whose arguments are constants of the types they must have.
pub(super) fn template(verdict: Verdict, args: &[(Argument, Code)]) -> Option<DecisionTemplate> {
    if verdict == Verdict::Transform {
        return None;
    }
    let mut template = DecisionTemplate::new(verdict);
    let texts = |py_const: &PyConst| match py_const {
        PyConst::Tuple(items) | PyConst::List(items) => items
            .iter()
            .map(|item| item.text().map(Into::into))
            .collect::<Option<Vec<Box<str>>>>(),
        _ => None,
    };
    for (argument, code) in args {
        let Code::Const(py_const) = code else {
            return None;
        };
        match argument {
            Argument::Reason => match py_const {
                PyConst::None => template.reason = "".into(),
                py_const => template.reason = py_const.text()?.into(),
            },
            Argument::MatchedRules => template.matched_rules = texts(py_const)?,
            Argument::Approvers => template.approvers = texts(py_const)?,
            Argument::TimeoutSeconds => {
                template.timeout_seconds = match py_const {
                    PyConst::None => Const::Null,
                    PyConst::Int(seconds) => Const::Int(*seconds),
                    PyConst::Float(seconds) => Const::Float(*seconds),
                    _ => return None,
                };
            }
            Argument::ApprovalsNeeded => match py_const {
                PyConst::Int(needed @ 1..) => template.approvals_needed = *needed,
                _ => return None,
            },
            Argument::TransformArgs => return None,
        }
    }
    Some(template)
}

pub(super) fn py_const(item: Item<'_, '_>) -> Decode<PyConst> {
    // Tuples, sets and other values without operands in the strict profile.
    let constant = constant(item, Profile::Lynx)?;
    PyConst::new(constant).ok_or_else(|| bad("a constant of a function is of no type it can have"))
}

/// The meaning of a word.
pub(super) fn word<T>(name: &str, what: &str, of: impl Fn(&str) -> Option<T>) -> Decode<T> {
    of(name).ok_or_else(|| unknown(name, what))
}

pub(super) fn exception(name: &str) -> Decode<Exception> {
    word(name, "exception", Exception::from_name)
}

pub(super) fn unknown(name: &str, what: &str) -> DecodeError {
    bad(format!("`{name}` is not a known {what}"))
}
