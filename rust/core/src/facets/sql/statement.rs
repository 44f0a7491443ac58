//! Statements by their first word.

use super::Statement;
use super::definition::Cover;
use super::parser::{Parser, Step};
use super::scan::Type;
use super::words;
use crate::limits::MAX_SQL_NAMES;

/// The kinds of statements whose tables and functions the grammar does not cover, by their first word.
fn other_kind(word: &str) -> Option<&'static str> {
    Some(match word {
        "alter" => "alter",
        "analyze" => "analyze",
        "attach" => "attach",
        "begin" | "start" => "begin",
        "call" => "call",
        "checkpoint" => "checkpoint",
        "close" => "close",
        "cluster" => "cluster",
        "comment" => "comment",
        "commit" | "end" => "commit",
        "copy" => "copy",
        "deallocate" => "deallocate",
        "declare" => "declare",
        "desc" | "describe" => "describe",
        "detach" => "detach",
        "discard" => "discard",
        "do" => "do",
        "exec" | "execute" => "execute",
        "fetch" => "fetch",
        "grant" => "grant",
        "handler" => "handler",
        "import" => "import",
        "kill" => "kill",
        "listen" => "listen",
        "load" => "load",
        "lock" => "lock",
        "move" => "move",
        "notify" => "notify",
        "optimize" => "optimize",
        "pragma" => "pragma",
        "prepare" => "prepare",
        "reassign" => "reassign",
        "refresh" => "refresh",
        "reindex" => "reindex",
        "release" => "release",
        "rename" => "rename",
        "reset" => "reset",
        "revoke" => "revoke",
        "rollback" | "abort" => "rollback",
        "savepoint" => "savepoint",
        "security" => "security",
        "set" => "set",
        "show" => "show",
        "unlisten" => "unlisten",
        "unlock" => "unlock",
        "use" => "use",
        "vacuum" => "vacuum",
        _ => return None,
    })
}

impl Parser<'_> {
    /// The whole text.
    pub(super) fn statement(mut self) -> Step<Statement> {
        let cover = self.dispatch()?;
        if cover == Cover::Kind {
            return Ok(self.uncovered());
        }
        if self.peek().is_some() {
            return self.unknown();
        }
        if self.has_too_many_names() {
            let detail = format!("a statement names at most {MAX_SQL_NAMES} tables and functions");
            return self.refused("sql_length", &detail);
        }
        Ok(self.covered(cover == Cover::All))
    }

    fn dispatch(&mut self) -> Step<Cover> {
        let word = self.word();
        match word {
            "explain" => return self.explain(),
            "create" => return Ok(self.create().unwrap_or(Cover::Kind)),
            "drop" => return Ok(self.remove("drop").unwrap_or(Cover::Kind)),
            "truncate" => return Ok(self.remove("truncate").unwrap_or(Cover::Kind)),
            "with" => {
                self.with()?;
                if !self.write()? {
                    self.query_body()?;
                }
            }
            _ if words::begins_query(word) || self.peek() == Some(Type::Open) => {
                self.query_body()?
            }
            _ => {
                if !self.write()? {
                    let Some(kind) = other_kind(word) else {
                        return self
                            .refused("sql_statement", "no statement that `sql` knows begins so");
                    };
                    self.kind(kind);
                    return Ok(Cover::Kind);
                }
            }
        }
        Ok(Cover::All)
    }

    /// `EXPLAIN` has the kind and the names of the statement that it explains: it can execute it.
    fn explain(&mut self) -> Step<Cover> {
        self.next();
        if self.peek() == Some(Type::Open) && !words::begins_query(self.word_at(1)) {
            self.column_names()?;
        }
        while matches!(
            self.word(),
            "analyze" | "analyse" | "verbose" | "query" | "plan" | "extended"
        ) {
            self.next();
        }
        if matches!(self.word(), "explain" | "execute" | "declare") {
            return self.unknown();
        }
        self.dispatch()
    }
}
