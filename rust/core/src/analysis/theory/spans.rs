//! Sets of lengths.

/// Ranges of lengths, ascending and apart, both ends inclusive; `None` is no end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spans(Vec<(u64, Option<u64>)>);

impl Spans {
    /// All lengths.
    pub(super) fn all() -> Self {
        Self(vec![(0, None)])
    }

    /// Returns true if every length is in it.
    pub(super) fn is_all(&self) -> bool {
        self.0 == [(0, None)]
    }

    /// Returns true if no length is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if every shorter length is in it with a length.
    pub(super) fn is_downward(&self) -> bool {
        matches!(self.0.as_slice(), [] | [(0, _)])
    }

    /// Keeps what is within bounds; not `wanted`: what is not.
    pub(super) fn keep(&mut self, min: u64, max: Option<u64>, wanted: bool) {
        let ranges: Vec<(u64, Option<u64>)> = match (wanted, min.checked_sub(1), max) {
            _ if max.is_some_and(|max| max < min) => match wanted {
                true => Vec::new(),
                false => vec![(0, None)],
            },
            (true, _, _) => vec![(min, max)],
            (false, below, above) => {
                let above = above.and_then(|max| max.checked_add(1));
                let below = below.map(|below| (0, Some(below)));
                below
                    .into_iter()
                    .chain(above.map(|above| (above, None)))
                    .collect()
            }
        };
        let mut kept = Vec::new();
        for (low, high) in &self.0 {
            for (from, to) in &ranges {
                let start = (*low).max(*from);
                let end = match (*high, *to) {
                    (Some(high), Some(to)) => Some(high.min(to)),
                    (high, to) => high.or(to),
                };
                if end.is_none_or(|end| start <= end) {
                    kept.push((start, end));
                }
            }
        }
        self.0 = kept;
    }

    /// The least length in it from `length` on.
    pub(super) fn next(&self, length: u64) -> Option<u64> {
        let ahead = self
            .0
            .iter()
            .find(|(_, high)| high.is_none_or(|high| length <= high));
        ahead.map(|(low, _)| length.max(*low))
    }

    /// The length from which on every one is in it.
    pub(super) fn settled(&self) -> Option<u64> {
        match self.0.last() {
            Some((low, None)) => Some(*low),
            Some((_, Some(_))) | None => None,
        }
    }
}
