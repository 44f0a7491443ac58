//! One layer: sections of records of one width each, and a heap of records of any length.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::dump::reader::In;
use super::{Call, Counted, Entry, Known, PAGE_BYTES, Pages, search};
use crate::limits::{MAX_RUN_CALLS, MAX_RUN_VALUES, MAX_STATE_BYTES, MAX_WINDOW_CALLS};
use crate::memory::hash::{self, Hash};

/// Bytes of the checksum at the end of a page.
pub(super) const CHECK: usize = size_of::<Hash>();
/// Bytes of a page before its checksum.
pub(super) const DATA: usize = PAGE_BYTES - CHECK;

/// A record of a call: the hash of its key, then the place and the length of its blob.
pub(super) const CALL: usize = 16 + 4 + 4;
/// A record of a value: its hash, then its number, its call, its source and its field.
pub(super) const VALUE: usize = 16 + 4 + 4 + 2 + 2;
/// A record of a call that brought values: the place and the length of its blob.
pub(super) const ORIGIN: usize = 4 + 4;
/// A record of a call in a window: its time, its number, the sum and the amount.
pub(super) const COUNTED: usize = 8 + 8 + 18 + 18;
/// The place of the blob of a call that has ended.
pub(super) const ENDED: u32 = u32::MAX;

/// The blob of a call without an end, by its place and its length; `None`: the call has ended.
pub(super) type Blob = Option<(u32, u32)>;

/// The sizes of a layer, and what binds its pages to its state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// The number of its file.
    pub(super) number: u64,
    /// The beginning of all that its checksums cover.
    pub(super) salt: Hash,
    pub(super) calls: u32,
    pub(super) values: u32,
    /// The numbers of the calls that brought values.
    pub(super) origins: Range<u32>,
    /// The measures with windows, and the numbers of the calls in each.
    pub(super) windows: Vec<(u32, Range<u64>)>,
    /// Bytes.
    pub(super) heap: u32,
}

impl Parts {
    /// Returns true if the sizes are within the caps of a state.
    pub(super) fn are_sound(&self) -> bool {
        let windows = self.windows.iter().all(|(_, calls)| {
            calls.start <= calls.end && calls.end - calls.start <= MAX_WINDOW_CALLS as u64
        });
        windows
            && self.calls as usize <= MAX_RUN_CALLS
            && self.values as usize <= MAX_RUN_VALUES
            && self.origins.start <= self.origins.end
            && self.origins.end as usize <= MAX_RUN_CALLS
            && self.heap as usize <= MAX_STATE_BYTES
    }

    /// The number of its records, as a measure of the time that it takes to copy it.
    pub(super) fn weight(&self) -> u64 {
        let windows = self
            .windows
            .iter()
            .map(|(_, calls)| calls.end - calls.start);
        u64::from(self.calls) + u64::from(self.values) + windows.sum::<u64>()
    }
}

/// Records of one width in consecutive pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    first: u32,
    pub(super) count: u32,
    width: usize,
}

impl Section {
    /// The section from page `first` on, and the page behind it.
    fn new(first: u32, count: u32, width: usize) -> (Self, u32) {
        let section = Self {
            first,
            count,
            width,
        };
        (section, first + count.div_ceil(section.per_page()))
    }

    /// Records of a page.
    pub(super) fn per_page(self) -> u32 {
        (DATA / self.width) as u32
    }
}

/// A layer, and its pages as far as they were read.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) parts: Parts,
    pub(super) calls: Section,
    pub(super) values: Section,
    pub(super) origins: Section,
    pub(super) windows: Vec<Section>,
    heap: Section,
    pages: Arc<dyn Pages>,
    loaded: Box<[OnceLock<Option<Page>>]>,
    damaged: AtomicBool,
}

type Page = Box<[u8; PAGE_BYTES]>;

impl Layer {
    pub(super) fn new(parts: Parts, pages: Arc<dyn Pages>) -> Self {
        let (calls, end) = Section::new(0, parts.calls, CALL);
        let (values, end) = Section::new(end, parts.values, VALUE);
        let (origins, end) = Section::new(end, parts.origins.end - parts.origins.start, ORIGIN);
        let mut end = end;
        let mut windows = Vec::new();
        for (_, held) in &parts.windows {
            let (window, next) = Section::new(end, (held.end - held.start) as u32, COUNTED);
            windows.push(window);
            end = next;
        }
        let (heap, end) = Section::new(end, parts.heap, 1);
        Self {
            parts,
            calls,
            values,
            origins,
            windows,
            heap,
            pages,
            loaded: (0..end).map(|_| OnceLock::new()).collect(),
            damaged: AtomicBool::new(false),
        }
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Takes in that a page is not what was written; returns `None` for the value that it would have had.
    pub(super) fn is_wrong<T>(&self) -> Option<T> {
        self.damaged.store(true, Ordering::Relaxed);
        None
    }

    fn page(&self, number: u32) -> Option<&[u8]> {
        let loaded = self.loaded.get(number as usize)?.get_or_init(|| {
            let mut page = Box::new([0; PAGE_BYTES]);
            let read = self.pages.read(number, &mut page);
            let (data, stated) = page.split_at_checked(DATA)?;
            (read && check(&self.parts.salt, number, data) == stated).then_some(page)
        });
        match loaded {
            Some(page) => page.get(..DATA),
            None => self.is_wrong(),
        }
    }

    /// A record by its place in a section, which must be below its count.
    pub(super) fn record(&self, section: Section, at: u32) -> Option<&[u8]> {
        let (page, at) = (at / section.per_page(), at % section.per_page());
        let start = at as usize * section.width;
        self.page(section.first + page)?
            .get(start..start + section.width)
    }

    /// The bytes of a blob.
    pub(super) fn blob(&self, (at, length): (u32, u32)) -> Option<Vec<u8>> {
        let end = at.checked_add(length).filter(|end| *end <= self.heap.count);
        let Some(end) = end else {
            return self.is_wrong();
        };
        let (mut bytes, mut at) = (Vec::with_capacity(length as usize), at);
        while at < end {
            let (page, start) = (at / DATA as u32, at as usize % DATA);
            let count = (DATA - start).min((end - at) as usize);
            let data = self.page(self.heap.first + page)?;
            bytes.extend(data.get(start..start + count)?);
            at += count as u32;
        }
        Some(bytes)
    }

    /// The call of this key.
    pub(super) fn find_call(&self, key: &Hash) -> Option<Blob> {
        let at = search::first(self, self.calls, key)?;
        let record = In(self.record(self.calls, at)?);
        match call(record) {
            Some((found, blob)) if found == *key => Some(blob),
            _ => None,
        }
    }

    /// What is known of a call with this blob.
    pub(super) fn known(&self, blob: Blob, trackers: usize) -> Option<Known> {
        let Some(blob) = blob else {
            return Some(Known::Ended);
        };
        let bytes = self.blob(blob)?;
        match In(&bytes).open(trackers) {
            Some(open) => Some(Known::Open(Box::new(open))),
            None => self.is_wrong(),
        }
    }

    /// Adds the entries of a value, the last one first.
    pub(super) fn find_entries(&self, value: &Hash, found: &mut Vec<(u32, Entry)>) {
        let Some(start) = search::first(self, self.values, value) else {
            return;
        };
        let known = found.len();
        for at in start..self.values.count {
            match self
                .record(self.values, at)
                .and_then(|record| entry(In(record)))
            {
                Some((hash, number, entry)) if hash == *value => found.push((number, entry)),
                _ => break,
            }
        }
        if let Some(new) = found.get_mut(known..) {
            new.reverse();
        }
    }

    /// The call of this number that brought values, if it is in this layer.
    pub(super) fn origin(&self, number: u32) -> Option<Call> {
        let held = &self.parts.origins;
        let at = held.contains(&number).then(|| number - held.start)?;
        let mut record = In(self.record(self.origins, at)?);
        let blob = self.blob((record.word()?, record.word()?))?;
        let mut blob = In(&blob);
        let (Some(tool), Some(key)) = (blob.text(), blob.text()) else {
            return self.is_wrong();
        };
        Some(Call {
            tool: tool.into(),
            key: key.into(),
        })
    }

    /// The call of this number in the window of a measure, if it is in this layer.
    pub(super) fn counted(&self, measure: u32, number: u64) -> Option<Counted> {
        let mut windows = self.parts.windows.iter().zip(&self.windows);
        let ((_, held), section) =
            windows.find(|((of, held), _)| *of == measure && held.contains(&number))?;
        let record = self.record(*section, (number - held.start) as u32)?;
        match counted(In(record)) {
            Some(counted) => Some(counted),
            None => self.is_wrong(),
        }
    }
}

/// The checksum of a page.
pub(super) fn check(salt: &Hash, number: u32, data: &[u8]) -> Hash {
    hash::half(&[salt, &number.to_le_bytes(), data])
}

/// A call, from its record.
pub(super) fn call(mut record: In<'_>) -> Option<(Hash, Blob)> {
    let (key, at, length) = (record.array()?, record.word()?, record.word()?);
    Some((key, (at != ENDED).then_some((at, length))))
}

/// The hash of a value, and its number and its entry, from its record. Entries of one value lead to no other.
pub(super) fn entry(mut record: In<'_>) -> Option<(Hash, u32, Entry)> {
    let (value, number, call) = (record.array()?, record.word()?, record.word()?);
    let half = |record: &mut In<'_>| record.array().map(u16::from_le_bytes);
    let (source, field) = (half(&mut record)?, half(&mut record)?);
    let next = crate::memory::table::END;
    let entry = Entry {
        next,
        call,
        source,
        field,
    };
    (u32::from(source) < u64::BITS).then_some((value, number, entry))
}

fn counted(mut record: In<'_>) -> Option<Counted> {
    Some(Counted {
        at: record.array().map(i64::from_le_bytes)?,
        call: record.array().map(u64::from_le_bytes)?,
        sum: record.fixed_exact()?,
        amount: record.fixed_exact()?,
    })
}
