//! The state of a parse: tokens, names found, the common table expressions in scope.

use super::pure::is_pure;
use super::scan::{Token, Type};
use super::{Names, Statement, Undecidable, words};
use crate::limits::{MAX_SQL_DEPTH, MAX_SQL_NAMES};

/// Longest name of a table or function, in bytes. PostgreSQL cuts longer ones off.
const MAX_NAME: usize = 63;

/// The result of a step of the grammar.
pub(super) type Step<T = ()> = Result<T, Undecidable>;

pub(super) struct Parser<'t> {
    /// The text in lower case.
    lower: &'t str,
    /// The text as written.
    text: &'t str,
    tokens: &'t [Token],
    pub(super) at: usize,
    pub(super) depth: usize,
    /// Names of common table expressions, the innermost last.
    pub(super) scope: Vec<&'t str>,
    /// The level of the query of an `INSERT`, behind which `ON CONFLICT` can follow.
    pub(super) inserting: Option<usize>,
    kinds: Vec<String>,
    names: Names,
    functions: Vec<String>,
}

impl<'t> Parser<'t> {
    pub(super) fn new(lower: &'t str, text: &'t str, tokens: &'t [Token]) -> Self {
        Self {
            lower,
            text,
            tokens,
            at: 0,
            depth: 0,
            scope: Vec::new(),
            inserting: None,
            kinds: Vec::new(),
            names: Names::default(),
            functions: Vec::new(),
        }
    }

    /// The parts of a statement that the grammar covers; without `expressions`, not its functions.
    pub(super) fn covered(mut self, expressions: bool) -> Statement {
        if self.kinds.is_empty() {
            self.kinds.push("select".to_owned());
        }
        let unknown = self.functions.iter().filter(|name| !is_pure(name));
        self.names.unknown_functions = unknown.cloned().collect();
        self.names.functions = expressions.then_some(self.functions);
        Statement {
            kinds: self.kinds,
            names: Some(self.names),
        }
    }

    /// A statement of which only the kind is certain.
    pub(super) fn uncovered(self) -> Statement {
        Statement {
            kinds: self.kinds,
            names: None,
        }
    }

    /// Returns true for a statement with more names than the cap.
    pub(super) fn has_too_many_names(&self) -> bool {
        self.names.tables.len().max(self.functions.len()) > MAX_SQL_NAMES
    }

    pub(super) fn kind(&mut self, kind: &'static str) {
        insert(&mut self.kinds, kind.to_owned());
    }

    pub(super) fn read(&mut self, name: String) {
        insert(&mut self.names.reads, name.clone());
        insert(&mut self.names.tables, name);
    }

    pub(super) fn written(&mut self, name: String) {
        insert(&mut self.names.writes, name.clone());
        insert(&mut self.names.tables, name);
    }

    pub(super) fn called(&mut self, name: String) {
        insert(&mut self.functions, name);
    }

    /// The type of the token `ahead` of the current one.
    pub(super) fn peek_at(&self, ahead: usize) -> Option<Type> {
        self.tokens.get(self.at + ahead).map(|token| token.of)
    }

    pub(super) fn peek(&self) -> Option<Type> {
        self.peek_at(0)
    }

    /// The type of the token before the current one.
    pub(super) fn previous(&self) -> Option<Type> {
        self.tokens
            .get(self.at.checked_sub(1)?)
            .map(|token| token.of)
    }

    fn slice(&self, token: Option<&Token>) -> &'t str {
        token
            .and_then(|token| self.lower.get(token.start..token.end))
            .unwrap_or_default()
    }

    /// The word `ahead` of the current token, in lower case; nothing for another token.
    pub(super) fn word_at(&self, ahead: usize) -> &'t str {
        let token = self.tokens.get(self.at + ahead);
        self.slice(token.filter(|token| token.of == Type::Word))
    }

    pub(super) fn word(&self) -> &'t str {
        self.word_at(0)
    }

    /// The word before the current token.
    pub(super) fn previous_word(&self) -> &'t str {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        self.slice(before.filter(|token| token.of == Type::Word))
    }

    pub(super) fn operator(&self) -> &'t str {
        let token = self.tokens.get(self.at);
        self.slice(token.filter(|token| token.of == Type::Operator))
    }

    pub(super) fn next(&mut self) {
        self.at += 1;
    }

    /// Passes a word.
    pub(super) fn accept(&mut self, word: &str) -> bool {
        let found = self.word() == word;
        self.at += usize::from(found);
        found
    }

    pub(super) fn accept_type(&mut self, of: Type) -> bool {
        let found = self.peek() == Some(of);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, word: &str) -> Step {
        if self.accept(word) {
            return Ok(());
        }
        self.refused(
            "sql_form",
            &format!("`{}` is expected here", word.to_ascii_uppercase()),
        )
    }

    pub(super) fn expect_type(&mut self, of: Type, name: &str) -> Step {
        if self.accept_type(of) {
            return Ok(());
        }
        self.refused("sql_form", &format!("`{name}` is expected here"))
    }

    /// Undecidable at the current token.
    pub(super) fn refused<T>(&self, code: &'static str, detail: &str) -> Step<T> {
        let at = self
            .tokens
            .get(self.at)
            .map_or(self.text.len(), |token| token.start);
        Err(Undecidable::new(code, at, detail))
    }

    /// Undecidable: the grammar does not know the construct.
    pub(super) fn unknown<T>(&self) -> Step<T> {
        self.refused(
            "sql_form",
            "the grammar of `sql` does not cover this construct",
        )
    }

    /// Runs a step one level deeper.
    pub(super) fn deeper<T>(&mut self, step: impl FnOnce(&mut Self) -> Step<T>) -> Step<T> {
        if self.depth >= MAX_SQL_DEPTH {
            let detail = format!("a statement has at most {MAX_SQL_DEPTH} levels");
            return self.refused("sql_depth", &detail);
        }
        self.depth += 1;
        let result = step(self);
        self.depth -= 1;
        result
    }

    /// A component of a name: a word, or a name in quotes that is the same without them.
    pub(super) fn component(&mut self, first: bool) -> Step<&'t str> {
        let token = self.tokens.get(self.at);
        let name = match self.peek() {
            Some(Type::Word) => self.slice(token),
            Some(Type::Quoted) => {
                let written = token.and_then(|token| self.text.get(token.start + 1..token.end - 1));
                let name = written.unwrap_or_default();
                let plain =
                    |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
                let starts = name.starts_with(|start: char| !start.is_ascii_digit());
                if !starts || !name.bytes().all(plain) {
                    let detail = "a name in quotes has lower-case letters, digits and `_` here";
                    return self.refused("sql_name", detail);
                }
                name
            }
            _ => return self.refused("sql_name", "a name is expected here"),
        };
        if first && self.peek() == Some(Type::Word) && words::is_reserved(name) {
            return self.refused("sql_name", "a keyword stands where a name is expected");
        }
        if name.len() > MAX_NAME {
            let detail = format!("PostgreSQL cuts names off after {MAX_NAME} bytes");
            return self.refused("sql_name", &detail);
        }
        self.next();
        Ok(name)
    }

    /// A name with up to two qualifiers.
    pub(super) fn name(&mut self) -> Step<String> {
        let mut name = self.component(true)?.to_owned();
        let mut length = 1;
        while self.accept_type(Type::Dot) {
            length += 1;
            if length > 3 {
                return self.refused("sql_name", "a name has at most three components");
            }
            name.push('.');
            name.push_str(self.component(false)?);
        }
        Ok(name)
    }

    /// The name of a table that is read, unless it is that of a common table expression in scope.
    pub(super) fn read_name(&mut self, name: String) {
        if !self.scope.contains(&name.as_str()) {
            self.read(name);
        }
    }
}

/// Appends a name that is not there. One more than the cap is kept, and makes the statement undecidable.
fn insert(names: &mut Vec<String>, name: String) {
    if names.len() <= MAX_SQL_NAMES && !names.contains(&name) {
        names.push(name);
    }
}
