//! The table of launchers, compiled from `data/launchers.txt`.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::super::effects::Effects;
use super::super::table::{Flags, entries};

const DATA: &str = include_str!("../data/launchers.txt");

/// The form of a launcher's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Kind {
    Prefix,
    Xargs,
    Shell,
    Text,
    Closed,
    Verbs,
    Find,
    Git,
    Sed,
    Awk,
    Builtin,
    Declare,
    Set,
    Query,
    Except,
    Refuse,
}

impl Kind {
    /// The effects of a program without a pack: of a mere launcher none but those of the started program.
    fn own_effects(self) -> Effects {
        match self {
            Self::Prefix | Self::Xargs | Self::Shell | Self::Text | Self::Query => Effects::READ,
            Self::Builtin | Self::Declare | Self::Set => Effects::READ,
            Self::Closed | Self::Verbs | Self::Find | Self::Git => Effects::UNKNOWN,
            Self::Sed | Self::Awk | Self::Except | Self::Refuse => Effects::UNKNOWN,
        }
    }
}

/// One entry of the table.
#[derive(Clone, Debug)]
pub(in super::super) struct Launcher {
    pub(super) name: &'static str,
    pub(in super::super) kind: Kind,
    pub(super) flags: Flags,
    /// Words between the options and the program.
    pub(super) operands: u8,
    pub(super) assignments: bool,
    /// `--` may stand after the operands.
    pub(super) dashes: bool,
    /// `-c TEXT` may take the program's place.
    pub(super) has_text: bool,
    /// Without a program it runs what is not in the text.
    pub(super) needs_program: bool,
    /// It appends arguments to the command of an option.
    pub(super) opens: bool,
    /// Its first word may be options without a dash.
    pub(super) old_style: bool,
    /// First options with which it starts nothing.
    pub(super) questions: &'static str,
    pub(in super::super) effects: Effects,
    /// The effects are stated here, not in a pack.
    pub(in super::super) has_effects: bool,
}

/// The launcher of a name: that of a program, or with its verbs, as `docker run`.
pub(in super::super) fn find(name: &str) -> Option<&'static Launcher> {
    static TABLE: OnceLock<HashMap<&'static str, Launcher>> = OnceLock::new();
    TABLE.get_or_init(read).get(name)
}

fn read() -> HashMap<&'static str, Launcher> {
    let mut table = HashMap::new();
    for (names, settings, flags) in entries(DATA) {
        let primary = names.first().copied().unwrap_or_default();
        let flags = Flags::new(&flags);
        for name in names {
            let own = if settings.contains(&"alias") {
                primary
            } else {
                name
            };
            table.insert(name, launcher(own, &settings, flags.clone()));
        }
    }
    table
}

fn launcher(name: &'static str, settings: &[&'static str], flags: Flags) -> Launcher {
    let has = |word: &str| settings.contains(&word);
    let kind = match settings.first().copied().unwrap_or_default() {
        "prefix" => Kind::Prefix,
        "xargs" => Kind::Xargs,
        "shell" => Kind::Shell,
        "text" => Kind::Text,
        "closed" => Kind::Closed,
        "verbs" => Kind::Verbs,
        "find" => Kind::Find,
        "git" => Kind::Git,
        "sed" => Kind::Sed,
        "awk" => Kind::Awk,
        "builtin" => Kind::Builtin,
        "declare" => Kind::Declare,
        "set" => Kind::Set,
        "query" => Kind::Query,
        "except" => Kind::Except,
        _ => Kind::Refuse,
    };
    let stated = settings
        .iter()
        .find_map(|word| word.strip_prefix("effects:"));
    Launcher {
        name,
        kind,
        flags,
        operands: u8::from(has("operand")) + 2 * u8::from(has("operands:2")),
        assignments: has("assignments"),
        dashes: has("dashes"),
        has_text: has("has-text"),
        needs_program: has("needs-program"),
        opens: has("opens"),
        old_style: has("old-style"),
        questions: settings
            .iter()
            .find_map(|word| word.strip_prefix("questions:"))
            .unwrap_or_default(),
        effects: stated.map_or(kind.own_effects(), Effects::from_names),
        has_effects: stated.is_some(),
    }
}
