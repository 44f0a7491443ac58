//! Expressions: functions and queries in them.

use super::parser::{Parser, Step};
use super::scan::Type;
use super::words;

/// The words and characters at which an expression ends; a parenthesis and a set operation always end it.
#[derive(Clone, Copy, Default)]
pub(super) struct Stops {
    /// `FROM`.
    pub(super) from: bool,
    /// `INTO`.
    pub(super) into: bool,
    /// What can follow a condition in a list of tables: a comma, a join, a clause.
    pub(super) tables: bool,
    /// `FROM` is a keyword among arguments.
    pub(super) arguments_from: bool,
}

impl Parser<'_> {
    /// One expression or several.
    pub(super) fn expression(&mut self, stops: Stops) -> Step {
        while let Some(of) = self.peek() {
            match of {
                Type::Close | Type::EndBracket => return Ok(()),
                Type::Bracket => self.subscript()?,
                Type::Comma if stops.tables => return Ok(()),
                Type::Comma | Type::Text | Type::Number | Type::Parameter | Type::Operator => {
                    self.next()
                }
                Type::Open => self.parentheses()?,
                Type::Cast => {
                    self.next();
                    self.type_name()?;
                }
                Type::Dot | Type::Semicolon => return self.unknown(),
                Type::Quoted => self.named()?,
                Type::Word => {
                    if self.stops_at(stops) {
                        return Ok(());
                    }
                    self.keyword(stops)?;
                }
            }
        }
        Ok(())
    }

    fn stops_at(&self, stops: Stops) -> bool {
        let word = self.word();
        let called = self.peek_at(1) == Some(Type::Open);
        words::is_set_operation(word)
            || (self.inserts() && (word == "returning" || self.at_conflict()))
            || (stops.from && word == "from")
            || (stops.into && word == "into")
            || (stops.tables
                && (words::ends_tables(word)
                    || words::may_end_tables(word)
                    || word == "join"
                    || (words::is_join(word) && !called)))
    }

    fn at_conflict(&self) -> bool {
        self.word() == "on" && matches!(self.word_at(1), "conflict" | "duplicate")
    }

    /// A word in an expression: a keyword, a column or a function.
    fn keyword(&mut self, stops: Stops) -> Step {
        let word = self.word();
        match word {
            "is" if self.peek_at(1) != Some(Type::Open) => {
                self.next();
                self.accept("not");
                if self.accept("distinct") {
                    self.expect("from")?;
                }
            }
            "in" => {
                self.next();
                if self.peek() != Some(Type::Open) {
                    return self.refused(
                        "sql_in",
                        "some databases read a table behind `IN` without parentheses",
                    );
                }
            }
            "as" => {
                self.next();
                if !self.accept_type(Type::Quoted)
                    && !self.accept_type(Type::Text)
                    && self.peek() != Some(Type::Open)
                {
                    self.type_name()?;
                }
            }
            "on" if self.previous_word() == "distinct" => self.next(),
            "from" if stops.arguments_from => self.next(),
            "from" | "select" | "into" | "table" | "join" | "on" => return self.unknown(),
            "with" => match self.word_at(1) {
                "time" | "local" | "ties" | "rollup" => self.at += 2,
                _ => return self.unknown(),
            },
            "for" => {
                if matches!(self.word_at(1), "update" | "share" | "no" | "key") {
                    self.kind("lock");
                }
                self.next();
            }
            _ if self.is_keyword(word) => self.next(),
            _ if words::begins_statement(word) && self.peek_at(1) != Some(Type::Open) => {
                if !matches!(self.previous_word(), "do" | "then" | "for" | "key") {
                    return self.unknown();
                }
                self.next();
            }
            _ => self.named()?,
        }
        Ok(())
    }

    /// Returns true for a word behind which a parenthesis is no list of arguments.
    fn is_keyword(&self, word: &str) -> bool {
        match word {
            "all" => self.previous() == Some(Type::Operator),
            // SQLite has no such operator, but can have such a function, whose argument is no query.
            "any" | "some" => {
                self.previous() == Some(Type::Operator)
                    && self.peek_at(1) == Some(Type::Open)
                    && words::begins_query(self.word_at(2))
            }
            "over" | "filter" => self.previous() == Some(Type::Close),
            "by" => matches!(self.previous_word(), "order" | "group" | "partition"),
            "set" => self.previous_word() == "update",
            "sets" => self.previous_word() == "grouping",
            _ => words::is_no_function(word),
        }
    }

    /// A column, or a function with its arguments.
    fn named(&mut self) -> Step {
        let start = self.at;
        self.next();
        while self.accept_type(Type::Dot) {
            if self.operator() == "*" {
                self.next();
                return Ok(());
            }
            if !matches!(self.peek(), Some(Type::Word | Type::Quoted)) {
                return self.unknown();
            }
            self.next();
        }
        if self.peek() != Some(Type::Open) {
            let alone = self.at == start + 1;
            if alone && words::is_bare_function(self.previous_word()) {
                self.called(self.previous_word().to_owned());
            }
            return Ok(());
        }
        self.at = start;
        let mut name = self.component(false)?.to_owned();
        while self.accept_type(Type::Dot) {
            name.push('.');
            name.push_str(self.component(false)?);
        }
        self.call(name)
    }

    /// The arguments of a function.
    pub(super) fn call(&mut self, name: String) -> Step {
        let stops = Stops {
            arguments_from: words::takes_from(&name),
            ..Stops::default()
        };
        self.called(name);
        self.deeper(|parser| {
            parser.next();
            if matches!(parser.word(), "select" | "with") {
                parser.query()?;
            } else {
                parser.expression(stops)?;
            }
            parser.closed()
        })
    }

    /// A query or an expression in parentheses.
    pub(super) fn parentheses(&mut self) -> Step {
        self.deeper(|parser| {
            parser.next();
            if words::begins_query(parser.word()) {
                parser.query()?;
            } else {
                parser.expression(Stops::default())?;
                if words::is_set_operation(parser.word()) {
                    parser.set_operations()?;
                }
            }
            parser.closed()
        })
    }

    /// A subscript, or the elements of an array. To SQLite it is a name, which would be that of a function in front of a parenthesis.
    fn subscript(&mut self) -> Step {
        self.deeper(|parser| {
            parser.next();
            parser.expression(Stops::default())?;
            parser.expect_type(Type::EndBracket, "]")
        })?;
        match self.peek() {
            Some(Type::Open | Type::Dot) => self.unknown(),
            _ => Ok(()),
        }
    }

    /// A closing parenthesis, without a field of the value behind it: PostgreSQL can call a function there.
    fn closed(&mut self) -> Step {
        self.expect_type(Type::Close, ")")?;
        if self.peek() == Some(Type::Dot) {
            return self.refused(
                "sql_form",
                "a field of a value in parentheses can be a call of a function",
            );
        }
        Ok(())
    }

    /// An alias, or the name of a type: its words, its numbers.
    fn type_name(&mut self) -> Step {
        if !matches!(self.peek(), Some(Type::Word | Type::Quoted)) {
            return self.unknown();
        }
        self.next();
        while self.accept_type(Type::Dot) {
            if !matches!(self.peek(), Some(Type::Word | Type::Quoted)) {
                return self.unknown();
            }
            self.next();
        }
        while words::goes_on_with_type(self.word()) {
            self.next();
        }
        while self.accept_type(Type::Bracket) {
            self.accept_type(Type::Number);
            self.expect_type(Type::EndBracket, "]")?;
        }
        if self.peek() == Some(Type::Open) && self.peek_at(1) == Some(Type::Number) {
            self.next();
            while self.accept_type(Type::Number) || self.accept_type(Type::Comma) {}
            self.expect_type(Type::Close, ")")?;
        }
        if matches!(self.word(), "with" | "without") && self.word_at(1) == "time" {
            self.at += 2;
            self.expect("zone")?;
        }
        Ok(())
    }
}
