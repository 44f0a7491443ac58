//! Lists of tables: `FROM`, `USING` of a `DELETE`.

use super::expression::Stops;
use super::parser::{Parser, Step};
use super::scan::Type;
use super::words;

impl Parser<'_> {
    /// Tables and their joins.
    pub(super) fn tables(&mut self) -> Step {
        loop {
            self.table()?;
            self.joins()?;
            if !self.accept_type(Type::Comma) {
                return Ok(());
            }
        }
    }

    fn joins(&mut self) -> Step {
        loop {
            if self.word() == "on" && !matches!(self.word_at(1), "conflict" | "duplicate") {
                self.next();
                self.expression(Stops {
                    tables: true,
                    ..Stops::default()
                })?;
            } else if self.accept("using") {
                if self.peek() != Some(Type::Open) {
                    return self.unknown();
                }
                self.column_names()?;
                self.alias()?;
            } else if words::is_join(self.word()) {
                self.join()?;
                self.table()?;
            } else {
                return Ok(());
            }
        }
    }

    fn join(&mut self) -> Step {
        self.accept("natural");
        if self.accept("left") || self.accept("right") || self.accept("full") {
            self.accept("outer");
        } else {
            let _ = self.accept("inner") || self.accept("cross");
        }
        self.expect("join")
    }

    /// A table, a function or a query, with its alias.
    pub(super) fn table(&mut self) -> Step {
        if self.accept("lateral")
            && self.peek() != Some(Type::Open)
            && self.peek_at(1) != Some(Type::Open)
        {
            return self.unknown();
        }
        if self.peek() == Some(Type::Open) {
            self.parentheses_of_tables()?;
        } else {
            let name = self.name()?;
            if self.peek() == Some(Type::Open) {
                self.call(name)?;
                if self.accept("with") {
                    self.expect("ordinality")?;
                }
            } else {
                self.read_name(name);
            }
        }
        self.alias()
    }

    /// An alias and names of columns. A keyword of any database is never an alias.
    pub(super) fn alias(&mut self) -> Step {
        let named = if self.accept("as") {
            if !self.accept_type(Type::Quoted) {
                self.component(true)?;
            }
            true
        } else if self.peek() == Some(Type::Quoted)
            || (self.peek() == Some(Type::Word) && !words::is_reserved(self.word()))
        {
            self.next();
            true
        } else {
            false
        };
        if named && self.peek() == Some(Type::Open) {
            self.column_names()?;
        }
        Ok(())
    }

    /// A query, or tables, in parentheses.
    fn parentheses_of_tables(&mut self) -> Step {
        self.deeper(|parser| {
            parser.next();
            if words::begins_query(parser.word()) {
                parser.query()?;
            } else {
                parser.tables()?;
                if words::is_set_operation(parser.word()) || words::ends_tables(parser.word()) {
                    parser.set_operations()?;
                }
            }
            parser.expect_type(Type::Close, ")")
        })
    }

    /// Checks that no database reads on in a list of tables here.
    pub(super) fn end_of_tables(&self) -> Step {
        let word = self.word();
        let next = self.word_at(1);
        let of_next = self.peek_at(1);
        let ends = match self.peek() {
            None | Some(Type::Close) => true,
            Some(Type::Word) => match word {
                "window" => {
                    !next.is_empty()
                        && self.word_at(2) == "as"
                        && self.peek_at(3) == Some(Type::Open)
                }
                "offset" => matches!(of_next, Some(Type::Number | Type::Parameter)),
                "fetch" => matches!(next, "first" | "next"),
                "for" => matches!(next, "update" | "share" | "no" | "key"),
                "returning" => {
                    let value = matches!(of_next, Some(Type::Word)) && !words::is_reserved(next);
                    value || matches!(of_next, Some(Type::Quoted | Type::Operator))
                }
                "on" => matches!(next, "conflict" | "duplicate") && self.inserts(),
                _ => words::ends_tables(word) || words::is_set_operation(word),
            },
            _ => false,
        };
        if ends { Ok(()) } else { self.unknown() }
    }
}
