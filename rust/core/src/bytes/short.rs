//! Comparing short texts.
//!
//! PERF: keys and names of tools are short, and of lengths that are not known beforehand: for these the library calls a
//! function. It was 7 % of the time of a decision on a line of JSON.

/// Returns true if two texts are equal.
#[inline]
pub(crate) fn same(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    match left.len() {
        0 => true,
        1..4 => ends::<1>(left, right) && left.get(1) == right.get(1),
        4..8 => ends::<4>(left, right),
        8..=16 => ends::<8>(left, right),
        _ => left == right,
    }
}

/// Returns true if two texts of one length begin and end with the same `N` bytes; false for shorter texts.
#[inline]
fn ends<const N: usize>(left: &[u8], right: &[u8]) -> bool {
    match (
        left.first_chunk::<N>().zip(right.first_chunk::<N>()),
        left.last_chunk::<N>().zip(right.last_chunk::<N>()),
    ) {
        (Some((a, b)), Some((c, d))) => a == b && c == d,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn texts_are_the_same_when_each_byte_is() {
        for length in 0..40 {
            let text: Vec<u8> = (0..length).collect();
            assert!(same(&text, &text.clone()), "{length}");
            for shorter in 0..length as usize {
                assert!(!same(&text, &text[..shorter]), "{length}, {shorter}");
            }
            for changed in 0..length as usize {
                let mut other = text.clone();
                other[changed] ^= 1;
                assert!(!same(&text, &other), "{length}, {changed}");
            }
        }
    }
}
