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

/// Pairs from runs: the gap before the first source, the distance from source to target, the number of pairs, and the
/// step from one to the next, in turn.
#[expect(clippy::indexing_slicing, reason = "the compiler evaluates it")]
pub(super) const fn pairs<const N: usize>(packed: &[i32]) -> [(u32, u32); N] {
    let mut found = [(0, 0); N];
    let (mut at, mut run, mut source) = (0, 0, 0_i32);
    while run < packed.len() {
        source += packed[run];
        let (distance, end) = (packed[run + 1], at + packed[run + 2] as usize);
        loop {
            found[at] = (source as u32, (source + distance) as u32);
            at += 1;
            if at == end {
                break;
            }
            source += packed[run + 3];
        }
        run += 4;
    }
    found
}

/// Rows of a source and its targets, from runs: the first source, the number of rows, and the three targets of the first
/// row, in turn. From row to row the source and the first target ascend by one.
#[expect(clippy::indexing_slicing, reason = "the compiler evaluates it")]
pub(super) const fn texts<const N: usize>(packed: &[u16]) -> [[u16; 4]; N] {
    let mut found = [[0; 4]; N];
    let (mut at, mut run) = (0, 0);
    while run < packed.len() {
        let mut number = 0;
        while number < packed[run + 1] {
            let (source, target) = (packed[run] + number, packed[run + 2] + number);
            found[at] = [source, target, packed[run + 3], packed[run + 4]];
            at += 1;
            number += 1;
        }
        run += 5;
    }
    found
}
