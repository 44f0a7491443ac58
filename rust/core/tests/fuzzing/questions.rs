//! Questions about policies of a fuzzer's making: answered, or unknown with a reason, within their budgets.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Builder;

use bobcat_core::analysis::{Analysis, Budget, Clock, Host};

/// Looks at the clock after which a question is over: the same on every machine.
const LOOKS: usize = 3_000;
/// Expressions and diagrams are walked by recursion.
const STACK: usize = 1 << 28;

const BUDGET: Budget = Budget {
    states: 2_000,
    nodes: 20_000,
    assignments: 60,
    is_over: None,
};

const QUESTIONS: [&str; 4] = [
    r#"{"ask":"compare","old":0,"new":1,"limit":8,"seconds":1}"#,
    r#"{"ask":"rules","policy":0,"seconds":1}"#,
    r#"{"ask":"tools","seconds":1}"#,
    r#"{"ask":"find","seconds":1,"where":[{"policy":0,"verdicts":["allow","transform"]}]}"#,
];

const VECTORS: &str = include_str!("../../../../tests/vectors/cases.jsonl");

/// The policies of the case corpus, as IR.
pub(crate) fn corpus() -> &'static [&'static str] {
    static CORPUS: OnceLock<Vec<&'static str>> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let ir = |line: &'static str| {
            let (ir, _) = line
                .strip_prefix(r#"{"ir":"#)?
                .split_once(r#","requests":["#)?;
            Some(ir)
        };
        VECTORS.lines().filter_map(ir).collect()
    })
}

/// A host whose time is a number of looks at the clock.
struct Counting;

impl Host for Counting {
    fn clock(&mut self, _: Option<f64>) -> Option<Clock> {
        let looks = AtomicUsize::new(0);
        Some(Arc::new(move || {
            looks.fetch_add(1, Ordering::Relaxed) >= LOOKS
        }))
    }

    fn progress(&mut self, _: usize, _: usize, _: Option<&str>) -> bool {
        true
    }
}

/// A byte that chooses a question, two that choose another policy, and IR: refused with a code, or answered; every call
/// that is found is one that the evaluator decides as the answer says.
pub(crate) fn ask_analysis(data: &[u8]) {
    let Some((&[question, low, high], ir)) = data.split_first_chunk::<3>() else {
        return;
    };
    let others = corpus();
    let other = others[usize::from(u16::from_le_bytes([low, high])) % others.len()];
    let question = QUESTIONS[usize::from(question) % QUESTIONS.len()];
    let ir = ir.to_vec();
    let asked = Builder::new()
        .stack_size(STACK)
        .spawn(move || ask(question, ir, other.as_bytes().to_vec()))
        .expect("a thread");
    asked.join().unwrap_or_else(|panic| resume_unwind(panic));
}

fn ask(question: &str, ir: Vec<u8>, other: Vec<u8>) {
    let mut analysis = match Analysis::new([ir, other], BUDGET) {
        Ok(analysis) => analysis,
        Err((at, error)) => {
            assert_eq!(at, 0, "a policy of the corpus is refused");
            return assert!(!error.code.is_empty() && !error.message.is_empty());
        }
    };
    let answer = analysis
        .ask(question.as_bytes(), &mut Counting)
        .expect("a question");
    assert!(
        !answer.contains(r#""code": "internal""#),
        "the evaluator decides a call otherwise: {answer}"
    );
    let again = analysis
        .ask(question.as_bytes(), &mut Counting)
        .expect("a question");
    assert_eq!(verdicts(&answer), verdicts(&again), "the answer changes");
}

/// The answer without what a budget decides.
fn verdicts(answer: &str) -> Option<&str> {
    (!answer.contains("budget_")).then_some(answer)
}
