//! Format specifications of f-strings.

/// Widest field, and most digits behind a point.
pub(crate) const MAX_WIDTH: usize = 1024;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) fill: Option<char>,
    pub(crate) align: Option<char>,
    /// True if `0` before the width set the alignment.
    pub(crate) zeros: bool,
    pub(crate) sign: Option<char>,
    pub(crate) other: bool,
    pub(crate) width: usize,
    pub(crate) grouping: Option<char>,
    pub(crate) precision: Option<usize>,
    pub(crate) kind: Option<char>,
}

impl Spec {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut spec = Self::default();
        let chars: Vec<char> = text.chars().collect();
        let mut at = 0;
        let is_align = |found: Option<&char>| found.is_some_and(|found| "<>=^".contains(*found));
        if is_align(chars.get(1)) {
            (spec.fill, spec.align) = (chars.first().copied(), chars.get(1).copied());
            at = 2;
        } else if is_align(chars.first()) {
            spec.align = chars.first().copied();
            at = 1;
        }
        let mut take = |wanted: &str| {
            let found = chars
                .get(at)
                .copied()
                .filter(|found| wanted.contains(*found));
            at += usize::from(found.is_some());
            found
        };
        spec.sign = take("+- ");
        spec.other = take("#").is_some();
        if take("0").is_some() {
            spec.fill = spec.fill.or(Some('0'));
            spec.zeros = spec.align.is_none();
            spec.align = spec.align.or(Some('='));
        }
        let mut digits = String::new();
        while let Some(digit) = take("0123456789") {
            digits.push(digit);
        }
        if !digits.is_empty() {
            spec.width = digits.parse().ok()?;
        }
        spec.grouping = take(",_");
        if take(".").is_some() {
            let mut digits = String::new();
            while let Some(digit) = take("0123456789") {
                digits.push(digit);
            }
            spec.precision = Some(digits.parse().ok()?);
        }
        spec.kind = chars.get(at).copied();
        at += usize::from(spec.kind.is_some());
        let sane = at == chars.len()
            && spec.width <= MAX_WIDTH
            && spec
                .precision
                .is_none_or(|precision| precision <= MAX_WIDTH);
        sane.then_some(spec)
    }
}

/// Returns true if a specification is supported.
pub(crate) fn is_known(text: &str) -> bool {
    Spec::parse(text).is_some()
}
