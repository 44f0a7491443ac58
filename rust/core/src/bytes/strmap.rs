//! A frozen map with string keys, for look-ups on the hot path.
//!
//! PERF: a fast unkeyed hash picks a short run of entries; keys made to collide cost a binary search, never a walk.

use super::short::same;

/// The map.
#[derive(Debug)]
pub(crate) struct StrMap<T> {
    /// Sorted by (hash, key).
    entries: Vec<(u64, Box<str>, T)>,
    /// Start of the run of every prefix of a hash; one more than there are prefixes.
    starts: Vec<u32>,
    shift: u32,
    /// The bytes of the longest key. PERF: the hash of a long text takes as long as ten tests.
    longest: usize,
}

impl<T> Default for StrMap<T> {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl<T> StrMap<T> {
    /// A map of `entries`, which have distinct keys.
    pub(crate) fn new(entries: Vec<(Box<str>, T)>) -> Self {
        let mut entries: Vec<_> = entries
            .into_iter()
            .map(|(key, value)| (hash(&key), key, value))
            .collect();
        entries.sort_unstable_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let longest = entries.iter().map(|(_, key, _)| key.len()).max();
        let bits = usize::BITS - entries.len().leading_zeros() + 1;
        let shift = 64 - bits;
        let mut starts = vec![0_u32; (1_usize << bits) + 1];
        let mut at = 0_usize;
        for (prefix, start) in starts.iter_mut().enumerate() {
            while entries
                .get(at)
                .is_some_and(|(hash, _, _)| ((hash >> shift) as usize) < prefix)
            {
                at += 1;
            }
            *start = at as u32;
        }
        Self {
            entries,
            starts,
            shift,
            longest: longest.unwrap_or(0),
        }
    }

    /// All values, in an order of its own.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(_, _, value)| value)
    }

    /// Returns true if the map has no entry.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of `key`.
    #[inline]
    pub(crate) fn get(&self, key: &str) -> Option<&T> {
        if self.entries.is_empty() || key.len() > self.longest {
            return None;
        }
        let hash = hash(key);
        let prefix = (hash >> self.shift) as usize;
        let (start, end) = (
            *self.starts.get(prefix)? as usize,
            *self.starts.get(prefix + 1)? as usize,
        );
        let run = self.entries.get(start..end)?;
        if run.len() > 8 {
            let found = run
                .binary_search_by(|(h, k, _)| (*h, k.as_ref()).cmp(&(hash, key)))
                .ok()?;
            return run.get(found).map(|(_, _, value)| value);
        }
        for (h, k, value) in run {
            if *h == hash && same(k.as_bytes(), key.as_bytes()) {
                return Some(value);
            }
        }
        None
    }
}

#[inline]
fn hash(key: &str) -> u64 {
    crate::bytes::hash::hash(key.as_bytes(), 0)
}

#[cfg(test)]
mod tests {
    use super::StrMap;

    #[test]
    fn every_key_is_found_and_no_other() {
        for size in [0, 1, 2, 7, 100, 5000] {
            let map = StrMap::new((0..size).map(|i| (format!("key {i}").into(), i)).collect());
            for i in 0..size {
                assert_eq!(map.get(&format!("key {i}")), Some(&i));
            }
            assert_eq!(map.get("key"), None);
            assert_eq!(map.get("key 1 and more"), None);
            assert_eq!(map.get(""), None);
        }
    }
}
