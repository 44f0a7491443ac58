//! `bobcat-hook HOST --policy FILE [--grant] [--log LOG] [--approvals STORE] [--state DIRECTORY] [--candidate FILE]`: the hook
//! command of a coding agent.
//!
//! The host writes one tool call to standard input; the answer goes to standard output in the host's dialect. With a policy
//! that remembers, calls are decided with the record of their session, in a file of the directory.
//! INVARIANT: the process ends with exit code 2 and one line on stderr, which every host takes as a refusal, unless the
//! whole answer has been written. `bobcat hook` in Python is the oracle of the tests.

#![forbid(unsafe_code)]

mod answer;
mod bundle;
mod call_result;
mod candidate;
mod canonical;
mod clock;
mod decide;
mod delegate;
mod host;
mod input;
mod log;
mod options;
mod output;
mod reason;
mod remember;

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use bobcat_core::bundle::Bundle;
use bobcat_core::lang::Verdict;
use bobcat_session::Session;

use answer::Answer;
use decide::Seen;
use input::Input;
use options::Options;

/// The time for reading, deciding and writing. `bobcat install` gives hosts a longer timeout, so that this one ends first.
const DEADLINE: Duration = Duration::from_secs(5);
/// The time between looks at the signals that have arrived.
const SIGNAL_POLL: Duration = Duration::from_millis(10);
/// The time for writing the line on stderr: a reader that has stopped must not delay the exit code.
const REPORT_TIME: Duration = Duration::from_millis(200);
/// The time for writing a snapshot of the session after the answer: one that is cut off is written by another process.
const COMPACT_TIME: Duration = Duration::from_secs(2);
/// The exit code that stops the call on every host.
const REFUSED: i32 = 2;

/// The reason why there is no answer: one line for stderr.
type Failure = String;

fn main() {
    // A panic is reported by the line of the failure alone.
    std::panic::set_hook(Box::new(|_| {}));
    let answered = catch_unwind(supervise).unwrap_or_else(|_| Err(PANICKED.to_owned()));
    match answered {
        Ok(()) => exit(0),
        Err(failure) => {
            report(failure);
            exit(REFUSED);
        }
    }
}

const PANICKED: &str = "the hook failed (internal_error)";

/// Answers in a thread of its own, until the deadline or a signal.
fn supervise() -> Result<(), Failure> {
    let deadline = Instant::now() + DEADLINE;
    let stop = stop_signal()?;
    let (done, answered) = channel();
    thread::Builder::new()
        .name("answer".to_owned())
        .stack_size(8 << 20)
        .spawn(move || {
            let answered = catch_unwind(AssertUnwindSafe(answer));
            let (answered, session) = match answered.unwrap_or_else(|_| Err(PANICKED.to_owned())) {
                Ok(session) => (Ok(()), session),
                Err(failure) => (Err(failure), None),
            };
            // The receiver lives until the process ends.
            let _ = done.send(answered);
            if let Some(session) = session {
                let _ = catch_unwind(AssertUnwindSafe(|| session.compact()));
            }
        })
        .map_err(|error| format!("no thread could be started: {error}"))?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match answered.recv_timeout(left.min(SIGNAL_POLL)) {
            Ok(Ok(())) => {
                // The thread ends once it has compacted the session: the answer is written, and no failure any more.
                let _ = answered.recv_timeout(COMPACT_TIME);
                return Ok(());
            }
            Ok(Err(failure)) => return Err(failure),
            Err(RecvTimeoutError::Disconnected) => return Err(PANICKED.to_owned()),
            Err(RecvTimeoutError::Timeout) if stop() => {
                return Err("a signal ended the hook before its answer was written".to_owned());
            }
            Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                return Err(format!("no answer within {} s", DEADLINE.as_secs()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Reads the input, and answers a call, or records the result of one or the user's words. Returns the session, which may be compacted.
fn answer() -> Result<Option<Session>, Failure> {
    let options = Options::parse(std::env::args_os().skip(1))?;
    if options
        .log
        .as_deref()
        .is_some_and(|log| !log::is_lines(log))
    {
        output::write(&delegate::answer(input::read_all()?)?)?;
        return Ok(None);
    }
    let bundle = bundle::load(&options.policy)?;
    let text = input::read_all()?;
    match Input::parse(options.host, &text)? {
        Input::Call(call) => {
            let answered = answer_call(&options, &bundle, &call)?;
            let (answer, session) = match answered {
                Some((answer, session)) => (answer::render(call.host, &answer), session),
                None => (delegate::answer(text)?, None),
            };
            output::write(&answer)?;
            Ok(session)
        }
        Input::Result(result) => remember::result(&options, &bundle.program, &result),
        Input::Task(task) => remember::task(&options, &bundle.program, &task),
    }
}

/// Decides on a call and records it; `None`: the hook in Python is to do that.
fn answer_call(
    options: &Options,
    bundle: &Bundle,
    call: &input::Call<'_>,
) -> Result<Option<(Answer, Option<Session>)>, Failure> {
    let (time, program) = (clock::now().ok_or(clock::INVALID)?, &bundle.program);
    let mut session = remember::session(options, program, call.session())?;
    remember::share(&mut session, program, (call.host, &time))?;
    let mut reply = decide::decide(program, call, (Seen::Session(session.as_ref()), &time));
    if let Some(own) = &mut session
        && own.repair(program)?
    {
        remember::share(&mut session, program, (call.host, &time))?;
        reply = decide::decide(program, call, (Seen::Session(session.as_ref()), &time));
    }
    let reply = reply?;
    if options.approvals.is_some() && reply.verdict == Verdict::ApproveRequired {
        return Ok(None);
    }
    let answer = answer::choose(call, &reply, options.grant)?;
    let diverged = options.log.as_ref().and_then(|_| {
        let seen = (bundle, session.as_ref());
        candidate::divergences(options.candidate.as_deref(), call, seen, (&reply, &time))
    });
    if let Some(session) = &mut session
        && program.remembers()
        && answer.may_run()
    {
        remember::call(session, program, call, (&reply, &time))?;
    }
    // Other processes need not wait for the log and the answer.
    let session = session.and_then(Session::if_due);
    if let Some(log) = &options.log {
        let outcome = (&reply, &answer, diverged.as_deref());
        log::record::write(log, &bundle.id, call, outcome)?;
    }
    Ok(Some((answer, session)))
}

/// Returns a function that is true once a signal has asked the process to end.
#[cfg(unix)]
fn stop_signal() -> Result<impl Fn() -> bool, Failure> {
    use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stopped))
            .map_err(|error| format!("signals cannot be watched: {error}"))?;
    }
    Ok(move || stopped.load(Ordering::Relaxed))
}

#[cfg(not(unix))]
fn stop_signal() -> Result<impl Fn() -> bool, Failure> {
    Ok(|| false)
}

/// Writes the failure as one line on stderr.
fn report(failure: Failure) {
    let line = format!("bobcat-hook: {}\n", reason::one_line(&failure));
    let (done, written) = channel();
    let started = thread::Builder::new().spawn(move || {
        let mut stderr = std::io::stderr();
        let _ = stderr.write_all(line.as_bytes());
        let _ = stderr.flush();
        let _ = done.send(());
    });
    if started.is_ok() {
        let _ = written.recv_timeout(REPORT_TIME);
    }
}
