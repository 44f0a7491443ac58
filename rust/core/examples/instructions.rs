//! Program whose instructions `benches/instructions/gate.py` counts: `instructions load|decide POLICY REQUESTS TIMES`.
//!
//! The counts of two runs with different TIMES are subtracted, so what is done once (starting, reading, the first index and
//! automaton) is not in them.

use std::error::Error;
use std::hint::black_box;
use std::{env, fs};

use bobcat_core::json::value::JsonRequest;
use bobcat_core::program::{Program, Scratch};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [what, policy, requests, times] = arguments.as_slice() else {
        return Err("usage: instructions load|decide POLICY REQUESTS TIMES".into());
    };
    let (policy, requests) = (fs::read(policy)?, fs::read_to_string(requests)?);
    let times: u32 = times.parse()?;
    match what.as_str() {
        "load" => {
            for _ in 0..times {
                black_box(Program::from_ir(black_box(&policy))?);
            }
        }
        "decide" => {
            let program = Program::from_ir(&policy)?;
            let mut scratch = Scratch::new();
            let lines = requests
                .lines()
                .map(|line| JsonRequest::parse(line.as_bytes()));
            let calls = lines.collect::<Result<Vec<_>, _>>()?;
            for _ in 0..times {
                for call in &calls {
                    black_box(program.decide(black_box(call), &mut scratch));
                }
            }
        }
        other => return Err(format!("`{other}` is nothing this program does").into()),
    }
    Ok(())
}
