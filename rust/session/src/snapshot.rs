//! The state of a session up to one of its records, so that a process reads the records behind it alone: a head, which is
//! read as a whole, and layers of pages, of which a process reads those that it asks for.
//!
//! A snapshot is a copy of what the record says: one that is missing, damaged, of other definitions or not of this record
//! is made again.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobcat_core::memory::{Extent, Layered, PAGE_BYTES, Pages, State};
use bobcat_core::program::Program;
use sha2::{Digest as _, Sha256};

use crate::journal::Mark;
use crate::{hex, private};

const NAME: &str = "bobcat-snapshot 2";
const NAME_DIGITS: usize = 16;

/// The files of the snapshot of one session, for the definitions of one policy.
#[derive(Debug)]
pub(crate) struct Snapshot(PathBuf);

impl Snapshot {
    /// The file of the head beside the record at `path`.
    pub(crate) fn beside(path: &Path, program: &Program) -> Self {
        let mut digits = hex(&Sha256::digest(program.memory_bytes()));
        digits.truncate(NAME_DIGITS);
        Self(path.with_extension(format!("{digits}.snapshot")))
    }

    /// The state, and the end of the record up to which it goes. The pages of its layers are checked as they are read.
    pub(crate) fn load(&self, program: &Program, extent: Extent) -> Option<(Mark, State)> {
        let data = std::fs::read(&self.0).ok()?;
        let at = data.iter().position(|byte| *byte == b'\n')?;
        let (head, body) = data.split_at_checked(at + 1)?;
        let mut words = std::str::from_utf8(head)
            .ok()?
            .strip_prefix(NAME)?
            .split_ascii_whitespace();
        let (size, check) = (words.next()?.parse().ok()?, words.next()?.to_owned());
        let open = |number| {
            let file = File::open(self.layer(number)).ok()?;
            Some(Arc::new(LayerFile(file)) as Arc<dyn Pages>)
        };
        let state = State::load_layers((program, extent), body, open).ok()?;
        Some((Mark { size, check }, state))
    }

    /// Replaces the snapshot. One that cannot be written is no failure: the records say the same.
    pub(crate) fn save(&self, mark: &Mark, state: &State) {
        if let Some(layered) = state.layered(mark.check.as_bytes()) {
            let _ = self.write(mark, &layered);
        }
    }

    /// Writes the new layer, then the head that names it: after a crash the old head still finds its layers.
    fn write(&self, mark: &Mark, layered: &Layered) -> io::Result<()> {
        let (number, pages) = &layered.layer;
        replace(&self.layer(*number), &[pages])?;
        let text = format!("{NAME} {} {}\n", mark.size, mark.check);
        replace(&self.0, &[text.as_bytes(), &layered.head])?;
        for number in &layered.replaced {
            let _ = std::fs::remove_file(self.layer(*number));
        }
        Ok(())
    }

    fn layer(&self, number: u64) -> PathBuf {
        self.0.with_extension(format!("{number}.layer"))
    }
}

/// Writes a file that is there as a whole or not at all.
fn replace(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    let part = PathBuf::from(part);
    let _ = std::fs::remove_file(&part);
    let written = private::new(&part)
        .and_then(|mut file| parts.iter().try_for_each(|bytes| file.write_all(bytes)))
        .and_then(|()| std::fs::rename(&part, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    written
}

/// The file of a layer.
#[derive(Debug)]
struct LayerFile(File);

impl Pages for LayerFile {
    #[cfg(unix)]
    fn read(&self, number: u32, page: &mut [u8; PAGE_BYTES]) -> bool {
        use std::os::unix::fs::FileExt as _;

        let at = u64::from(number) * PAGE_BYTES as u64;
        self.0.read_exact_at(page, at).is_ok()
    }

    #[cfg(not(unix))]
    fn read(&self, number: u32, page: &mut [u8; PAGE_BYTES]) -> bool {
        use std::io::{Read as _, Seek as _, SeekFrom};

        let at = u64::from(number) * PAGE_BYTES as u64;
        let mut file = &self.0;
        file.seek(SeekFrom::Start(at)).is_ok() && file.read_exact(page).is_ok()
    }
}
