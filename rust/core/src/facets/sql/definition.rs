//! Statements that define tables, as far as the grammar covers them.

use super::parser::{Parser, Step};
use super::scan::Type;
use super::words;

/// The part of a statement that the grammar covers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cover {
    /// All names.
    All,
    /// The tables, but not the functions.
    Tables,
    /// The kind only.
    Kind,
}

impl Parser<'_> {
    /// `CREATE TABLE` and `CREATE VIEW` as a query, and `CREATE TABLE` with columns.
    pub(super) fn create(&mut self) -> Step<Cover> {
        self.next();
        self.kind("create");
        if self.accept("or") {
            self.expect("replace")?;
        }
        let _ = self.accept("temporary") || self.accept("temp") || self.accept("unlogged");
        let table = self.accept("table");
        if !table && !self.accept("view") {
            return Ok(Cover::Kind);
        }
        if self.accept("if") {
            self.expect("not")?;
            self.expect("exists")?;
        }
        let name = self.name()?;
        self.written(name);
        let columns = self.peek() == Some(Type::Open);
        if columns && table {
            return self.columns();
        }
        if columns {
            self.column_names()?;
        }
        if !self.accept("as") {
            return Ok(Cover::Kind);
        }
        self.query()?;
        match self.peek() {
            None => Ok(Cover::All),
            _ => Ok(Cover::Kind),
        }
    }

    /// The columns of a table, up to the end of the statement: the tables that they refer to.
    fn columns(&mut self) -> Step<Cover> {
        while self.peek().is_some() {
            let word = self.word();
            if self.accept("references") {
                let name = self.name()?;
                self.read(name);
                continue;
            }
            if words::begins_query(word)
                || matches!(
                    word,
                    "like" | "inherits" | "of" | "partition" | "from" | "as" | "union"
                )
            {
                return Ok(Cover::Kind);
            }
            self.next();
        }
        Ok(Cover::Tables)
    }

    /// `DROP TABLE` and `TRUNCATE`, without `CASCADE`.
    pub(super) fn remove(&mut self, kind: &'static str) -> Step<Cover> {
        self.next();
        self.kind(kind);
        if !self.accept("table") && kind == "drop" {
            return Ok(Cover::Kind);
        }
        if self.accept("if") {
            self.expect("exists")?;
        }
        if words::is_reserved(self.word()) {
            return Ok(Cover::Kind);
        }
        loop {
            let name = self.name()?;
            self.written(name);
            if !self.accept_type(Type::Comma) {
                break;
            }
        }
        self.accept("restrict");
        match self.peek() {
            None => Ok(Cover::All),
            _ => Ok(Cover::Kind),
        }
    }
}
