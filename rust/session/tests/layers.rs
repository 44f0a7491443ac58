//! Snapshots in layers say what the records say: after any events, and when a page of them is damaged.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

use bobcat_core::json::value::JsonRequest;
use bobcat_core::program::Program;
use bobcat_core::value::memory::{LeafValue, Memory as _};
use bobcat_session::{Result as Ended, Session, SessionRequest};

/// Counts over the session and over a minute, a sum, a sequence, a source and one that is asked with it.
const IR: &[u8] = include_bytes!("remembering.json");
const IDENTITY: (&str, &str) = ("claude-code", "s");

fn program() -> Program {
    Program::from_ir(IR).unwrap()
}

/// A directory that is removed with it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("bobcat-layers-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn open(&self, program: &Program) -> Session {
        Session::open(program, &self.0, IDENTITY).unwrap()
    }

    fn files(&self, extension: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut found: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        found.retain(|path| path.extension().is_some_and(|it| it == extension));
        found
    }

    /// The state that the records alone make.
    fn rebuilt(&self, program: &Program) -> Vec<u8> {
        let other = Self(self.0.with_extension("rebuilt"));
        let _ = fs::remove_dir_all(&other.0);
        drop(other.open(program));
        fs::copy(&self.files("session")[0], &other.files("session")[0]).unwrap();
        let state = other.open(program).state().dump();
        fs::remove_dir_all(&other.0).unwrap();
        state
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Numbers that are the same in every run of the tests.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Gives a session one event: a call, the end of one, or a task. `clock`: seconds.
fn event(place: &Place, program: &Program, (numbers, clock): (&mut Numbers, &mut u64)) {
    let mut session = place.open(program);
    *clock += numbers.below(9);
    let at = format!(
        "2026-01-01T{:02}:{:02}:{:02}.000000Z",
        *clock / 3600,
        *clock / 60 % 60,
        *clock % 60
    );
    let tool = ["pay", "pay", "search", "other"][numbers.below(4) as usize];
    let args = format!(r#"{{"n":{}}}"#, numbers.below(40));
    match numbers.below(8) {
        0 => session.set_task(&args).unwrap(),
        kind @ 1..=3 => {
            let (name, id, ok) = (numbers.below(60), numbers.below(40), numbers.below(2) == 0);
            let value = format!(r#"[{{"id":{id},"name":"Name {name}","ok":{ok}}}]"#);
            let ended = Ended {
                id: None,
                tool,
                args: &args,
                value: (kind != 1).then_some(&*value),
                failed: kind == 2 && ok,
                at: &at,
            };
            session.result(program, ended).unwrap();
        }
        _ => {
            let request =
                format!(r#"{{"args":{args},"context":{{"timestamp":"{at}"}},"tool":"{tool}"}}"#);
            session
                .call(program, &request, (None, tool, &args))
                .unwrap();
        }
    }
    session.compact();
}

/// All that decisions read of a session: the values of definitions, and the origins of values.
fn read(program: &Program, session: &Session) -> String {
    let text =
        r#"{"args":{"n":1},"context":{"timestamp":"2026-01-01T12:00:00.000000Z"},"tool":"pay"}"#;
    let request = SessionRequest::new(JsonRequest::parse(text.as_bytes()).unwrap());
    let reader = session.state().reader(program);
    let mut said = format!("{:?}", reader.values(program, &request));
    for name in 0..60 {
        let value = format!("Name {name}");
        said += &format!("{:?}", reader.origins(&LeafValue::Text(&value)));
    }
    said
}

#[test]
fn layers_are_the_state_that_the_records_make() {
    let (place, program) = (Place::new("equal"), program());
    let (mut numbers, mut clock) = (Numbers(7), 0);
    let mut most = 0;
    for number in 0..900 {
        event(&place, &program, (&mut numbers, &mut clock));
        most = most.max(place.files("layer").len());
        if number % 53 == 0 {
            let found = place.open(&program).state().dump();
            assert!(found == place.rebuilt(&program), "after event {number}");
        }
    }
    assert!((2..=6).contains(&most), "{most}");
    assert_eq!(place.files("part"), [] as [&Path; 0]);
}

#[test]
fn a_damaged_page_changes_no_answer() {
    let (place, program) = (Place::new("damaged"), program());
    let (mut numbers, mut clock) = (Numbers(3), 0);
    for _ in 0..400 {
        event(&place, &program, (&mut numbers, &mut clock));
    }
    let (wanted, said) = (
        place.rebuilt(&program),
        read(&program, &place.open(&program)),
    );
    let mut files = place.files("layer");
    files.extend(place.files("snapshot"));
    assert!(files.len() > 1);
    let mut repaired = 0;
    for path in files {
        let whole = fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(whole.len() / 40 + 1) {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            fs::write(&path, &changed).unwrap();
            let mut session = place.open(&program);
            let found = read(&program, &session);
            if session.repair(&program).unwrap() {
                repaired += 1;
                assert_eq!(read(&program, &session), said);
            } else {
                assert_eq!(found, said, "{} at {at}", path.display());
            }
            let found = session.state().dump();
            assert!(session.repair(&program).unwrap() || found == wanted);
            assert!(session.state().dump() == wanted);
        }
        // Cut off, and gone.
        for length in [0, whole.len() / 2] {
            fs::write(&path, &whole[..length]).unwrap();
            let mut session = place.open(&program);
            drop(session.state().dump());
            session.repair(&program).unwrap();
            assert_eq!(read(&program, &session), said);
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(read(&program, &place.open(&program)), said);
        fs::write(&path, &whole).unwrap();
    }
    assert!(repaired > 0);
}

#[test]
fn a_snapshot_is_written_again_after_damage() {
    let (place, program) = (Place::new("again"), program());
    let (mut numbers, mut clock) = (Numbers(5), 0);
    for _ in 0..300 {
        event(&place, &program, (&mut numbers, &mut clock));
    }
    let said = read(&program, &place.open(&program));
    for path in place.files("layer") {
        fs::write(path, vec![0; 1 << 14]).unwrap();
    }
    // The last records ask for pages, or the decision does.
    let mut session = place.open(&program);
    read(&program, &session);
    session.repair(&program).unwrap();
    assert_eq!(read(&program, &session), said);
    session.compact();
    let mut session = place.open(&program);
    assert_eq!(read(&program, &session), said);
    assert!(!session.repair(&program).unwrap());
}

#[test]
fn pages_of_another_session_or_policy_are_refused() {
    let (place, program) = (Place::new("foreign"), program());
    let (mut numbers, mut clock) = (Numbers(9), 0);
    for _ in 0..300 {
        event(&place, &program, (&mut numbers, &mut clock));
    }
    let said = read(&program, &place.open(&program));
    let other = Place::new("foreign-other");
    let (mut numbers, mut clock) = (Numbers(10), 0);
    for _ in 0..300 {
        event(&other, &program, (&mut numbers, &mut clock));
    }
    for path in place.files("layer") {
        let theirs = other.0.join(path.file_name().unwrap());
        if theirs.exists() {
            fs::copy(theirs, path).unwrap();
        }
    }
    let mut session = place.open(&program);
    let found = read(&program, &session);
    assert!(session.repair(&program).unwrap() || found == said);
    assert_eq!(read(&program, &session), said);
}
