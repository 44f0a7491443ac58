//! Known keys, in a form that is compared with a text at once.

/// The bytes of a text that a key is compared with.
const WIDTH: usize = 16;

/// The keys of an object.
pub(crate) struct Keys<const N: usize> {
    pub(crate) names: [&'static str; N],
    pub(super) quoted: [Quoted; N],
}

impl<const N: usize> Keys<N> {
    #[expect(clippy::indexing_slicing, reason = "the compiler evaluates it")]
    pub(crate) const fn new(names: [&'static str; N]) -> Self {
        let mut quoted = [const { Quoted::new("") }; N];
        let mut at = 0;
        while at < N {
            quoted[at] = Quoted::new(names[at]);
            at += 1;
        }
        Self { names, quoted }
    }
}

/// A key with its quotes. PERF: keys are a third of the words of a request; 7 instructions compare one.
#[derive(Clone, Copy)]
pub(super) struct Quoted {
    words: [u64; 2],
    masks: [u64; 2],
    /// In bytes.
    pub(super) length: usize,
}

impl Quoted {
    /// The form of a key; of one that has no such form, one that no text begins with.
    #[expect(clippy::indexing_slicing, reason = "the compiler evaluates it")]
    const fn new(key: &str) -> Self {
        let (key, length) = (key.as_bytes(), key.len() + 2);
        let (mut word, mut mask) = ([0; WIDTH], [0; WIDTH]);
        if length > WIDTH {
            word = [1; WIDTH];
        } else {
            let mut at = 0;
            while at < length {
                let quote = at == 0 || at == length - 1;
                word[at] = if quote { b'"' } else { key[at - 1] };
                mask[at] = u8::MAX;
                at += 1;
            }
        }
        Self {
            words: halves(&word),
            masks: halves(&mask),
            length,
        }
    }

    /// Returns true if a text that begins with these bytes begins with the key.
    #[inline]
    pub(super) fn begins(&self, text: &[u8; WIDTH]) -> bool {
        let ([a, b], [c, d], [e, f]) = (halves(text), self.masks, self.words);
        (a & c ^ e) | (b & d ^ f) == 0
    }
}

/// PERF: two numbers; one of 128 bits goes through a vector register.
#[inline]
const fn halves(bytes: &[u8; WIDTH]) -> [u64; 2] {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *bytes;
    [
        u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        u64::from_le_bytes([i, j, k, l, m, n, o, p]),
    ]
}

#[cfg(test)]
mod tests {
    use super::{Keys, WIDTH};

    #[test]
    fn a_key_is_found_only_with_both_quotes() {
        let keys = Keys::new([
            "",
            "tool",
            "twelve_bytes",
            "fourteen_bytes",
            "fifteen_letters",
        ]);
        for (quoted, name) in keys.quoted.iter().zip(keys.names) {
            let begins = |text: &str| {
                let mut bytes = [b' '; WIDTH];
                for (place, byte) in bytes.iter_mut().zip(text.bytes()) {
                    *place = byte;
                }
                quoted.begins(&bytes)
            };
            let fits = name.len() + 2 <= WIDTH;
            assert_eq!(begins(&format!("\"{name}\"")), fits, "{name}");
            assert_eq!(begins(&format!("\"{name}\":1")), fits, "{name}");
            for other in [
                format!("\"{name}x\""),
                format!("{name}\""),
                format!("\"{name}:"),
            ] {
                assert!(!begins(&other), "{other}");
            }
        }
    }
}
