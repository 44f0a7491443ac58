//! Format specifications of f-strings: `[[fill]align][sign][#][0][width][grouping][.precision][type]`.

use super::exception::{Exception, Trouble};
use super::show;
use super::text::length;
use super::value::{Budget, Run, Val};
use crate::value::Value;
use crate::value::bigint::BigInt;

/// Widest field, and most digits behind a point.
const MAX_WIDTH: usize = 1024;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spec {
    fill: Option<char>,
    align: Option<char>,
    /// Whether `0` before the width said how to align.
    zeros: bool,
    sign: Option<char>,
    other: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    kind: Option<char>,
}

impl Spec {
    fn parse(text: &str) -> Option<Self> {
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

    fn padded(self, sign: &str, body: &str, align: char) -> String {
        let missing = self.width.saturating_sub(length(sign) + length(body));
        let fill = |count| self.fill.unwrap_or(' ').to_string().repeat(count);
        match self.align.unwrap_or(align) {
            '<' => format!("{sign}{body}{}", fill(missing)),
            '^' => format!(
                "{}{sign}{body}{}",
                fill(missing / 2),
                fill(missing - missing / 2)
            ),
            '=' => format!("{sign}{}{body}", fill(missing)),
            _ => format!("{}{sign}{body}", fill(missing)),
        }
    }

    fn sign_of(self, negative: bool) -> &'static str {
        match (negative, self.sign) {
            (true, _) => "-",
            (false, Some('+')) => "+",
            (false, Some(' ')) => " ",
            (false, _) => "",
        }
    }
}

/// Whether a specification is one that is known here.
pub(crate) fn is_known(text: &str) -> bool {
    Spec::parse(text).is_some()
}

/// Appends `format(value, spec)`.
pub(super) fn format_of<V: Value>(
    value: &Val<'_, V>,
    spec: &str,
    out: &mut String,
    budget: &mut Budget,
) -> Run<()> {
    if spec.is_empty() {
        return show::str_of(value, out, budget);
    }
    let parsed = Spec::parse(spec).ok_or(Trouble::UNSUPPORTED)?;
    let text = if let Some(text) = value.text() {
        text_of(text, parsed)?
    } else {
        match value {
            Val::Bool(flag) => integer_of(&BigInt::from(i64::from(*flag)), parsed)?,
            Val::Int(number) => integer_of(&BigInt::from(*number), parsed)?,
            Val::Big(number) => integer_of(number, parsed)?,
            Val::Float(number) => float_of(*number, parsed)?,
            Val::Opaque(broken) => return Err((*broken).into()),
            Val::Moment(_) => return Err(Trouble::UNSUPPORTED),
            // `object.__format__` takes no specification.
            _ => return Err(Exception::TYPE.into()),
        }
    };
    budget.bytes(text.len())?;
    out.push_str(&text);
    Ok(())
}

fn text_of(text: &str, mut spec: Spec) -> Run<String> {
    if spec.zeros {
        // A text is filled with zeros behind it.
        spec.align = None;
    }
    if spec.kind.is_some_and(|kind| kind != 's')
        || spec.sign.is_some()
        || spec.other
        || spec.grouping.is_some()
        || spec.align == Some('=')
    {
        return Err(Exception::VALUE.into());
    }
    let cut = match spec.precision {
        Some(precision) => super::text::slice(text, 0, precision),
        None => text,
    };
    Ok(spec.padded("", cut, '<'))
}

fn integer_of(value: &BigInt, spec: Spec) -> Run<String> {
    match spec.kind {
        None | Some('d') => {}
        Some('f' | 'F' | 'e' | 'E' | 'g' | 'G' | '%') => {
            let value = value.to_f64().ok_or(Exception::OVERFLOW)?;
            return float_of(value, spec);
        }
        Some('s') => return Err(Exception::VALUE.into()),
        Some(_) => return Err(Trouble::UNSUPPORTED),
    }
    if spec.precision.is_some() {
        return Err(Exception::VALUE.into());
    }
    let digits = value.abs().to_string();
    let body = grouped(&digits, spec)?;
    Ok(spec.padded(spec.sign_of(value.is_negative()), &body, '>'))
}

/// Digits with a separator between thousands.
fn grouped(digits: &str, spec: Spec) -> Run<String> {
    let Some(separator) = spec.grouping else {
        return Ok(digits.to_owned());
    };
    if spec.fill == Some('0') && spec.align == Some('=') && spec.width > 0 {
        // Zeros of the fill are grouped too.
        return Err(Trouble::UNSUPPORTED);
    }
    let whole_length = digits.find(['.', 'e']).unwrap_or(digits.len());
    let (whole, rest) = digits.split_at(whole_length);
    if !whole.bytes().all(|digit| digit.is_ascii_digit()) {
        return Ok(digits.to_owned());
    }
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(separator);
        }
        out.push(digit);
    }
    Ok(out + rest)
}

fn float_of(value: f64, spec: Spec) -> Run<String> {
    if spec.other {
        return Err(Trouble::UNSUPPORTED);
    }
    let magnitude = value.abs();
    let negative = value.is_sign_negative() && !value.is_nan();
    let body = match spec.kind {
        _ if !value.is_finite() => {
            let text = show::float(magnitude);
            let percent = if spec.kind == Some('%') { "%" } else { "" };
            match spec.kind {
                None | Some('f' | 'e' | 'g' | '%') => text + percent,
                Some('F' | 'E' | 'G') => text.to_ascii_uppercase(),
                Some('d' | 's') => return Err(Exception::VALUE.into()),
                Some(_) => return Err(Trouble::UNSUPPORTED),
            }
        }
        None if spec.precision.is_none() => show::float(magnitude),
        Some('f' | 'F') => format!("{magnitude:.*}", spec.precision.unwrap_or(6)),
        Some('%') => {
            let value = magnitude * 100.0;
            if !value.is_finite() {
                return Err(Trouble::UNSUPPORTED);
            }
            format!("{value:.*}%", spec.precision.unwrap_or(6))
        }
        Some('e' | 'E') => {
            let text = format!("{magnitude:.*e}", spec.precision.unwrap_or(6));
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let exponent: i32 = exponent.parse().unwrap_or(0);
            let sign = if exponent < 0 { '-' } else { '+' };
            let text = format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs());
            if spec.kind == Some('E') {
                text.to_ascii_uppercase()
            } else {
                text
            }
        }
        Some('d' | 's') => return Err(Exception::VALUE.into()),
        None | Some(_) => return Err(Trouble::UNSUPPORTED),
    };
    let body = grouped(&body, spec)?;
    Ok(spec.padded(spec.sign_of(negative), &body, '>'))
}
