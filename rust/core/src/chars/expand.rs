//! Expansion of the packed tables, by the compiler.

/// Inclusive ranges from the gap before each and its length less one, in turn.
#[expect(clippy::indexing_slicing, reason = "the compiler evaluates it")]
pub(super) const fn ranges<const N: usize>(packed: &[u32]) -> [(u32, u32); N] {
    let mut found = [(0, 0); N];
    let (mut at, mut high) = (0, 0);
    while at < N {
        let low = high + packed[2 * at];
        high = low + packed[2 * at + 1];
        found[at] = (low, high);
        at += 1;
    }
    found
}

/// Pairs from runs: the first pair, the number of pairs, and the step from one to the next.
#[expect(clippy::indexing_slicing, reason = "the compiler evaluates it")]
pub(super) const fn pairs<const N: usize>(runs: &[(u32, u32, u32, u32)]) -> [(u32, u32); N] {
    let mut found = [(0, 0); N];
    let (mut at, mut run) = (0, 0);
    while run < runs.len() {
        let (source, target, count, step) = runs[run];
        let mut number = 0;
        while number < count {
            found[at] = (source + number * step, target + number * step);
            at += 1;
            number += 1;
        }
        run += 1;
    }
    found
}
