//! Reads the events of a YAML text, by the unsafe module of the composer.

#![no_main]

#[path = "../../py/src/yaml/events.rs"]
#[expect(dead_code, reason = "the composer uses all of it")]
mod events;

use events::{Event, Parser};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else { return };
    let mut parser = Parser::new(text);
    while let Ok((event, start, end)) = parser.next() {
        assert!(start <= end, "{event:?}");
        if matches!(event, Event::StreamEnd) {
            break;
        }
    }
});
