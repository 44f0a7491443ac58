//! The hook in Python, for what this one does not do itself: logs in databases, and approvals in a store.
//!
//! INVARIANT: its answer reaches the host only after it has ended with exit code 0, so that a host never reads a part of it.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::thread;

use crate::Failure;

const PROGRAM: &str = "bobcat";

/// The answer of `bobcat hook` with this program's own arguments, to `input`.
pub(crate) fn answer(input: Vec<u8>) -> Result<String, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| format!("the directory of this program is unknown: {error}"))?
        .with_file_name(PROGRAM);
    let shown = program.display().to_string();
    let mut child = Command::new(program)
        .arg("hook")
        .args(std::env::args_os().skip(1))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            format!("this log or these approvals need `{shown}`, which cannot be started: {error}")
        })?;
    let stdin = child.stdin.take();
    // A thread: the other side may end without reading.
    thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
    let ended = child
        .wait_with_output()
        .map_err(|error| format!("`{shown}` cannot be waited for: {error}"))?;
    read(&shown, ended)
}

fn read(shown: &str, ended: Output) -> Result<String, Failure> {
    if ended.status.success() {
        let answer = String::from_utf8(ended.stdout)
            .map_err(|_| format!("`{shown}` answered with something other than UTF-8"))?;
        return Ok(answer.strip_suffix('\n').unwrap_or(&answer).to_owned());
    }
    let text = String::from_utf8_lossy(&ended.stderr);
    let line = text.trim_ascii();
    match line.strip_prefix("bobcat-hook: ") {
        Some(failure) => Err(failure.to_owned()),
        None => Err(format!(
            "`{shown} hook` failed ({}): {}",
            ended.status, line
        )),
    }
}
