//! Search for all places of a needle, those that overlap included, in one pass.

use memchr::memmem;

/// Returns the first place of `needle` in `text` that `accept` takes.
pub(super) fn find(text: &[u8], needle: &[u8], accept: impl Fn(usize) -> bool) -> Option<usize> {
    let first = memmem::find(text, needle)?;
    if accept(first) {
        return Some(first);
    }
    // PERF: most needles are found at most once.
    let begin = first + 1;
    let rest = text.get(begin..)?;
    memmem::find(rest, needle)?;
    let borders = borders(needle);
    let mut held = 0;
    for (at, byte) in rest.iter().enumerate() {
        held = advance(needle, &borders, held, *byte);
        if held == needle.len() {
            let place = begin + at + 1 - needle.len();
            if accept(place) {
                return Some(place);
            }
        }
    }
    None
}

/// The length of the beginning of `needle` that the text read so far ends with, after one more byte.
fn advance(needle: &[u8], borders: &[usize], mut held: usize, byte: u8) -> usize {
    loop {
        if needle.get(held) == Some(&byte) {
            return held + 1;
        }
        let Some(shorter) = held.checked_sub(1).and_then(|last| borders.get(last)) else {
            return 0;
        };
        held = *shorter;
    }
}

/// Of each beginning of `needle`, the length of the longest shorter beginning that it ends with.
fn borders(needle: &[u8]) -> Vec<usize> {
    let mut borders = Vec::with_capacity(needle.len());
    borders.push(0);
    let mut held = 0;
    for byte in needle.iter().skip(1) {
        held = advance(needle, &borders, held, *byte);
        borders.push(held);
    }
    borders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_overlap_are_found() {
        let places = |text: &[u8], needle: &[u8]| {
            let mut found = Vec::new();
            for wanted in 0..text.len() {
                found.extend(find(text, needle, |place| place == wanted));
            }
            found
        };
        assert_eq!(places(b"aaaa", b"aa"), [0, 1, 2]);
        assert_eq!(places(b"abababa", b"aba"), [0, 2, 4]);
        assert_eq!(places(b"aabaaabaa", b"aabaa"), [0, 4]);
        assert_eq!(places(b"abc", b"d"), [] as [usize; 0]);
    }
}
