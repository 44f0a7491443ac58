//! The form of the data files: `NAME, NAME: SETTINGS | FLAGS`, comments, and indented lines that continue the one above.

/// The entries of a file: names, settings, flags.
pub(super) fn entries(
    text: &'static str,
) -> Vec<(Vec<&'static str>, Vec<&'static str>, Vec<&'static str>)> {
    let mut found: Vec<(Vec<_>, Vec<_>, Vec<_>)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with(' ') {
            if let Some((_, _, flags)) = found.last_mut() {
                flags.extend(line.split_ascii_whitespace());
            }
        } else if let Some((names, rest)) = line.split_once(": ") {
            let (settings, flags) = rest.split_once('|').unwrap_or((rest, ""));
            found.push((
                names.split(", ").collect(),
                settings.split_ascii_whitespace().collect(),
                flags.split_ascii_whitespace().collect(),
            ));
        }
    }
    found
}

/// The argument of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// `-x`
    Nothing,
    /// `-x=`: in the same word or the next.
    Value,
    /// `-x?`: in the same word, or absent.
    Optional,
    /// `-x!`: a command line that is started.
    Command,
    /// `-x@`: a value that the launcher's own code looks at.
    Noted,
    /// `-x=WORD`: this value and no other.
    Only(&'static str),
    /// `-x=!CHARS`: a value without these characters.
    Without(&'static str),
}

impl Takes {
    /// True if the value may be the next word.
    pub(super) fn wants_value(self) -> bool {
        !matches!(self, Self::Nothing | Self::Optional)
    }
}

/// The known options of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct Flags(Vec<(&'static str, Takes)>);

impl Flags {
    pub(super) fn new(specs: &[&'static str]) -> Self {
        Self(specs.iter().map(|spec| Self::flag(spec)).collect())
    }

    /// Reads the notation of one option.
    pub(super) fn flag(spec: &'static str) -> (&'static str, Takes) {
        if let Some((name, only)) = spec.split_once('=') {
            let takes = match only.strip_prefix('!') {
                Some(characters) => Takes::Without(characters),
                None if only.is_empty() => Takes::Value,
                None => Takes::Only(only),
            };
            return (name, takes);
        }
        match spec.as_bytes().last() {
            Some(b'?') if spec.len() > 2 => (spec.trim_end_matches('?'), Takes::Optional),
            Some(b'!') => (spec.trim_end_matches('!'), Takes::Command),
            Some(b'@') => (spec.trim_end_matches('@'), Takes::Noted),
            _ => (spec, Takes::Nothing),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<(&'static str, Takes)> {
        self.0.iter().copied().find(|(known, _)| *known == name)
    }

    /// The option `-C` of a letter.
    pub(super) fn letter(&self, letter: char) -> Option<(&'static str, Takes)> {
        let is_it = |name: &str| name.len() == 2 && name.starts_with('-') && name.ends_with(letter);
        self.0.iter().copied().find(|(known, _)| is_it(known))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(&'static str, Takes)> {
        self.0.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
