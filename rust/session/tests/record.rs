//! Records of sessions: what is read back, and what is refused.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bobcat_core::json::value::JsonRequest;
use bobcat_core::num::number::Number;
use bobcat_core::program::Program;
use bobcat_core::value::memory::Reading;
use bobcat_session::{Result as Ended, Session, SessionRequest};

const IR: &str = r#"{"defaults":{"on_missing_shadow":"deny","on_no_match":"deny","on_rule_error":"deny"},"ir_version":1,"language_version":1,"memory":{"count":{"k":"measure","of":{"dialect":null,"head":"tool","k":"leaf","op":"eq","operand":"pay","path":[]}}},"profile":"strict","rules":[{"approvers":[],"id":"a","k":"rule","match":{"dialect":null,"head":"run","k":"leaf","op":"lt","operand":3,"path":["count"]},"priority":0,"reason":"","timeout_seconds":null,"transform":null,"verdict":"allow"}]}"#;
const CALL: &str =
    r#"{"args":{"n":1},"context":{"timestamp":"2026-01-01T00:00:00.000000Z"},"tool":"pay"}"#;
const AT: &str = "2026-01-01T00:00:01.000000Z";

fn program() -> Program {
    Program::from_ir(IR.as_bytes()).unwrap()
}

/// A directory that is removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("bobcat-session-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn open(&self, program: &Program, session: &str) -> Result<Session, String> {
        Session::open(program, &self.0, ("claude-code", session))
    }

    fn pay(&self, program: &Program, session: &str) {
        let call = (Some("id"), "pay", r#"{"n":1}"#);
        let mut session = self.open(program, session).unwrap();
        session.call(program, CALL, call).unwrap();
        session.compact();
    }

    /// The files with this extension.
    fn files(&self, extension: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries
            .filter(|path| path.extension().is_some_and(|it| it == extension))
            .collect()
    }

    fn count(&self, program: &Program, session: &str) -> Result<i64, String> {
        let session = self.open(program, session)?;
        let request = SessionRequest::new(JsonRequest::parse(CALL.as_bytes()).unwrap());
        let values = session.state().reader(program).values(program, &request);
        match &values[0].1 {
            Ok(Reading::Number(Number::Int(count))) => Ok(*count),
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn ended_as(scratch: &Scratch, program: &Program, ended: Ended<'_>) {
    let mut session = scratch.open(program, "s").unwrap();
    session.result(program, ended).unwrap();
    session.compact();
}

fn changed(path: &Path, at: usize) {
    let mut data = fs::read(path).unwrap();
    data[at] ^= 1;
    fs::write(path, data).unwrap();
}

#[test]
fn another_process_sees_the_calls_of_its_session_alone() {
    let (scratch, program) = (Scratch::new("alone"), program());
    scratch.pay(&program, "s1");
    scratch.pay(&program, "s1");
    scratch.pay(&program, "s2");
    assert_eq!(scratch.count(&program, "s1"), Ok(2));
    assert_eq!(scratch.count(&program, "s2"), Ok(1));
    assert_eq!(scratch.count(&program, "s3"), Ok(0));
}

#[test]
fn a_changed_byte_is_refused() {
    let (scratch, program) = (Scratch::new("changed"), program());
    scratch.pay(&program, "s");
    scratch.pay(&program, "s");
    let path = scratch.files("session").remove(0);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        changed(&path, at);
        let found = scratch.count(&program, "s");
        assert!(
            found.clone().is_err_and(|error| error.contains("damaged")),
            "{at}: {found:?}"
        );
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(scratch.count(&program, "s"), Ok(2));
}

#[test]
fn a_file_that_was_cut_off_is_refused() {
    let (scratch, program) = (Scratch::new("cut"), program());
    scratch.pay(&program, "s");
    let path = scratch.files("session").remove(0);
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(scratch.count(&program, "s").is_err(), "{length}");
    }
}

#[test]
fn a_record_of_another_session_is_refused() {
    let (scratch, program) = (Scratch::new("foreign"), program());
    scratch.pay(&program, "s1");
    let first = scratch.files("session").remove(0);
    scratch.pay(&program, "s2");
    let second = scratch
        .files("session")
        .into_iter()
        .find(|path| *path != first);
    fs::copy(second.unwrap(), &first).unwrap();
    assert!(scratch.count(&program, "s1").is_err());
}

#[test]
fn a_crash_before_the_head_or_within_a_line_loses_no_record() {
    let (scratch, program) = (Scratch::new("crash"), program());
    scratch.pay(&program, "s");
    let path = scratch.files("session").remove(0);
    let before = fs::read(&path).unwrap();
    scratch.pay(&program, "s");
    let after = fs::read(&path).unwrap();
    let head = before.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for length in before.len()..=after.len() {
        // The head of before, with a part of the line that followed.
        fs::write(&path, [&before[..head], &after[head..length]].concat()).unwrap();
        let counted = 1 + i64::from(length == after.len());
        assert_eq!(scratch.count(&program, "s"), Ok(counted), "{length}");
        scratch.pay(&program, "s");
        assert_eq!(scratch.count(&program, "s"), Ok(counted + 1), "{length}");
    }
}

#[test]
fn snapshots_change_nothing() {
    let (scratch, program) = (Scratch::new("snapshot"), program());
    for paid in 0..200 {
        assert_eq!(scratch.count(&program, "s"), Ok(paid));
        scratch.pay(&program, "s");
    }
    let path = scratch.files("snapshot").remove(0);
    let whole = fs::read(&path).unwrap();
    for at in (0..whole.len()).step_by(7) {
        changed(&path, at);
        assert_eq!(scratch.count(&program, "s"), Ok(200), "{at}");
        fs::write(&path, &whole).unwrap();
    }
    // One that is older, or of a record that was removed.
    let record = scratch.files("session").remove(0);
    fs::remove_file(&record).unwrap();
    scratch.pay(&program, "s");
    assert_eq!(scratch.count(&program, "s"), Ok(1));
    for _ in 0..300 {
        scratch.pay(&program, "s");
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(scratch.count(&program, "s"), Ok(301));
}

#[test]
fn another_policy_counts_the_same_calls() {
    let scratch = Scratch::new("edited");
    scratch.pay(&program(), "s");
    let edited = IR
        .replace(r#""count":{"#, r#""paid":{"#)
        .replace(r#"["count"]"#, r#"["paid"]"#);
    assert_eq!(
        scratch.count(&Program::from_ir(edited.as_bytes()).unwrap(), "s"),
        Ok(1)
    );
}

#[test]
fn the_end_of_a_call_that_is_not_on_record_is_ignored() {
    let (scratch, program) = (Scratch::new("ends"), program());
    let ended = Ended {
        id: Some("id"),
        tool: "pay",
        args: r#"{"n":1}"#,
        value: Some("3"),
        failed: false,
        at: AT,
    };
    let size = |scratch: &Scratch| {
        fs::metadata(scratch.files("session").remove(0))
            .unwrap()
            .len()
    };
    ended_as(&scratch, &program, ended);
    let empty = size(&scratch);
    scratch.pay(&program, "s");
    scratch.pay(&program, "s");
    for other in [
        Ended { id: None, ..ended },
        Ended {
            tool: "other",
            ..ended
        },
        Ended {
            args: "{}",
            ..ended
        },
    ] {
        let before = size(&scratch);
        ended_as(&scratch, &program, other);
        assert_eq!(size(&scratch), before);
    }
    let mut sizes = vec![size(&scratch)];
    for _ in 0..3 {
        ended_as(&scratch, &program, ended);
        sizes.push(size(&scratch));
    }
    assert!(empty < sizes[0] && sizes[0] < sizes[1] && sizes[1] < sizes[2]);
    assert_eq!(sizes[2], sizes[3]);
    assert_eq!(scratch.count(&program, "s"), Ok(2));
}

#[test]
fn the_last_words_of_the_user_are_the_task() {
    let (scratch, program) = (Scratch::new("task"), program());
    assert_eq!(scratch.open(&program, "s").unwrap().task(), None);
    for text in ["pay \"Bob\"\n\t\u{1f600}", "\u{0}", ""] {
        scratch.open(&program, "s").unwrap().set_task(text).unwrap();
        assert_eq!(scratch.open(&program, "s").unwrap().task(), Some(text));
    }
}

#[test]
fn unused_sessions_are_removed_when_another_begins() {
    let (scratch, program) = (Scratch::new("old"), program());
    scratch.pay(&program, "old");
    let old = scratch.files("session").remove(0);
    let stranger = scratch.0.join("notes.txt");
    fs::write(&stranger, "").unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(91 * 86_400);
    for path in [&old, &stranger] {
        fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
    }
    scratch.pay(&program, "new");
    assert!(!old.exists() && stranger.exists());
    assert_eq!(scratch.count(&program, "new"), Ok(1));
}

#[cfg(unix)]
#[test]
fn files_are_private_and_others_may_not_write_there() {
    use std::os::unix::fs::PermissionsExt as _;

    let (scratch, program) = (Scratch::new("modes"), program());
    scratch.pay(&program, "s");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&scratch.0), 0o700);
    assert_eq!(mode(&scratch.files("session")[0]), 0o600);
    fs::set_permissions(&scratch.0, fs::Permissions::from_mode(0o777)).unwrap();
    let refused = scratch.count(&program, "s");
    assert!(refused.is_err_and(|error| error.contains("others can write there")));
}
