//! Decide on requests, one JSON document a line on standard input: `decide POLICY.bobcat`. Without arguments, it decides two
//! calls by the bundle beside it, which is that of `examples/allow_reads.yaml`.

use std::error::Error;
use std::io::{self, BufRead as _};

use bobcat_core::Policy;

const BUNDLE: &[u8] = include_bytes!("allow_reads.bobcat");
const CALLS: [&str; 2] = [
    r#"{"tool": "shell", "args": {"cmd": "git status"}}"#,
    r#"{"tool": "shell", "args": {"cmd": "git status; rm -rf /"}}"#,
];

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(path) = std::env::args_os().nth(1) {
        let policy = Policy::from_bundle(&std::fs::read(path)?)?;
        for line in io::stdin().lock().lines() {
            show(&policy, &line?)?;
        }
        return Ok(());
    }
    let policy = Policy::from_bundle(BUNDLE)?;
    CALLS.iter().try_for_each(|call| show(&policy, call))
}

/// Prints the decision on a call, and the arguments that it must run with if the policy rewrites them.
fn show(policy: &Policy, call: &str) -> Result<(), Box<dyn Error>> {
    let evaluated = policy.evaluate(call.as_bytes())?;
    let decision = &evaluated.decision;
    println!(
        "{} by {}: {}",
        decision.verdict.as_str(),
        decision.rules.join(", "),
        decision.reason
    );
    if let Some(args) = &evaluated.args {
        println!("  with {args}");
    }
    Ok(())
}
