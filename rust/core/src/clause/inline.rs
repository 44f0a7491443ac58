//! Inline tests: the commonest tests of scalars, with their operands beside the clause.
//!
//! PERF: a clause of the program leads to its test, and the test to its operand: three lines of memory, and the memory of
//! its result a fourth. The rows of a tool hold these tests themselves, in the order of reading.
//!
//! INVARIANT: a result is that of the test it was made from. Any value that may be in error, or take steps, has none here.

use super::ops::ordering::Relation;
use super::prepared::PreparedConst;
use crate::bytes::short::same;
use crate::limits::{FREE_COUNT, FREE_TEXT};
use crate::num::number::Number;
use crate::value::{Value, View};

/// Most bytes of a text that is kept inline.
const MAX_TEXT: usize = 22;

/// Most texts or numbers of one test.
pub(crate) const MAX_ITEMS: usize = 8;

/// Up to this magnitude every integer is a float.
const EXACT: u64 = 1 << 53;

/// A test of a scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum InlineTest {
    /// No such test.
    None,
    /// Equality with a bool.
    Flag(bool),
    /// Equality with a text.
    Text(ShortText),
    /// Equality with one of some texts; negated if the first is true.
    Texts(bool, Box<[ShortText]>),
    /// The same with texts of any length. PERF: a text of another length is not read.
    LongTexts(bool, Box<[Box<str>]>),
    /// Equality with a number.
    Number(f64),
    /// Equality with one of some numbers; negated if the first is true.
    Numbers(bool, Box<[f64]>),
    /// A comparison with a bound.
    Order(Relation, f64),
    /// A number from one bound to another, both within; negated if the first is true.
    Between(bool, f64, f64),
    /// An instant from one to another, both within; negated if the first is true.
    Instant(bool, i64, i64),
    /// The number of characters of a text or of items of a list, of bytes if the first is true, from one bound to another, both
    /// within.
    Length(bool, f64, f64),
}

/// A text of a few bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShortText {
    length: u8,
    bytes: [u8; MAX_TEXT],
}

impl ShortText {
    /// `None`: the text is too long.
    fn new(text: &str) -> Option<Self> {
        let mut bytes = [0; MAX_TEXT];
        bytes
            .get_mut(..text.len())?
            .copy_from_slice(text.as_bytes());
        Some(Self {
            length: text.len() as u8,
            bytes,
        })
    }

    #[inline]
    fn is(&self, text: &str) -> bool {
        let own = self.bytes.get(..self.length.into()).unwrap_or_default();
        same(own, text.as_bytes())
    }
}

impl InlineTest {
    /// Equality with a scalar that is no bool.
    pub(crate) fn equal(operand: &PreparedConst) -> Self {
        let made = match operand {
            PreparedConst::Str(text) => Some(match ShortText::new(text) {
                Some(text) => Self::Text(text),
                None => Self::LongTexts(false, [text.clone()].into()),
            }),
            operand => float(operand).map(Self::Number),
        };
        made.unwrap_or(Self::None)
    }

    /// Equality with one of some texts, or with none of them.
    pub(crate) fn one_of(negated: bool, texts: &[Box<str>]) -> Self {
        if texts.len() > MAX_ITEMS {
            return Self::None;
        }
        let short: Option<Box<[ShortText]>> =
            texts.iter().map(|text| ShortText::new(text)).collect();
        match short {
            Some(texts) => Self::Texts(negated, texts),
            None => Self::LongTexts(negated, texts.into()),
        }
    }

    /// Equality with one of some numbers, or with none of them.
    pub(crate) fn one_of_numbers(negated: bool, numbers: impl Iterator<Item = Number>) -> Self {
        let numbers = numbers.take(MAX_ITEMS + 1).map(|number| exact(&number));
        match numbers.collect::<Option<Box<[f64]>>>() {
            Some(numbers) if numbers.len() <= MAX_ITEMS => Self::Numbers(negated, numbers),
            Some(_) | None => Self::None,
        }
    }

    /// The number of characters, or of bytes, that passes some tests of numbers.
    pub(crate) fn length(bytes: bool, tests: impl Iterator<Item = Self>) -> Self {
        let (mut from, mut to) = (0.0_f64, f64::INFINITY);
        for test in tests {
            let (least, most) = match test {
                Self::Number(number) => (number, number),
                Self::Order(Relation::Gt, bound) => (bound.floor() + 1.0, f64::INFINITY),
                Self::Order(Relation::Ge, bound) => (bound, f64::INFINITY),
                Self::Order(Relation::Lt, bound) => (0.0, bound.ceil() - 1.0),
                Self::Order(Relation::Le, bound) => (0.0, bound),
                Self::Between(false, least, most) => (least, most),
                _ => return Self::None,
            };
            (from, to) = (from.max(least), to.min(most));
        }
        Self::Length(bytes, from, to)
    }

    /// A comparison with a bound.
    pub(crate) fn order(relation: Relation, bound: &PreparedConst) -> Self {
        float(bound).map_or(Self::None, |bound| Self::Order(relation, bound))
    }

    /// A comparison with two bounds.
    pub(crate) fn between(negated: bool, from: &PreparedConst, to: &PreparedConst) -> Self {
        match (float(from), float(to)) {
            (Some(from), Some(to)) => Self::Between(negated, from, to),
            _ => Self::None,
        }
    }

    /// A comparison with an instant.
    pub(crate) fn instant(relation: Relation, bound: i64) -> Self {
        let range = match relation {
            Relation::Gt => bound.checked_add(1).map(|from| (from, i64::MAX)),
            Relation::Ge => Some((bound, i64::MAX)),
            Relation::Lt => bound.checked_sub(1).map(|to| (i64::MIN, to)),
            Relation::Le => Some((i64::MIN, bound)),
        };
        range.map_or(Self::None, |(from, to)| Self::Instant(false, from, to))
    }

    /// The result for a value; `None`: the test itself has to be evaluated.
    #[inline]
    pub(crate) fn eval<V: Value>(&self, value: &V) -> Option<bool> {
        Some(match self {
            Self::None => return None,
            Self::Flag(wanted) => match value.view() {
                View::Bool(value) => value == *wanted,
                _ => return None,
            },
            Self::Text(wanted) => wanted.is(free_text(value)?),
            Self::Texts(negated, wanted) => {
                let text = free_text(value)?;
                wanted.iter().any(|wanted| wanted.is(text)) != *negated
            }
            Self::LongTexts(negated, wanted) => {
                let text = free_text(value)?;
                wanted.iter().any(|wanted| **wanted == *text) != *negated
            }
            Self::Number(wanted) => number(value)? == *wanted,
            Self::Numbers(negated, wanted) => wanted.contains(&number(value)?) != *negated,
            Self::Order(relation, bound) => {
                let number = number(value)?;
                match relation {
                    Relation::Gt => number > *bound,
                    Relation::Ge => number >= *bound,
                    Relation::Lt => number < *bound,
                    Relation::Le => number <= *bound,
                }
            }
            Self::Between(negated, from, to) => {
                let number = number(value)?;
                (*from <= number && number <= *to) != *negated
            }
            Self::Instant(negated, from, to) => match value.view() {
                View::Timestamp(at) => (*from <= at && at <= *to) != *negated,
                _ => return None,
            },
            Self::Length(bytes, from, to) => {
                let length = match (value.text(), bytes) {
                    (Some(text), _) if text.len() >= FREE_COUNT => return None,
                    (Some(text), true) => text.len(),
                    (Some(text), false) => text.chars().count(),
                    (None, false) if matches!(value.view(), View::List) => value.len(),
                    (None, _) => return None,
                } as f64;
                *from <= length && length <= *to
            }
        })
    }
}

/// A text that takes no steps.
#[inline]
fn free_text<V: Value>(value: &V) -> Option<&str> {
    value.text().filter(|text| text.len() < FREE_TEXT)
}

/// A number, exactly; `None` for NaN.
#[inline]
fn number<V: Value>(value: &V) -> Option<f64> {
    match value.view() {
        View::Int(value) => (value.unsigned_abs() <= EXACT).then_some(value as f64),
        View::Float(value) => (!value.is_nan()).then_some(value),
        _ => None,
    }
}

/// The number of an operand, exactly.
fn float(operand: &PreparedConst) -> Option<f64> {
    match operand {
        PreparedConst::Number(number) => exact(number),
        _ => None,
    }
}

fn exact(number: &Number) -> Option<f64> {
    match number {
        Number::Int(value) => (value.unsigned_abs() <= EXACT).then_some(*value as f64),
        Number::Float(value) => (!value.is_nan()).then_some(*value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::budget::Steps;
    use crate::clause::context::{Around, Referred};
    use crate::clause::inline::InlineTest;
    use crate::clause::lynx::{LynxOp, LynxTest};
    use crate::clause::ops::nesting::Derived;
    use crate::clause::ops::ordering::Relation;
    use crate::clause::ops::{Operator, Prepare};
    use crate::clause::predicate::{Test, Truth, eval_value};
    use crate::clause::prepared::PreparedConst;
    use crate::error::Fault;
    use crate::facets::cache::Cache;
    use crate::limits::FREE_COUNT;
    use crate::num::number::Number;
    use crate::value::constant::Const;
    use crate::value::memory::{LeafValue, Reading, Wanted};
    use crate::value::{Step, Value, View};

    #[derive(Clone, Debug)]
    struct Shown<'v>(View<'v>);

    impl Value for Shown<'_> {
        fn view(&self) -> View<'_> {
            self.0.clone()
        }

        fn text(&self) -> Option<&str> {
            match self.0 {
                View::Str(text) => Some(text),
                _ => None,
            }
        }
    }

    const EXACT: i64 = 1 << 53;

    fn numbers() -> Vec<PreparedConst> {
        let ints = [
            0,
            1,
            -1,
            7,
            EXACT,
            EXACT + 1,
            -EXACT - 1,
            i64::MAX,
            i64::MIN,
        ];
        let floats = [0.5, -0.5, 1e300, f64::INFINITY, f64::NAN, 6.999_999];
        let ints = ints.into_iter().map(Number::Int);
        let numbers = ints.chain(floats.into_iter().map(Number::from_float));
        numbers.map(PreparedConst::Number).collect()
    }

    fn texts() -> Vec<PreparedConst> {
        let long = "x".repeat(23);
        let texts = ["", "a", "prod", "production, Zürich", &long[..22], &long];
        texts.map(|text| PreparedConst::Str(text.into())).to_vec()
    }

    fn made(operator: &str, operand: PreparedConst) -> Test {
        match Operator::from_name(operator).map(|op| &op.prepare) {
            Some(Prepare::Constant(prepare)) => prepare(operand).expect("a test"),
            _ => panic!("{operator} takes no constant"),
        }
    }

    fn tests() -> Vec<Test> {
        let scalars = || numbers().into_iter().chain(texts());
        let mut tests: Vec<Test> = scalars().map(|operand| made("eq", operand)).collect();
        tests.extend([true, false].map(|flag| made("eq", PreparedConst::Bool(flag))));
        tests.push(made("eq", PreparedConst::Null));
        let instants = [i64::MIN, -8, 0, 7, 8, i64::MAX].map(PreparedConst::Timestamp);
        for operator in ["gt", "ge", "lt", "le"] {
            tests.extend(scalars().map(|bound| made(operator, bound)));
            tests.extend(instants.clone().map(|bound| made(operator, bound)));
        }
        for operator in ["between", "not_between"] {
            for bounds in instants.windows(3) {
                let ends = vec![bounds[0].clone(), bounds[2].clone()];
                tests.push(made(operator, PreparedConst::List(ends)));
            }
            for from in numbers() {
                let bounds = numbers().into_iter();
                let bounds = bounds.map(|to| PreparedConst::List(vec![from.clone(), to]));
                tests.extend(bounds.map(|bounds| made(operator, bounds)));
            }
        }
        let lists = [
            texts(),
            texts()[1..4].to_vec(),
            texts()[..1].to_vec(),
            Vec::new(),
            numbers()[..3].to_vec(),
            vec![PreparedConst::Str("a".into()), PreparedConst::Bool(true)],
            vec![PreparedConst::Str("a".into()), PreparedConst::Null],
        ];
        let more = [&numbers()[..8], &numbers()[9..13], &numbers()[..9]];
        let lists = [&lists[..], &more.map(<[_]>::to_vec)].concat();
        for operator in ["in", "not_in"] {
            let lists = lists.iter().cloned().map(PreparedConst::List);
            tests.extend(lists.map(|list| made(operator, list)));
        }
        tests
    }

    fn lynx_tests() -> Vec<LynxTest> {
        let scalars: Vec<Const> = numbers()
            .into_iter()
            .chain(texts())
            .map(|operand| match operand {
                PreparedConst::Number(Number::Int(value)) => Const::Int(value),
                PreparedConst::Number(Number::Float(value)) => Const::Float(value),
                PreparedConst::Str(text) => Const::Str(text),
                other => panic!("{other:?}"),
            })
            .chain([Const::Bool(true), Const::Bool(false), Const::Null])
            .chain([Const::Float(f64::NAN), Const::Timestamp(7)])
            .collect();
        let orders = [Relation::Gt, Relation::Ge, Relation::Lt, Relation::Le];
        let mut tests = Vec::new();
        for operand in &scalars {
            let ops = orders.into_iter().map(LynxOp::Order).chain([LynxOp::Eq]);
            tests.extend(ops.map(|op| LynxTest::new(op, operand, None)));
            for other in &scalars {
                let pair = Const::List(vec![operand.clone(), other.clone()]);
                let ops = [LynxOp::Between, LynxOp::NotBetween, LynxOp::In];
                tests.extend(ops.map(|op| LynxTest::new(op, &pair, None)));
            }
        }
        for length in [0, 1, 7, 8, 9, scalars.len()] {
            let list = Const::List(scalars[scalars.len() - length..].to_vec());
            tests.push(LynxTest::new(LynxOp::In, &list, None));
            let texts = ["a", "b", "prod", "", "d", "e", "f", "g", "h", "i"];
            let list = texts.iter().cycle().take(length);
            let list = Const::List(list.map(|&text| Const::Str(text.into())).collect());
            tests.push(LynxTest::new(LynxOp::In, &list, None));
        }
        tests
    }

    /// A reader without other paths.
    #[derive(Default)]
    struct Alone(Steps, Cache, Referred<Shown<'static>>);

    impl Around<Shown<'static>> for Alone {
        fn at(&self, _: u32) -> Step<Shown<'static>> {
            Step::Absent
        }

        fn steps(&self) -> &Steps {
            &self.0
        }

        fn facets(&self) -> &Cache {
            &self.1
        }

        fn reading(&self, _: u32) -> Result<Reading, Fault> {
            Err(Fault::NoState)
        }

        fn drawn(&self, _: Wanted, _: &LeafValue<'_>) -> Result<bool, Fault> {
            Err(Fault::NoState)
        }

        fn referred(&self) -> &Referred<Shown<'static>> {
            &self.2
        }
    }

    #[test]
    fn an_inline_length_has_the_result_of_its_tests_or_none() {
        let bounds = [-1.0, 0.0, 0.5, 1.0, 2.0, 5.5, 16.0, 18.0, 22.0, 22.5, 23.0];
        let bounds: Vec<PreparedConst> = bounds
            .into_iter()
            .chain([f64::INFINITY, f64::NEG_INFINITY])
            .map(|bound| PreparedConst::Number(Number::from_float(bound)))
            .collect();
        let pair = |from: &PreparedConst, to: &PreparedConst| {
            PreparedConst::List(vec![from.clone(), to.clone()])
        };
        let lists = |operator: &str, (at, operand): (usize, &PreparedConst)| -> Vec<Test> {
            let next = &bounds[(at + 3) % bounds.len()];
            match operator {
                "between" | "not_between" | "in" => vec![made(operator, pair(operand, next))],
                "gt" => vec![made(operator, operand.clone()), made("le", next.clone())],
                _ => vec![made(operator, operand.clone())],
            }
        };
        let (mut some, mut none) = (0, 0);
        for operator in ["eq", "gt", "ge", "lt", "le", "between", "not_between", "in"] {
            for bound in bounds.iter().enumerate() {
                for length in [Derived::Length, Derived::ByteLength] {
                    let test = Test::Derived(Box::new(length(lists(operator, bound))));
                    let inline = test.inline();
                    each_value(|value| {
                        let Some(result) = inline.eval(value) else {
                            none += 1;
                            return;
                        };
                        some += 1;
                        let around = Alone::default();
                        let Test::Derived(derived) = &test else {
                            return;
                        };
                        let evaluated = derived.evaluate(value, &around);
                        assert_eq!(evaluated, Truth::from(Ok(result)), "{test:?} of {value:?}");
                        assert_eq!(around.0.taken(), 0, "{test:?} of {value:?}");
                    });
                }
            }
        }
        assert!(some > 500 && none > 500, "{some}, {none}");
    }

    #[test]
    fn an_inline_test_has_the_result_of_its_test_or_none() {
        each_result(&tests(), Test::inline, |test, value, steps| {
            eval_value(test, value, steps).ok()
        });
    }

    #[test]
    fn an_inline_test_of_the_lynx_profile_has_its_result_or_none() {
        each_result(&lynx_tests(), LynxTest::inline, |test, value, steps| {
            test.evaluate(0, Some(value), steps).ok()
        });
    }

    /// Compares the results of inline tests with those of the tests that they are made from, which take no steps for them.
    fn each_result<T: std::fmt::Debug>(
        tests: &[T],
        inline: impl Fn(&T) -> InlineTest,
        evaluate: impl Fn(&T, &Shown<'_>, &Steps) -> Option<bool>,
    ) {
        let (mut made, mut some) = (0, 0);
        for test in tests {
            let inline = inline(test);
            made += u32::from(inline != InlineTest::None);
            each_value(|value| {
                let Some(result) = inline.eval(value) else {
                    return;
                };
                some += 1;
                let steps = Steps::default();
                let evaluated = evaluate(test, value, &steps);
                assert_eq!(evaluated, Some(result), "{test:?} of {value:?}");
                assert_eq!(steps.taken(), 0, "{test:?} of {value:?}");
            });
        }
        assert!(made > 100 && some > 1_000, "{made}, {some}");
    }

    fn each_value(mut visit: impl FnMut(&Shown<'_>)) {
        let long = "x".repeat(23);
        let (longer, longest) = ("a".repeat(2_000), "ä".repeat(FREE_COUNT));
        let mut views: Vec<View<'_>> = vec![
            View::Null,
            View::Bool(true),
            View::Bool(false),
            View::HugeInt,
            View::BadStr,
            View::List,
            View::Map,
            View::Timestamp(7),
            View::Timestamp(-8),
            View::Timestamp(i64::MAX),
            View::Timestamp(i64::MIN),
            View::Opaque,
            View::Str(&longer),
            View::Str(&longest),
        ];
        let ints = [0, 1, -1, 7, EXACT - 1, EXACT, EXACT + 1, i64::MAX, i64::MIN];
        views.extend(ints.map(View::Int));
        let floats = [
            0.0,
            -0.0,
            0.5,
            7.0,
            6.999_999,
            9e15,
            f64::INFINITY,
            f64::NAN,
        ];
        views.extend(floats.map(View::Float));
        let texts = [
            "",
            "a",
            "b",
            "prod",
            "production, Zürich",
            &long[..22],
            &long,
        ];
        views.extend(texts.map(View::Str));
        for view in views {
            visit(&Shown(view));
        }
    }
}
