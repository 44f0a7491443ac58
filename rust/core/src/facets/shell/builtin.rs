//! Arguments that some shell expands within a builtin.

/// `[ 'a[$(rm)]' -eq 1 ]` runs `rm` in zsh and ksh, `test -v 'a[$(rm)]'` in bash.
pub(super) fn may_expand(text: &str) -> bool {
    text.contains('`')
        || text.contains("$(")
        || (text.contains('[') && text.contains(']') && text.contains('$'))
}
