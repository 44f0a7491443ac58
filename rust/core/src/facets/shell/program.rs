//! Names of programs.

use super::super::Undecidable;
use super::script::{PATTERN, REPLACED, Script, TILDE};

/// Words that some shell does not look for as a program.
const KEYWORDS: [&str; 27] = [
    "if",
    "then",
    "else",
    "elif",
    "fi",
    "for",
    "while",
    "until",
    "do",
    "done",
    "case",
    "esac",
    "select",
    "function",
    "in",
    "[[",
    "]]",
    "coproc",
    "repeat",
    "foreach",
    "end",
    "always",
    "noglob",
    "nocorrect",
    "-",
    "namespace",
    "typeset",
];

/// Directories whose programs are meant by their bare names, too.
const SYSTEM: [&str; 7] = [
    "/bin/",
    "/usr/bin/",
    "/usr/local/bin/",
    "/sbin/",
    "/usr/sbin/",
    "/usr/local/sbin/",
    "/opt/homebrew/bin/",
];

/// Programs with upper-case letters. On a file system without case `RM` is `rm`.
const UPPER_CASE: [&str; 4] = ["R", "Rscript", "Xvfb", "VBoxManage"];

/// The span of the name of the program that a word names.
pub(super) fn name_of(script: &Script, index: usize) -> Result<(u32, u32), Undecidable> {
    let word = script.word(index);
    let text = script.span(word.start, word.end);
    let error = |code, detail: &str| Err(Undecidable::new(code, word.at as usize, detail));
    if word.flags & (PATTERN | TILDE | REPLACED) != 0 {
        return error("program", "the program depends on an expansion");
    }
    if KEYWORDS.contains(&text) {
        return error("keyword", "a reserved word");
    }
    let Some(first) = text.bytes().next() else {
        return error("program", "the name of a program is empty");
    };
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./+@,:".contains(&byte);
    let odd = matches!(first, b'-' | b'+' | b'@' | b',') || (first == b':' && text.len() > 1);
    let spaced = |byte: u8| byte == b' ' && text.contains('/');
    if text != "[" && (odd || !text.bytes().all(|byte| allowed(byte) || spaced(byte))) {
        return error("program", "a character that names of programs do not have");
    }
    let mut from = word.start;
    if text.contains('/') {
        let inside = text
            .strip_prefix("./")
            .or_else(|| text.strip_prefix('/'))
            .unwrap_or(text);
        if inside
            .split('/')
            .any(|part| matches!(part, "" | "." | ".."))
        {
            return error(
                "program_path",
                "a path of a program with `.`, `..` or an empty component",
            );
        }
        if ["/proc/", "/dev/", "/sys/"]
            .iter()
            .any(|root| text.starts_with(root))
        {
            return error("program_path", "a program in a directory of the kernel");
        }
        for directory in SYSTEM {
            if text
                .strip_prefix(directory)
                .is_some_and(|rest| !rest.contains('/'))
            {
                from += u32::try_from(directory.len()).unwrap_or_default();
            }
        }
    }
    let name = script.span(from, word.end);
    if !name.contains('/')
        && !UPPER_CASE.contains(&name)
        && name.bytes().any(|byte| byte.is_ascii_uppercase())
    {
        return error(
            "upper_case",
            "the name of another program on a file system without case",
        );
    }
    if from != word.start && KEYWORDS.contains(&name) {
        return error("keyword", "a reserved word");
    }
    Ok((from, word.end))
}
