//! Keywords by their place in the grammar.

/// Words that name no table, no alias and no function of this grammar: keywords of one of the databases at least.
pub(super) fn is_reserved(word: &str) -> bool {
    matches!(
        word,
        "all"
            | "and"
            | "any"
            | "as"
            | "between"
            | "by"
            | "case"
            | "cast"
            | "check"
            | "create"
            | "cross"
            | "current"
            | "default"
            | "delete"
            | "desc"
            | "distinct"
            | "do"
            | "drop"
            | "else"
            | "except"
            | "exists"
            | "fetch"
            | "for"
            | "force"
            | "foreign"
            | "from"
            | "full"
            | "group"
            | "having"
            | "ignore"
            | "in"
            | "index"
            | "indexed"
            | "inner"
            | "insert"
            | "intersect"
            | "into"
            | "is"
            | "isnull"
            | "join"
            | "lateral"
            | "left"
            | "like"
            | "limit"
            | "lock"
            | "materialized"
            | "merge"
            | "minus"
            | "natural"
            | "not"
            | "notnull"
            | "null"
            | "offset"
            | "on"
            | "only"
            | "or"
            | "order"
            | "outer"
            | "over"
            | "partition"
            | "primary"
            | "procedure"
            | "qualify"
            | "recursive"
            | "references"
            | "replace"
            | "returning"
            | "right"
            | "rows"
            | "select"
            | "set"
            | "some"
            | "straight_join"
            | "table"
            | "tablesample"
            | "then"
            | "to"
            | "union"
            | "unique"
            | "update"
            | "use"
            | "using"
            | "values"
            | "when"
            | "where"
            | "window"
            | "with"
    )
}

/// Words that join two tables.
pub(super) fn is_join(word: &str) -> bool {
    matches!(
        word,
        "join" | "inner" | "left" | "right" | "full" | "cross" | "natural" | "straight_join"
    )
}

/// Words that join two queries.
pub(super) fn is_set_operation(word: &str) -> bool {
    matches!(word, "union" | "intersect" | "except")
}

/// Words that begin a query.
pub(super) fn begins_query(word: &str) -> bool {
    matches!(word, "select" | "with" | "values" | "table")
}

/// Words that end a list of tables in every database.
pub(super) fn ends_tables(word: &str) -> bool {
    matches!(word, "where" | "group" | "having" | "order" | "limit")
}

/// Words that end a list of tables in a certain form only.
pub(super) fn may_end_tables(word: &str) -> bool {
    matches!(
        word,
        "window" | "offset" | "fetch" | "for" | "returning" | "on" | "set" | "when"
    )
}

/// Keywords before a parenthesis that is no list of arguments, in every database.
pub(super) fn is_no_function(word: &str) -> bool {
    matches!(
        word,
        "and"
            | "as"
            | "between"
            | "case"
            | "cast"
            | "distinct"
            | "else"
            | "exists"
            | "from"
            | "group"
            | "having"
            | "in"
            | "limit"
            | "not"
            | "on"
            | "or"
            | "order"
            | "select"
            | "then"
            | "union"
            | "using"
            | "values"
            | "when"
            | "where"
    )
}

/// Words that begin a statement, and stand in no expression without parentheses behind them.
pub(super) fn begins_statement(word: &str) -> bool {
    matches!(
        word,
        "alter"
            | "attach"
            | "create"
            | "delete"
            | "drop"
            | "exec"
            | "execute"
            | "grant"
            | "insert"
            | "merge"
            | "revoke"
            | "truncate"
            | "update"
    )
}

/// Functions with keywords between their arguments, `FROM` among them.
pub(super) fn takes_from(function: &str) -> bool {
    matches!(
        function,
        "extract" | "overlay" | "substring" | "substr" | "trim"
    )
}

/// Functions that are called without parentheses.
pub(super) fn is_bare_function(word: &str) -> bool {
    matches!(
        word,
        "current_catalog"
            | "current_date"
            | "current_role"
            | "current_schema"
            | "current_time"
            | "current_timestamp"
            | "current_user"
            | "localtime"
            | "localtimestamp"
            | "session_user"
            | "system_user"
    )
}

/// Words that go on with the name of a type.
pub(super) fn goes_on_with_type(word: &str) -> bool {
    matches!(
        word,
        "precision" | "varying" | "unsigned" | "signed" | "integer" | "large" | "object"
    )
}
