//! Packs: the effects of programs by their verbs and options, as data.
//!
//! `NAME VERB: EFFECTS|verbs [operands:EFFECTS] [alias] | OPTIONS`. An option is written as in [`super::table`], with its effects
//! behind a colon: `-o=:write`. `*` stands for all other options; without it, an option that is not listed is `unknown`.
//! `alias` gives all names of a row the verbs of the first. `@GROUP` includes the options of an entry of that name. `bare:EFFECTS` are
//! those without a verb, `second:EFFECTS` those of a second operand. `old-style` programs take options without a dash first. A row
//! `NAME OPTION` stands for calls with that option: `git config --get`.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use super::effects::Effects;
use super::script::{Command, Word};
use super::table::{Flags, Takes, entries};

/// A data file: its name, a line about it, its text.
const FILES: [(&str, &str, &str); 7] = [
    (
        "coreutils",
        "coreutils and other programs of every system",
        include_str!("data/packs/coreutils.txt"),
    ),
    (
        "text",
        "programs that search and edit text",
        include_str!("data/packs/text.txt"),
    ),
    ("git", "git", include_str!("data/packs/git.txt")),
    (
        "docker",
        "docker and podman",
        include_str!("data/packs/docker.txt"),
    ),
    ("kubectl", "kubectl", include_str!("data/packs/kubectl.txt")),
    (
        "packages",
        "npm, pip, cargo and other package managers, build tools, interpreters",
        include_str!("data/packs/packages.txt"),
    ),
    (
        "http",
        "curl, wget and other clients of the network",
        include_str!("data/packs/http.txt"),
    ),
];

/// The effects of some programs.
#[derive(Clone, Debug)]
pub struct Pack {
    /// Its name.
    pub name: &'static str,
    /// A line about it.
    pub about: &'static str,
    /// Its rows in the order of the file: names of programs with verbs, effects, options.
    pub rows: Vec<Row>,
}

/// A row of a pack as it is written: names, settings and options.
pub type Row = (Vec<&'static str>, Vec<&'static str>, Vec<&'static str>);

/// All packs.
#[must_use]
pub fn packs() -> Vec<Pack> {
    FILES
        .iter()
        .map(|(name, about, text)| Pack {
            name,
            about,
            rows: entries(text),
        })
        .collect()
}

#[derive(Debug)]
struct Entry {
    name: &'static str,
    effects: Effects,
    operands: Effects,
    /// Effects of the second operand and of further ones.
    second: Effects,
    /// Effects without a verb.
    bare: Effects,
    has_verbs: bool,
    /// The first word may be options without a dash.
    old_style: bool,
    /// Options that have a row of their own.
    modes: Vec<&'static str>,
    /// Some verbs have a row of their own.
    has_rows: bool,
    flags: Flags,
    /// Effects of the options, in the order of `flags`.
    added: Vec<Effects>,
    any: bool,
}

fn table() -> &'static HashMap<&'static str, Entry> {
    static TABLE: OnceLock<HashMap<&'static str, Entry>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table: HashMap<&'static str, Entry> = HashMap::new();
        for pack in packs() {
            for (names, settings, flags) in &pack.rows {
                for name in names.iter().filter(|name| !name.starts_with('@')) {
                    let has_alias = settings.contains(&"alias");
                    let own = names.first().filter(|_| has_alias).unwrap_or(name);
                    table.insert(name, entry(own, settings, &included(flags, &pack.rows)));
                }
            }
        }
        let below: Vec<(&str, &str)> = table
            .keys()
            .filter_map(|name| name.rsplit_once(' '))
            .collect();
        let verbs = below.iter().filter(|(_, verb)| !verb.starts_with('-'));
        let above: HashSet<&str> = verbs.map(|(name, _)| *name).collect();
        for entry in table.values_mut() {
            entry.has_rows = above.contains(entry.name);
            let own = below
                .iter()
                .filter(|(name, verb)| *name == entry.name && verb.starts_with('-'));
            entry.modes = own.map(|(_, option)| *option).collect();
        }
        table
    })
}

/// The options with those of groups in place of `@GROUP`. Groups do not nest.
fn included(flags: &[&'static str], rows: &[Row]) -> Vec<&'static str> {
    let of_group = |group: &str| {
        let row = rows.iter().find(|(names, ..)| names.contains(&group));
        row.map(|(_, _, flags)| flags.clone()).unwrap_or_default()
    };
    flags
        .iter()
        .flat_map(|flag| {
            if flag.starts_with('@') {
                of_group(flag)
            } else {
                vec![*flag]
            }
        })
        .collect()
}

fn entry(name: &'static str, settings: &[&'static str], flags: &[&'static str]) -> Entry {
    let split = |spec: &&'static str| spec.split_once(':').unwrap_or((spec, "read"));
    let stated = settings.first().copied().unwrap_or_default();
    let setting = |name: &str| {
        let stated = settings.iter().find_map(|word| word.strip_prefix(name));
        stated.map_or(Effects::READ, Effects::from_names)
    };
    let specs: Vec<&'static str> = flags.iter().map(|spec| split(spec).0).collect();
    Entry {
        name,
        effects: Effects::from_names(stated),
        operands: setting("operands:"),
        second: setting("second:"),
        bare: setting("bare:"),
        has_verbs: stated == "verbs",
        old_style: settings.contains(&"old-style"),
        modes: Vec::new(),
        has_rows: false,
        any: specs.contains(&"*"),
        flags: Flags::new(&specs),
        added: flags
            .iter()
            .map(|spec| Effects::from_names(split(spec).1))
            .collect(),
    }
}

/// The effects by the packs; `None` for a program of no pack.
pub(super) fn effects(command: &Command<'_>) -> Option<Effects> {
    let mut entry = table().get(command.program())?;
    let mut words: Vec<Word<'_>> = command.argv().collect();
    let mut found = Effects::READ;
    while entry.has_rows {
        let mut options = Effects::READ;
        let Some(verb) = entry.first_operand(&words, &mut options) else {
            // Without a verb programs show their help, or do what their own row says.
            if command.is_open() {
                found = found.and(Effects::UNKNOWN);
            }
            if entry.mode(&words).is_none() {
                found = found.and(entry.bare);
            }
            break;
        };
        let word = words.get(verb)?;
        let next = table().get(format!("{} {}", entry.name, word.text()).as_str());
        let Some(next) = next.filter(|_| word.is_literal()) else {
            // What a verb without a row does is not known, but that a row may already say the worst.
            let writes = entry.effects.has(Effects::WRITE) && !entry.has_verbs;
            found = if writes {
                found
            } else {
                found.and(Effects::UNKNOWN)
            };
            break;
        };
        found = found.and(options);
        entry = next;
        words.drain(..=verb);
    }
    if let Some((option, row)) = entry.mode(&words) {
        entry = row;
        words.remove(option);
    }
    if entry.has_verbs {
        let mut options = Effects::READ;
        if entry.first_operand(&words, &mut options).is_some() {
            options = options.and(Effects::UNKNOWN);
        }
        return Some(found.and(options));
    }
    Some(found.and(entry.of_words(&words, command.is_open())))
}

impl Entry {
    /// The index and the row of the first option that has one, with only known options without a value in front of it.
    fn mode(&self, words: &[Word<'_>]) -> Option<(usize, &'static Self)> {
        let is_own = |word: &Word<'_>| word.is_literal() && self.modes.contains(&word.text());
        let is_plain =
            |word: &Word<'_>| matches!(self.flag(word.text()), Some((_, Takes::Nothing)));
        let at = words
            .iter()
            .position(|word| is_own(word) || !is_plain(word))?;
        let option = words.get(at).filter(|word| is_own(word))?;
        let row = table().get(format!("{} {}", self.name, option.text()).as_str())?;
        Some((at, row))
    }

    /// The effects of `tar xzf`: letters without a dash, and the number of words that are their values.
    fn old_style(&self, letters: &str) -> (Effects, usize) {
        let (mut found, mut values) = (Effects::READ, 0);
        for letter in letters.chars() {
            let mut name = String::from("-");
            name.push(letter);
            let (effects, takes) = self
                .flag(&name)
                .unwrap_or((Effects::UNKNOWN, Takes::Nothing));
            found = found.and(effects);
            values += usize::from(takes.wants_value());
        }
        (found, values)
    }

    /// The index of the verb behind the options in front of it.
    fn first_operand(&self, words: &[Word<'_>], found: &mut Effects) -> Option<usize> {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            if !word.text().starts_with('-') && !word.is_wild() {
                return Some(at);
            }
            let (effects, takes_next) = self.option(word);
            *found = found.and(effects);
            at += 1 + usize::from(takes_next);
        }
        None
    }

    fn of_words(&self, words: &[Word<'_>], is_open: bool) -> Effects {
        let mut found = self.effects;
        let exposed = !self.any || self.added.iter().any(|effects| *effects != Effects::READ);
        let uncertain = if exposed {
            Effects::UNKNOWN
        } else {
            Effects::READ
        };
        if is_open {
            found = found.and(uncertain).and(self.operands).and(self.second);
        }
        let (mut at, mut operands, mut ended) = (0, 0, false);
        if let Some(first) = words
            .first()
            .filter(|first| self.old_style && !first.text().starts_with('-'))
        {
            let (effects, values) = self.old_style(first.text());
            found = found.and(effects);
            at = 1 + values;
        }
        while let Some(word) = words.get(at) {
            at += 1;
            let text = word.text();
            if text == "--" && !ended {
                ended = true;
            } else if word.is_wild() {
                found = found.and(uncertain).and(self.operands).and(self.second);
            } else if ended || !text.starts_with(['-', '+']) || text.len() == 1 {
                operands += 1;
                found = found.and(self.operands);
                if operands > 1 {
                    found = found.and(self.second);
                }
            } else if text.starts_with('+') {
                // The format of `date`, the line of `tail`: no program has options of this form that do more.
                found = found.and(if self.any {
                    Effects::READ
                } else {
                    Effects::UNKNOWN
                });
            } else {
                let (effects, takes_next) = self.option(word);
                found = found.and(effects);
                at += usize::from(takes_next);
            }
        }
        found
    }

    /// The effects of an option, and true if its value is the next word.
    fn option(&self, word: &Word<'_>) -> (Effects, bool) {
        let text = word.text();
        if !word.is_literal() && !text.contains('=') {
            return (Effects::UNKNOWN, false);
        }
        let (name, value) = text
            .split_once('=')
            .map_or((text, None), |(name, value)| (name, Some(value)));
        if let Some((effects, takes)) = self.flag(name) {
            let fits = value.is_none() || takes != Takes::Nothing;
            return (
                if fits { effects } else { Effects::UNKNOWN },
                value.is_none() && takes.wants_value(),
            );
        }
        if text.starts_with("--") {
            return (self.abbreviated(name), false);
        }
        let mut found = Effects::READ;
        for (index, letter) in text.char_indices().skip(1) {
            let mut name = String::from("-");
            name.push(letter);
            let rest = text.get(index + letter.len_utf8()..).unwrap_or_default();
            match self.flag(&name) {
                Some((effects, Takes::Nothing)) => found = found.and(effects),
                Some((effects, Takes::Optional)) => return (found.and(effects), false),
                Some((effects, _)) => return (found.and(effects), rest.is_empty()),
                None if text
                    .get(1..)
                    .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
                    && self.flag("-#").is_some() => {}
                None if self.any => {}
                None => return (Effects::UNKNOWN, false),
            }
        }
        (found, false)
    }

    /// Programs accept the beginning of a long option.
    fn abbreviated(&self, name: &str) -> Effects {
        if !self.any || name.len() < 3 {
            return Effects::UNKNOWN;
        }
        let meant = self
            .flags
            .iter()
            .zip(&self.added)
            .filter(|((flag, _), _)| flag.starts_with(name));
        meant.fold(Effects::READ, |all, (_, effects)| all.and(*effects))
    }

    fn flag(&self, name: &str) -> Option<(Effects, Takes)> {
        let at = self.flags.iter().position(|(flag, _)| *flag == name)?;
        let (_, takes) = self.flags.iter().nth(at)?;
        Some((self.added.get(at).copied()?, *takes))
    }
}
