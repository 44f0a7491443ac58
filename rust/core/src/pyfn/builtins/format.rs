//! Format specifications of f-strings: `[[fill]align][sign][#][0][width][grouping][.precision][type]`.

use super::text::length;
use crate::num::bigint::{BigInt, Signed, to_f64};
use crate::pyfn::exception::{Exception, Failure};
use crate::pyfn::format_spec::Spec;
use crate::pyfn::interp::repr;
use crate::pyfn::interp::value::{Budget, Run, Val};
use crate::value::Value;

impl Spec {
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

/// Appends `format(value, spec)`.
pub(in crate::pyfn) fn format_of<V: Value>(
    value: &Val<'_, V>,
    spec: &str,
    out: &mut String,
    budget: &mut Budget,
) -> Run<()> {
    if spec.is_empty() {
        return repr::str_of(value, out, budget);
    }
    let parsed = Spec::parse(spec).ok_or(Failure::UNSUPPORTED)?;
    let text = if let Some(text) = value.text() {
        text_of(text, parsed)?
    } else {
        match value {
            Val::Bool(flag) => integer_of(&BigInt::from(i64::from(*flag)), parsed)?,
            Val::Int(number) => integer_of(&BigInt::from(*number), parsed)?,
            Val::Big(number) => integer_of(number, parsed)?,
            Val::Float(number) => float_of(*number, parsed)?,
            Val::Opaque(broken) => return Err((*broken).into()),
            Val::DateTime(_) => return Err(Failure::UNSUPPORTED),
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
            let value = to_f64(value).ok_or(Exception::OVERFLOW)?;
            return float_of(value, spec);
        }
        Some('s') => return Err(Exception::VALUE.into()),
        Some(_) => return Err(Failure::UNSUPPORTED),
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
        return Err(Failure::UNSUPPORTED);
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
        return Err(Failure::UNSUPPORTED);
    }
    let magnitude = value.abs();
    let negative = value.is_sign_negative() && !value.is_nan();
    let body = match spec.kind {
        _ if !value.is_finite() => {
            let text = repr::float(magnitude);
            let percent = if spec.kind == Some('%') { "%" } else { "" };
            match spec.kind {
                None | Some('f' | 'e' | 'g' | '%') => text + percent,
                Some('F' | 'E' | 'G') => text.to_ascii_uppercase(),
                Some('d' | 's') => return Err(Exception::VALUE.into()),
                Some(_) => return Err(Failure::UNSUPPORTED),
            }
        }
        None if spec.precision.is_none() => repr::float(magnitude),
        Some('f' | 'F') => format!("{magnitude:.*}", spec.precision.unwrap_or(6)),
        Some('%') => {
            let value = magnitude * 100.0;
            if !value.is_finite() {
                return Err(Failure::UNSUPPORTED);
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
        None | Some(_) => return Err(Failure::UNSUPPORTED),
    };
    let body = grouped(&body, spec)?;
    Ok(spec.padded(spec.sign_of(negative), &body, '>'))
}
