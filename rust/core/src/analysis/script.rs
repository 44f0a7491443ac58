//! Command lines composed from the parts of their commands.

use crate::json::{Json, Text};

use super::compose::{list, part, text};

/// The most lines.
const MOST: usize = 24;

/// Programs with an effect, each with the arguments that it needs for it.
const PROGRAMS: [(&str, &[&str]); 5] = [
    (
        "read",
        &["cat", "ls", "wc", "head", "echo", "grep x", "sort"],
    ),
    ("write", &["touch x", "rm x", "mkdir x", "cp x y", "tee x"]),
    (
        "network",
        &[
            "curl https://example.org",
            "ping example.org",
            "kubectl get pods",
        ],
    ),
    ("run", &["make", "python x.py", "npm test"]),
    ("unknown", &["frobnicate"]),
];

/// Command lines that may have these commands, the likeliest first.
pub(super) fn lines(script: &Json<'static>) -> Vec<String> {
    let Json::List(commands) = script else {
        return vec!["$(x)".to_owned()];
    };
    let all: Vec<Vec<String>> = commands.iter().map(variants).collect();
    let most = all.iter().map(Vec::len).max().unwrap_or(1).min(MOST);
    let line = |at: usize| {
        let own = all.iter().filter_map(|own| own.get(at).or(own.first()));
        let own: Vec<&str> = own.map(String::as_str).collect();
        match own.is_empty() {
            true => " ".to_owned(),
            false => own.join("; "),
        }
    };
    (0..most).map(line).collect()
}

/// One command in several forms.
fn variants(command: &Json<'static>) -> Vec<String> {
    let (program, name) = (text(command, "program"), text(command, "name"));
    let effect = text(command, "effect");
    let effects = list(command, "effects");
    let wanted: Vec<&str> = effect.into_iter().chain(effects).collect();
    let mut programs: Vec<String> = program.map(quoted).into_iter().collect();
    if let Some(name) = name {
        programs.extend([
            quoted(name),
            quoted(&format!("./{name}")),
            quoted(&format!("/opt/{name}")),
        ]);
    }
    let no_program = programs.is_empty();
    let typical = PROGRAMS
        .iter()
        .filter(|(effect, _)| match wanted.as_slice() {
            [] => no_program,
            wanted => wanted.contains(effect),
        });
    let typical = typical.flat_map(|(_, programs)| programs.iter());
    programs.extend(typical.map(|program| (*program).to_owned()));
    if programs.is_empty() {
        programs.push("frobnicate".to_owned());
    }
    let first = text(command, "first");
    let mut arguments: Vec<Vec<&str>> = Vec::new();
    let argv = list(command, "argv");
    match first {
        Some(first) if argv.first() != Some(&first) => {
            arguments.push([&[first], argv.as_slice()].concat());
            arguments.push([&[first], argv.get(1..).unwrap_or_default()].concat());
        }
        _ => arguments.push(argv),
    }
    let is_broken = |name| matches!(part(command, name), Some(Json::Text(Text::Bad)));
    let mut tails = vec![""];
    if is_broken("argv") || is_broken("first") {
        tails = vec![" *", " $x"];
    }
    if is_broken("effect") {
        tails.push(" > out");
    }
    if wanted.contains(&"write") {
        tails.push(" > out");
    }
    let mut front = String::new();
    for name in list(command, "assigns") {
        front.push_str(&format!("{name}=1 "));
    }
    for launcher in list(command, "via").into_iter().rev() {
        front.push_str(&format!("{launcher} "));
    }
    let mut made = Vec::new();
    for program in &programs {
        for arguments in &arguments {
            for tail in &tails {
                let words: String = arguments
                    .iter()
                    .map(|word| format!(" {}", quoted(word)))
                    .collect();
                made.push(format!("{front}{program}{words}{tail}"));
            }
        }
    }
    made.truncate(MOST);
    made
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@%+,".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
