//! Statements that write rows: `INSERT`, `UPDATE`, `DELETE`, `MERGE`, `REPLACE`.

use super::expression::Stops;
use super::parser::{Parser, Step};
use super::scan::Type;

impl Parser<'_> {
    /// A statement that writes rows; false for another one.
    pub(super) fn write(&mut self) -> Step<bool> {
        match self.word() {
            "insert" => self.insert("insert")?,
            "replace" => self.insert("replace")?,
            "update" => self.update()?,
            "delete" => self.delete()?,
            "merge" => self.merge()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns true in a statement that inserts rows from a query.
    pub(super) fn inserts(&self) -> bool {
        self.inserting == Some(self.depth)
    }

    fn insert(&mut self, kind: &'static str) -> Step {
        self.next();
        if self.word() == "or" && self.word_at(1) == "replace" {
            self.at += 2;
            self.kind("replace");
        } else {
            self.kind(kind);
            if self.accept("or") {
                self.conflict_action()?;
            }
        }
        self.accept("ignore");
        self.expect("into")?;
        let target = self.name()?;
        self.written(target.clone());
        if self.accept("as") {
            self.component(true)?;
        }
        if self.peek() == Some(Type::Open) {
            self.columns_or_query()?;
        }
        if self.accept("default") {
            self.expect("values")?;
        } else if self.peek().is_some() && !matches!(self.word(), "on" | "returning") {
            let outer = self.inserting.replace(self.depth);
            self.query()?;
            self.inserting = outer;
        }
        if self.accept("on") {
            self.read(target.clone());
            self.upsert()?;
        }
        self.returning(target)
    }

    /// The names of columns, or a query in place of them.
    fn columns_or_query(&mut self) -> Step {
        if super::words::begins_query(self.word_at(1)) || self.peek_at(1) == Some(Type::Open) {
            return Ok(());
        }
        self.column_names()
    }

    fn conflict_action(&mut self) -> Step {
        match self.word() {
            "replace" => {
                self.next();
                self.kind("replace");
                Ok(())
            }
            "abort" | "fail" | "ignore" | "rollback" => {
                self.next();
                Ok(())
            }
            _ => self.unknown(),
        }
    }

    /// `ON CONFLICT` and `ON DUPLICATE KEY UPDATE`, behind `ON`.
    fn upsert(&mut self) -> Step {
        if self.accept("duplicate") {
            self.expect("key")?;
            self.expect("update")?;
            return self.expression(Stops::default());
        }
        self.expect("conflict")?;
        if self.accept("on") {
            self.expect("constraint")?;
            self.component(true)?;
        } else if self.peek() == Some(Type::Open) {
            self.parentheses()?;
            if self.accept("where") {
                self.target_condition()?;
            }
        }
        self.expect("do")?;
        if self.accept("nothing") {
            return Ok(());
        }
        self.kind("update");
        self.expect("update")?;
        self.expect("set")?;
        self.expression(Stops::default())
    }

    /// The condition of an index that `ON CONFLICT` names: without queries.
    fn target_condition(&mut self) -> Step {
        while self.peek().is_some() && self.word() != "do" {
            match self.peek() {
                Some(Type::Open) => self.parentheses()?,
                Some(Type::Close | Type::Dot | Type::Cast | Type::Comma) => return self.unknown(),
                Some(Type::Word) if super::words::is_reserved(self.word()) => match self.word() {
                    "and" | "or" | "not" | "is" | "null" => self.next(),
                    _ => return self.unknown(),
                },
                Some(Type::Word) if self.peek_at(1) == Some(Type::Open) => return self.unknown(),
                _ => self.next(),
            }
        }
        Ok(())
    }

    fn returning(&mut self, target: String) -> Step {
        if self.word() == "returning" {
            self.read(target);
            return self.expression(Stops::default());
        }
        match self.peek() {
            None | Some(Type::Close) => Ok(()),
            _ => self.unknown(),
        }
    }

    fn update(&mut self) -> Step {
        self.next();
        self.kind("update");
        if self.accept("or") {
            self.conflict_action()?;
        }
        let target = self.target()?;
        self.expect("set")?;
        self.expression(Stops {
            from: true,
            ..Stops::default()
        })?;
        if self.accept("from") {
            self.tables()?;
            self.end_of_tables()?;
        }
        self.expression(Stops::default())?;
        self.ended(target)
    }

    fn delete(&mut self) -> Step {
        self.next();
        self.kind("delete");
        self.expect("from")?;
        let target = self.target()?;
        if self.accept("using") {
            self.tables()?;
        }
        self.end_of_tables()?;
        self.expression(Stops::default())?;
        self.ended(target)
    }

    fn merge(&mut self) -> Step {
        self.next();
        self.kind("merge");
        self.expect("into")?;
        let target = self.target()?;
        self.expect("using")?;
        self.table()?;
        self.expect("on")?;
        self.expression(Stops::default())?;
        self.ended(target)
    }

    /// The table that a statement changes, with its alias.
    fn target(&mut self) -> Step<String> {
        let target = self.name()?;
        if self.peek() == Some(Type::Open) {
            return self.unknown();
        }
        self.written(target.clone());
        self.alias()?;
        Ok(target)
    }

    /// The end of a statement that reads the table that it changes.
    fn ended(&mut self, target: String) -> Step {
        self.read(target);
        match self.peek() {
            None | Some(Type::Close) => Ok(()),
            _ => self.unknown(),
        }
    }
}
