//! `Analysis`: exact questions about policies, asked on a thread of their own with the interpreter released.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use bobcat_core::analysis::{
    ASSIGNMENTS, Analysis as CoreAnalysis, Budget, Clock, Host, NODES, QuestionError, STATES,
};

use crate::error::core_error;

/// Diagrams and expressions are walked by recursion, as deep as they have variables.
const STACK: usize = 1 << 30;

/// The interval at which a waiting caller looks for a signal.
const SIGNALS: Duration = Duration::from_millis(50);

/// Policies that are asked about.
#[pyclass(frozen, module = "bobcat._core")]
pub(crate) struct Analysis {
    core: Arc<Mutex<CoreAnalysis>>,
}

/// The caller of a question.
struct Caller {
    on_progress: Option<Py<PyAny>>,
    stop: Arc<AtomicBool>,
    failed: Option<PyErr>,
}

impl Host for Caller {
    fn clock(&mut self, seconds: Option<f64>) -> Option<Clock> {
        let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        let stop = Arc::clone(&self.stop);
        Some(Arc::new(move || {
            stop.load(Ordering::Relaxed) || end.is_some_and(|end| Instant::now() >= end)
        }))
    }

    fn progress(&mut self, done: usize, total: usize, tool: Option<&str>) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            return false;
        }
        let Some(on_progress) = &self.on_progress else {
            return true;
        };
        let answer = Python::attach(|py| {
            let answer = on_progress.call1(py, (done, total, tool.unwrap_or_default()))?;
            answer.bind(py).is_truthy()
        });
        match answer {
            Ok(go_on) => go_on,
            Err(error) => {
                self.failed = Some(error);
                false
            }
        }
    }
}

type Asked = (Result<String, QuestionError>, Option<PyErr>);

#[pymethods]
impl Analysis {
    #[new]
    #[pyo3(
        signature = (policies, *, states=STATES, nodes=NODES, assignments=ASSIGNMENTS),
        text_signature = "(policies, *, states=200000, nodes=7000000, assignments=20000)"
    )]
    fn new(
        py: Python<'_>,
        policies: Vec<Bound<'_, PyBytes>>,
        states: usize,
        nodes: usize,
        assignments: usize,
    ) -> PyResult<Self> {
        let policies: Vec<Vec<u8>> = policies
            .iter()
            .map(|policy| policy.as_bytes().to_vec())
            .collect();
        let budget = Budget {
            states,
            nodes,
            assignments,
            is_over: None,
        };
        let made = py.detach(|| on_thread(move || CoreAnalysis::new(policies, budget)));
        match made {
            Some(Ok(core)) => Ok(Self {
                core: Arc::new(Mutex::new(core)),
            }),
            Some(Err((at, error))) => {
                let message = format!("policy {at}: {}", error.message);
                Err(core_error(py, error.code, &message))
            }
            None => Err(failed(py)),
        }
    }

    /// Answers a question: JSON in, JSON out.
    #[pyo3(signature = (question, on_progress=None))]
    fn ask<'py>(
        &self,
        py: Python<'py>,
        question: &[u8],
        on_progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let stop = Arc::new(AtomicBool::new(false));
        let caller = Caller {
            on_progress,
            stop: Arc::clone(&stop),
            failed: None,
        };
        let (core, question) = (Arc::clone(&self.core), question.to_vec());
        let (give, take) = channel();
        let thread = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn(move || give.send(answer(&core, &question, caller)));
        if thread.is_err() {
            return Err(failed(py));
        }
        let take = Mutex::new(take);
        let mut interrupted = None;
        let asked: Asked = loop {
            let taken = py.detach(|| match take.lock() {
                Ok(take) => take.recv_timeout(SIGNALS),
                Err(_) => Err(RecvTimeoutError::Disconnected),
            });
            match taken {
                Ok(Some(asked)) => break asked,
                Ok(None) | Err(RecvTimeoutError::Disconnected) => return Err(failed(py)),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = py.check_signals() {
                        stop.store(true, Ordering::Relaxed);
                        interrupted = Some(error);
                    }
                }
            }
        };
        match (interrupted, asked) {
            (Some(error), _) | (None, (_, Some(error))) => Err(error),
            (None, (Err(error), None)) => Err(PyValueError::new_err(error.0)),
            (None, (Ok(text), None)) => Ok(PyBytes::new(py, text.as_bytes())),
        }
    }
}

/// The answer; `None` after a panic in an earlier question.
fn answer(core: &Mutex<CoreAnalysis>, question: &[u8], mut caller: Caller) -> Option<Asked> {
    let mut core = core.lock().ok()?;
    let asked = core.ask(question, &mut caller);
    Some((asked, caller.failed))
}

/// The result of a function with a deep stack; `None` if it panics.
fn on_thread<T: Send>(function: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, function)
            .ok()?;
        thread.join().ok()
    })
}

fn failed(py: Python<'_>) -> PyErr {
    core_error(py, "internal_error", "the analysis failed")
}
