//! Queries: `SELECT`, `VALUES`, `TABLE`, set operations, common table expressions.

use super::expression::Stops;
use super::parser::{Parser, Step};
use super::scan::Type;
use super::words;

impl Parser<'_> {
    /// A query up to the end of the text or a closing parenthesis.
    pub(super) fn query(&mut self) -> Step {
        let outer = self.scope.len();
        if self.word() == "with" {
            self.with()?;
        }
        self.query_body()?;
        self.scope.truncate(outer);
        Ok(())
    }

    /// A query behind its common table expressions.
    pub(super) fn query_body(&mut self) -> Step {
        self.term()?;
        self.set_operations()
    }

    /// What follows the first query of a set operation, and the clauses of the whole.
    pub(super) fn set_operations(&mut self) -> Step {
        loop {
            self.expression(Stops::default())?;
            if !words::is_set_operation(self.word()) {
                return Ok(());
            }
            self.next();
            let _ = self.accept("all") || self.accept("distinct");
            self.term()?;
        }
    }

    fn term(&mut self) -> Step {
        match self.word() {
            "select" => self.select(),
            "values" => {
                self.next();
                self.expression(Stops::default())
            }
            "table" => {
                self.next();
                let name = self.name()?;
                self.read_name(name);
                self.end_of_tables()
            }
            _ if self.peek() == Some(Type::Open) => self.parentheses_of_query(),
            _ => self.refused("sql_form", "a query is expected here"),
        }
    }

    fn parentheses_of_query(&mut self) -> Step {
        self.deeper(|parser| {
            parser.next();
            parser.query()?;
            parser.expect_type(Type::Close, ")")
        })
    }

    fn select(&mut self) -> Step {
        self.next();
        self.expression(Stops {
            from: true,
            into: true,
            ..Stops::default()
        })?;
        if self.accept("into") {
            self.into()?;
        }
        if self.accept("from") {
            self.tables()?;
            self.end_of_tables()?;
        }
        self.expression(Stops::default())
    }

    /// The table that a query creates.
    fn into(&mut self) -> Step {
        let _ = self.accept("temporary") || self.accept("temp") || self.accept("unlogged");
        self.accept("table");
        if self.word() == "outfile" || self.word() == "dumpfile" {
            return self.refused("sql_form", "the statement writes a file");
        }
        let name = self.name()?;
        self.kind("create");
        self.written(name);
        if self.word() != "from" {
            self.end_of_tables()?;
        }
        Ok(())
    }

    /// Common table expressions. Their names stay in scope until the caller removes them.
    pub(super) fn with(&mut self) -> Step {
        self.next();
        let recursive = self.accept("recursive");
        loop {
            let name = self.component(true)?;
            if self.peek() == Some(Type::Open) {
                self.column_names()?;
            }
            self.expect("as")?;
            if self.accept("not") {
                self.expect("materialized")?;
            } else {
                self.accept("materialized");
            }
            // Where databases disagree about the scope of a name, it counts as a table.
            if recursive {
                self.scope.push(name);
            }
            let inner = self.scope.len();
            self.deeper(|parser| {
                parser.expect_type(Type::Open, "(")?;
                if !parser.write()? {
                    parser.query()?;
                }
                parser.expect_type(Type::Close, ")")
            })?;
            self.scope.truncate(inner);
            if !recursive {
                self.scope.push(name);
            }
            if !self.accept_type(Type::Comma) {
                return Ok(());
            }
        }
    }

    /// Names of columns in parentheses, with their types.
    pub(super) fn column_names(&mut self) -> Step {
        self.deeper(|parser| {
            parser.next();
            loop {
                match parser.peek() {
                    Some(Type::Word) if words::begins_query(parser.word()) => {
                        return parser.unknown();
                    }
                    Some(Type::Word | Type::Quoted | Type::Comma | Type::Number | Type::Dot) => {
                        parser.next()
                    }
                    Some(Type::Open) => parser.column_names()?,
                    _ => return parser.expect_type(Type::Close, ")"),
                }
            }
        })
    }
}
