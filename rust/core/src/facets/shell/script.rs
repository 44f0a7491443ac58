//! The parsed command line: one buffer of unquoted text, and rows that name spans of it.
//!
//! PERF: a command line of 80 characters takes four allocations, however many words it has.

use super::effects::Effects;

/// The word is, or has, an unquoted pattern or brace expansion.
pub(super) const PATTERN: u8 = 1;
/// The word has an unquoted tilde where a shell expands one.
pub(super) const TILDE: u8 = 2;
/// The first character is not certain: the word may become an option, several words, or none.
pub(super) const WILD: u8 = 4;
/// Some part is quoted.
pub(super) const QUOTED: u8 = 8;
/// The word holds text that its launcher replaces.
pub(super) const REPLACED: u8 = 16;

/// The word has the value of a variable, which can be any text: set together with [`PATTERN`].
pub(super) const VARIABLE: u8 = 32;
/// The value of a variable is split: the word may become several words, or none.
pub(super) const SPLIT: u8 = 64;

pub(super) const NO_FD: u8 = u8::MAX;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WordRow {
    pub(super) start: u32,
    pub(super) end: u32,
    /// The byte offset in the command line.
    pub(super) at: u32,
    pub(super) flags: u8,
}

impl WordRow {
    /// The word is one word with the value of a variable.
    pub(super) fn is_one_variable(self) -> bool {
        self.flags & (VARIABLE | SPLIT | REPLACED) == VARIABLE
    }
}

/// A command: the words `first..program` are assignments, `program..end` the program and its arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommandRow {
    pub(super) first: u32,
    pub(super) program: u32,
    pub(super) end: u32,
    /// The span of the program's name in the buffer: without a directory of the system.
    pub(super) name: (u32, u32),
    pub(super) parent: Option<u32>,
    pub(super) depth: u8,
    /// The launcher appends arguments that are not in the text.
    pub(super) open: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RedirectionRow {
    pub(super) command: u32,
    pub(super) fd: u8,
    pub(super) kind: RedirectionKind,
    pub(super) target: WordRow,
}

/// The commands of a command line.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub(super) buffer: String,
    pub(super) words: Vec<WordRow>,
    pub(super) commands: Vec<CommandRow>,
    pub(super) redirections: Vec<RedirectionRow>,
    /// A variable outside of the harmless ones is assigned somewhere: what programs do with it is not known.
    pub(super) assigns: bool,
}

impl Script {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self {
            buffer: String::with_capacity(bytes),
            words: Vec::with_capacity(bytes / 5 + 4),
            commands: Vec::with_capacity(4),
            redirections: Vec::new(),
            assigns: false,
        }
    }

    pub(super) fn word(&self, index: usize) -> WordRow {
        self.words.get(index).copied().unwrap_or_default()
    }

    pub(super) fn span(&self, start: u32, end: u32) -> &str {
        self.buffer
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }

    pub(super) fn text(&self, index: usize) -> &str {
        let word = self.word(index);
        self.span(word.start, word.end)
    }

    /// The commands in the order of the text; a started command follows its launcher.
    #[must_use]
    pub fn commands(&self) -> Commands<'_> {
        Commands {
            script: self,
            next: 0,
        }
    }

    /// The number of commands.
    #[must_use]
    pub fn len(&self) -> usize {
        self.commands.len()
    }

    /// True without any command: an empty line, or comments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// The command at a position.
    #[must_use]
    pub fn command(&self, index: usize) -> Option<Command<'_>> {
        self.commands.get(index).map(|row| Command {
            script: self,
            row,
            index,
        })
    }
}

/// The commands of a [`Script`].
#[derive(Clone, Debug)]
pub struct Commands<'s> {
    script: &'s Script,
    next: usize,
}

impl<'s> Iterator for Commands<'s> {
    type Item = Command<'s>;

    fn next(&mut self) -> Option<Command<'s>> {
        let command = self.script.command(self.next)?;
        self.next += 1;
        Some(command)
    }
}

/// A simple command, or one that a launcher starts.
#[derive(Clone, Copy, Debug)]
pub struct Command<'s> {
    pub(super) script: &'s Script,
    pub(super) row: &'s CommandRow,
    pub(super) index: usize,
}

impl<'s> Command<'s> {
    /// The program: a bare name, as `ls`, which is also that of `/bin/ls`; or the path as written, as `./ls`; empty for a command
    /// that only assigns or redirects.
    ///
    /// A path is another program than its last component: compare with [`Self::name`] where a rule restricts.
    #[must_use]
    pub fn program(&self) -> &'s str {
        self.script.span(self.row.name.0, self.row.name.1)
    }

    /// The last component of the program's path.
    #[must_use]
    pub fn name(&self) -> &'s str {
        let program = self.program();
        program.rsplit('/').next().unwrap_or(program)
    }

    /// The arguments, without the program.
    pub fn argv(&self) -> impl ExactSizeIterator<Item = Word<'s>> + Clone + use<'s> {
        let from = self.row.end.min(self.row.program + 1);
        self.words(from, self.row.end)
    }

    /// True if the arguments are these and no others: every word is literal, and the launcher adds none.
    #[must_use]
    pub fn argv_is_certain(&self) -> bool {
        !self.row.open && self.argv().all(|word| word.is_literal())
    }

    /// True if a launcher appends arguments that are not in the text, as `xargs` does.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.row.open
    }

    /// The assignments in front of the program: the name, and the word with the value.
    pub fn assignments(&self) -> impl Iterator<Item = (&'s str, Word<'s>)> + use<'s> {
        self.words(self.row.first, self.row.program)
            .map(|mut word| {
                let name = word.text.split('=').next().unwrap_or_default();
                word.text = word.text.get(name.len() + 1..).unwrap_or_default();
                (name, word)
            })
    }

    /// The redirections.
    pub fn redirections(&self) -> impl Iterator<Item = Redirection<'s>> + use<'s> {
        let (script, index) = (self.script, self.index);
        script
            .redirections
            .iter()
            .filter(move |row| row.command as usize == index)
            .map(|row| Redirection {
                fd: (row.fd != NO_FD).then_some(row.fd),
                kind: row.kind,
                target: Word::of(script, row.target),
            })
    }

    /// The effects of the command by the packs, of its redirections and of its launcher.
    #[must_use]
    pub fn effects(&self) -> Effects {
        super::effects::of(self)
    }

    /// The launchers in front, the nearest first.
    pub fn via(&self) -> impl Iterator<Item = &'s str> + use<'s> {
        let script = self.script;
        std::iter::successors(self.parent(), Command::parent)
            .map(move |command| script.span(command.row.name.0, command.row.name.1))
    }

    fn parent(&self) -> Option<Self> {
        self.row
            .parent
            .and_then(|index| self.script.command(index as usize))
    }

    fn words(
        &self,
        from: u32,
        to: u32,
    ) -> impl ExactSizeIterator<Item = Word<'s>> + Clone + use<'s> {
        let script = self.script;
        script
            .words
            .get(from as usize..to as usize)
            .unwrap_or_default()
            .iter()
            .map(move |row| Word::of(script, *row))
    }
}

/// A word of a command.
#[derive(Clone, Copy, Debug)]
pub struct Word<'s> {
    text: &'s str,
    at: usize,
    flags: u8,
}

impl<'s> Word<'s> {
    fn of(script: &'s Script, row: WordRow) -> Self {
        Self {
            text: script.span(row.start, row.end),
            at: row.at as usize,
            flags: row.flags,
        }
    }

    /// The text without quotes. Of a word that is not literal it is the text before expansion.
    #[must_use]
    pub fn text(&self) -> &'s str {
        self.text
    }

    /// The byte offset in the command line.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// True if the program gets exactly [`Self::text`]: no pattern, brace, tilde or placeholder is replaced in it.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        self.flags & (PATTERN | TILDE | REPLACED) == 0
    }

    /// True if the word has the value of a variable.
    #[must_use]
    pub(super) fn is_variable(&self) -> bool {
        self.flags & VARIABLE != 0
    }

    /// True if the word can become an option of the program, several words, or none.
    #[must_use]
    pub(super) fn is_wild(&self) -> bool {
        self.flags & WILD != 0 || (self.flags & PATTERN != 0 && self.text.starts_with('-'))
    }
}

/// A redirection of a command.
#[derive(Clone, Copy, Debug)]
pub struct Redirection<'s> {
    /// The file descriptor as written.
    pub fd: Option<u8>,
    /// The operator.
    pub kind: RedirectionKind,
    /// The file, the descriptor, or the text of a here-document.
    pub target: Word<'s>,
}

/// Operators of redirection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectionKind {
    /// `<`
    Read,
    /// `>`
    Write,
    /// `>|`
    Clobber,
    /// `>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `&>` and `>&FILE`
    WriteBoth,
    /// `&>>`
    AppendBoth,
    /// `<&` and `>&` with a descriptor or `-`
    Duplicate,
    /// `<<` and `<<-`
    HereDocument,
    /// `<<<`
    HereString,
}

impl RedirectionKind {
    /// The operator as written.
    #[must_use]
    pub fn operator(self) -> &'static str {
        match self {
            Self::Read => "<",
            Self::Write => ">",
            Self::Clobber => ">|",
            Self::Append => ">>",
            Self::ReadWrite => "<>",
            Self::WriteBoth => "&>",
            Self::AppendBoth => "&>>",
            Self::Duplicate => ">&",
            Self::HereDocument => "<<",
            Self::HereString => "<<<",
        }
    }
}
