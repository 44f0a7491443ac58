//! The SQL facet: the kind of one statement, its tables and its functions, or [`Undecidable`].
//!
//! [`parse`] accepts statements of which PostgreSQL, SQLite and MySQL read the characters alike: the scanner refuses what one of
//! them quotes, comments or escapes in another way. The grammar follows the structure only: where tables, functions and
//! queries stand. It accepts more than a database does, which is harmless, because a database refuses the rest.
//!
//! INVARIANT: of a statement that a database accepts, every table and function that the text names is in the parts.
//! A database runs more by itself, and the text does not show it: views, triggers, defaults, casts, operators, row policies.
//!
//! Words that some database takes for a name (`window`, `offset`, `for`) end a list of tables only in the form that none of
//! them takes for an alias: `FROM t window, secret` is undecidable.

mod clauses;
mod definition;
mod expression;
mod from;
mod parser;
mod pure;
mod query;
mod scan;
mod statement;
mod words;

use super::Undecidable;
use crate::limits::MAX_SQL_BYTES;

/// A parsed statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    /// The kinds of writes in the statement; `select` without any.
    pub kinds: Vec<String>,
    /// The tables and functions; `None`: the grammar does not cover the statement.
    pub names: Option<Names>,
}

/// The names in a statement, in lower case and as qualified there, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// All tables.
    pub tables: Vec<String>,
    /// The tables that are read.
    pub reads: Vec<String>,
    /// The tables that are written.
    pub writes: Vec<String>,
    /// The functions; `None`: the grammar does not cover the expressions.
    pub functions: Option<Vec<String>>,
    /// The functions that are not known to have no effect.
    pub unknown_functions: Vec<String>,
}

impl Statement {
    /// Returns true for a query whose functions are all known to have no effect.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        let names = self.names.as_ref();
        let known = names
            .is_some_and(|names| names.functions.is_some() && names.unknown_functions.is_empty());
        self.kinds == ["select"] && known
    }
}

/// Parses one statement.
///
/// # Errors
/// The statement does not mean the same in all databases, or the grammar does not cover it.
pub fn parse(text: &str) -> Result<Statement, Undecidable> {
    if text.len() > MAX_SQL_BYTES {
        return Err(Undecidable::new(
            "sql_length",
            MAX_SQL_BYTES,
            format!("a statement has at most {MAX_SQL_BYTES} bytes"),
        ));
    }
    let lower = text.to_ascii_lowercase();
    let tokens = scan::scan(text)?;
    parser::Parser::new(&lower, text, &tokens).statement()
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn code(text: &str) -> &'static str {
        parse(text).err().map_or("", |error| error.code)
    }

    #[test]
    fn the_kind_of_a_statement_is_that_of_its_writes() {
        for (text, kinds) in [
            ("select 1", &["select"] as &[_]),
            (
                "with a as (delete from b returning *) select * from a",
                &["delete"],
            ),
            (
                "insert into a values (1) on conflict do update set b = 1",
                &["insert", "update"],
            ),
            ("insert or replace into a values (1)", &["replace"]),
            ("select * from a for no key update", &["lock"]),
            ("explain analyze update a set b = 1", &["update"]),
            ("vacuum into 'x'", &["vacuum"]),
        ] {
            let found = parse(text).map(|statement| statement.kinds);
            assert_eq!(
                found,
                Ok(kinds.iter().map(ToString::to_string).collect()),
                "{text}"
            );
        }
    }

    #[test]
    fn names_that_postgresql_cuts_off_are_undecidable() {
        assert_eq!(code(&format!("select * from {}", "a".repeat(63))), "");
        assert_eq!(
            code(&format!("select * from {}", "a".repeat(64))),
            "sql_name"
        );
        assert_eq!(code(&format!("select {}(1)", "a".repeat(64))), "sql_name");
    }

    #[test]
    fn words_that_some_database_takes_for_an_alias_end_no_list_of_tables() {
        for word in [
            "window",
            "offset",
            "fetch",
            "for",
            "returning",
            "on conflict",
            "rows",
        ] {
            assert_eq!(
                code(&format!("select * from a {word}, b")),
                "sql_form",
                "{word}"
            );
        }
    }
}
