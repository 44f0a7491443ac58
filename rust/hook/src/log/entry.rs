//! Entries as lines of canonical JSON, and the hash that chains them, as in `python/bobcat/decision_log/entry.py`.

use sha2::{Digest as _, Sha256};

use crate::canonical::write_text;

const DOMAIN: &[u8] = b"bobcat/decision-log/v1\0";
const HASH_DIGITS: usize = 64;

/// The hash before the first entry.
pub(super) const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The end of a log: the position and the hash of its last entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) seq: u64,
    pub(super) hash: String,
}

/// The end of a log that has no entry.
pub(super) fn empty() -> Head {
    Head {
        seq: 0,
        hash: GENESIS.to_owned(),
    }
}

/// The line of the entry of kind `outcome` that follows `head`, with its line end, and the head behind it.
pub(super) fn next_line(head: &Head, record_id: &str, at: &str, body: &str) -> (String, Head) {
    let mut id = String::new();
    write_text(record_id, &mut id);
    let (previous, seq) = (&head.hash, head.seq + 1);
    let hash = hash(&Parts {
        at,
        body,
        kind: "outcome",
        previous,
        record_id: &id,
        seq,
    });
    let line = format!(
        "{{\"at\":\"{at}\",\"body\":{body},\"hash\":\"{hash}\",\"kind\":\"outcome\",\"previous\":\"{previous}\",\"record_id\":{id},\"seq\":{seq}}}\n"
    );
    (line, Head { seq, hash })
}

/// The head behind `line`, without its line end; `None` unless it is an entry with its own hash.
pub(super) fn head_of(line: &[u8]) -> Option<(Head, String)> {
    let line = std::str::from_utf8(line).ok().filter(|it| it.is_ascii())?;
    let (at, rest) = line.strip_prefix("{\"at\":\"")?.split_once('"')?;
    let rest = rest.strip_prefix(",\"body\":")?;
    // Behind the body no text has an unescaped quote, so the last key of this name is the entry's own.
    let (body, rest) = rest.rsplit_once(",\"hash\":\"")?;
    let (stated, rest) = rest.split_at_checked(HASH_DIGITS)?;
    let (kind, rest) = rest.strip_prefix("\",\"kind\":\"")?.split_once('"')?;
    let rest = rest.strip_prefix(",\"previous\":\"")?;
    let (previous, rest) = rest.split_at_checked(HASH_DIGITS)?;
    let rest = rest.strip_prefix("\",\"record_id\":")?;
    let (record_id, seq) = rest.strip_suffix('}')?.rsplit_once(",\"seq\":")?;
    let seq: u64 = seq.parse().ok()?;
    let parts = Parts {
        at,
        body,
        kind,
        previous,
        record_id,
        seq,
    };
    let found = hash(&parts);
    let head = Head { seq, hash: found };
    (head.hash == stated).then_some((head, previous.to_owned()))
}

/// The parts of an entry that its hash covers. `body` and `record_id` are canonical JSON, the others plain text.
struct Parts<'t> {
    at: &'t str,
    body: &'t str,
    kind: &'t str,
    previous: &'t str,
    record_id: &'t str,
    seq: u64,
}

fn hash(parts: &Parts<'_>) -> String {
    let Parts {
        at,
        body,
        kind,
        previous,
        record_id,
        seq,
    } = parts;
    let mut hash = Sha256::new();
    hash.update(DOMAIN);
    hash.update(bytes(previous));
    hash.update(format!(
        "{{\"at\":\"{at}\",\"body\":{body},\"kind\":\"{kind}\",\"record_id\":{record_id},\"seq\":{seq}}}"
    ));
    hex(&hash.finalize())
}

/// `digest` in hexadecimal digits.
pub(super) fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that hexadecimal digits stand for; none for anything else, which is the hash of no entry.
fn bytes(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    let bytes = pairs.map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    });
    bytes.collect::<Option<_>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Head, empty, head_of, next_line};

    fn line() -> (String, Head) {
        let body = r#"{"a":"\",\"hash\":\"","hash":"x","list":[{"b":1,"hash":"y"}]}"#;
        next_line(&empty(), "r\"1", "2026-01-01T00:00:00.000000Z", body)
    }

    #[test]
    fn a_line_is_read_back() {
        let (line, head) = line();
        let found = head_of(line.trim_ascii_end().as_bytes());
        assert_eq!(found, Some((head, empty().hash)));
    }

    #[test]
    fn a_changed_line_has_no_head() {
        let (line, _) = line();
        let line = line.trim_ascii_end();
        for at in 0..line.len() {
            let mut changed = line.as_bytes().to_vec();
            if let Some(byte) = changed.get_mut(at) {
                *byte ^= 1;
            }
            assert_eq!(head_of(&changed), None, "{at}");
        }
        assert_eq!(head_of(b""), None);
    }
}
