//! Parses texts separated by NUL bytes; one line of JSON each.
use std::io::{Read, Write};
fn main() {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).unwrap();
    let out = std::io::stdout();
    let mut out = out.lock();
    for text in input.split('\0') {
        match bobcat_core::facets::shell::parse(text) {
            Ok(script) => {
                writeln!(out, "{}", bobcat_core::facets::shell::to_json(&script)).unwrap()
            }
            Err(e) => writeln!(
                out,
                "{{\"code\":{:?},\"at\":{},\"detail\":{:?}}}",
                e.code, e.at, e.detail
            )
            .unwrap(),
        }
    }
}
