//! Variables that choose programs, and variables that change none.

use std::sync::OnceLock;

const DATA: &str = include_str!("data/variables.txt");

fn list(named: &'static str) -> &'static [&'static str] {
    static LISTS: OnceLock<[Vec<&'static str>; 2]> = OnceLock::new();
    let [special, harmless] = LISTS.get_or_init(|| {
        let read = |wanted: &str| {
            let found = super::table::entries(DATA).into_iter();
            found
                .filter(|(names, ..)| names.contains(&wanted))
                .flat_map(|(_, words, more)| [words, more].concat())
                .collect()
        };
        [read("special"), read("harmless")]
    });
    if named == "special" {
        special
    } else {
        harmless
    }
}

/// The bytes are a name that a shell can assign to.
pub(super) fn is_name(name: &[u8]) -> bool {
    name.first()
        .is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// The variable chooses a program, or what a shell or a launcher reads as one.
pub(super) fn is_special(name: &str) -> bool {
    matches(list("special"), name)
}

/// The variable changes no effect of a program.
pub(super) fn is_harmless(name: &str) -> bool {
    matches(list("harmless"), name)
}

fn matches(list: &[&str], name: &str) -> bool {
    list.iter().any(
        |known| match (known.strip_suffix('*'), known.strip_prefix('*')) {
            (Some(start), _) => name.starts_with(start),
            (None, Some(end)) => name.ends_with(end),
            (None, None) => *known == name,
        },
    )
}
