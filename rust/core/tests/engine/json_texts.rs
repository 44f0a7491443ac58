//! The JSON reader agrees with another one, and keeps the values that the other rejects.

use bobcat_core::json::value::{JsonRequest, RequestReader};
use bobcat_core::json::{Caps, Json, JsonErrorKind, Text, lines, parse};
use serde_json::Value;

use crate::generator::{Random, policy, request};

const CAPS: Caps = Caps {
    depth: 128,
    nodes: 1_000_000,
};

fn same(ours: &Json<'_>, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(ours), Value::Bool(theirs)) => ours == theirs,
        (Json::Int(ours), Value::Number(theirs)) => theirs.to_string() == ours.to_string(),
        (Json::BigInt(ours), Value::Number(theirs)) => theirs.to_string() == ours.to_string(),
        (Json::Float(ours), Value::Number(theirs)) => theirs.as_f64() == Some(*ours),
        (Json::Text(ours), Value::String(theirs)) => ours.as_str() == Some(theirs),
        (Json::List(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len()
                && ours
                    .iter()
                    .zip(theirs)
                    .all(|(ours, theirs)| same(ours, theirs))
        }
        (Json::Map(ours), Value::Object(theirs)) => {
            ours.entries().len() == theirs.len()
                && theirs
                    .iter()
                    .all(|(key, theirs)| ours.get(key).is_some_and(|ours| same(ours, theirs)))
        }
        _ => false,
    }
}

#[test]
fn the_reader_agrees_with_serde_json() {
    let mut random = Random::new(23);
    for _ in 0..200 {
        for text in [request(&mut random), policy(&mut random, "strict", 3)] {
            let theirs: Value = serde_json::from_str(&text).expect("JSON");
            let ours = parse(text.as_bytes(), CAPS).expect("JSON");
            assert!(same(&ours, &theirs), "{text}");
            let mut written = String::new();
            ours.write(&mut written);
            assert_eq!(
                parse(written.as_bytes(), CAPS).expect("what was written"),
                ours
            );
        }
    }
}

#[test]
fn requests_are_read_alike_with_and_without_a_tree() {
    let mut random = Random::new(31);
    let full = r#"{"tool":"pay","args":{"n":[1,{"k":null}]},"declared":{"cost":"low","reversible":true,
        "scope":["a","b"],"blast_radius_hint":3,"has_shadow":false,"isolation":null,"effect":"none"},
        "context":{"principal":{"kind":"user","id":"u","name":"n"},"environment":"prod","workspace":"w",
        "correlation_id":"c","step_seq":2,"timestamp":"2026-01-31T12:00:00.5+01:00","extra":{"x":1.5}}}"#;
    let swaps = [
        ("\"tool\"", "\"args\""),
        ("\"cost\"", "\"effect\""),
        ("\"low\"", "5"),
        ("true", "\"true\""),
        ("\"u\"", "null"),
        ("\"n\"}", "null}"),
        ("null", "\"\\u0041\""),
        ("\"kind\"", "\"k\\u0069nd\""),
        (",\"id\":\"u\"", ""),
        ("3", "123456789012345678901234567890"),
        ("2026-01-31", "2026-02-31"),
        ("[\"a\",", "[1,"),
        ("{\"x\":1.5}", "[]"),
        ("\"workspace\"", "\"environment\""),
        ("}}}", "}} }"),
        ("}}}", "}}}}"),
    ];
    let mut texts = Vec::new();
    for _ in 0..20_000 {
        let mut text = match random.below(8) {
            0 => request(&mut random),
            _ => full.to_owned(),
        };
        for _ in 0..random.below(3) {
            let (from, to) = swaps[random.below(swaps.len())];
            text = text.replacen(from, to, 1 + random.below(2));
        }
        let mut bytes = text.into_bytes();
        if random.below(3) == 0 {
            bytes.remove(random.below(bytes.len()));
        }
        texts.push(bytes);
    }
    // One reader for all of them: what it keeps of one request is not seen in another.
    let (mut reader, mut held, mut accepted) = (RequestReader::default(), Vec::new(), 0);
    for bytes in &texts {
        let shown = String::from_utf8_lossy(bytes);
        let plain = JsonRequest::parse_plain(bytes);
        assert_eq!(JsonRequest::parse(bytes), plain, "{shown}");
        let read = reader.read(bytes);
        assert_eq!(read, plain, "{shown}");
        let Ok(request) = read else { continue };
        accepted += 1;
        if random.below(3) == 0 {
            held.push((request.clone(), plain));
        }
        reader.reuse(request);
    }
    assert!((2_000..18_000).contains(&accepted), "{accepted}");
    for (request, plain) in held {
        assert_eq!(Ok(request), plain);
    }
}

#[test]
fn each_byte_of_a_string_is_accepted_where_serde_json_accepts_it() {
    for length in 0..20 {
        for at in 0..length {
            for byte in 0..=u8::MAX {
                let mut bytes = [b"\"", vec![b'x'; length].as_slice(), b"\"     "].concat();
                bytes[at + 1] = byte;
                let theirs = serde_json::from_slice::<Value>(&bytes);
                match (parse(&bytes, CAPS), &theirs) {
                    (Ok(ours), Ok(theirs)) => assert!(same(&ours, theirs), "{bytes:?}"),
                    (Err(_), Err(_)) => {}
                    other => panic!("{bytes:?}: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn lines_end_at_line_feeds() {
    for text in ["", "\n", "a", "a\n", "a\n\n", "\na", "a\nbc\n\nd\n", "\n\n"] {
        let ended = text.strip_suffix('\n').unwrap_or(text);
        let wanted: Vec<&str> = match ended {
            "" => Vec::new(),
            ended => ended.split('\n').collect(),
        };
        let found: Vec<&[u8]> = lines(text.as_bytes()).collect();
        assert_eq!(
            found,
            wanted
                .iter()
                .map(|line| line.as_bytes())
                .collect::<Vec<_>>(),
            "{text:?}"
        );
    }
}

#[test]
fn the_reader_accepts_what_serde_json_accepts_among_changed_texts() {
    let mut random = Random::new(29);
    let base = r#" {"a":[1,-2.5e+3,true,null,"x\ny\u0041"],"b":{"c":"é","d":0.10,"e":1E5}} "#;
    for _ in 0..20_000 {
        let mut bytes = base.as_bytes().to_vec();
        let at = random.below(bytes.len());
        match random.below(3) {
            0 => bytes[at] = b"{}[],:\"\\0123456789+-.eE truefalsn\x01"[random.below(33)],
            1 => {
                bytes.remove(at);
            }
            _ => bytes.swap(at, random.below(base.len())),
        }
        let theirs = serde_json::from_slice::<Value>(&bytes);
        match (parse(&bytes, CAPS), &theirs) {
            (Ok(ours), Ok(theirs)) => {
                assert!(same(&ours, theirs), "{}", String::from_utf8_lossy(&bytes))
            }
            (Err(_), Err(_)) => {}
            (Err(error), Ok(_)) => {
                assert!(
                    error.message.contains("twice"),
                    "{error:?}: {}",
                    String::from_utf8_lossy(&bytes)
                );
            }
            (Ok(ours), Err(error)) => {
                panic!("{error}: {ours:?}: {}", String::from_utf8_lossy(&bytes))
            }
        }
    }
}

#[test]
fn lone_surrogates_are_bad_strings_and_pairs_are_characters() {
    let text = |json: &str| match parse(json.as_bytes(), CAPS) {
        Ok(Json::Text(text)) => text.as_str().map(str::to_owned),
        other => panic!("{other:?}"),
    };
    assert_eq!(text(r#""\ud83d\ude00""#).as_deref(), Some("😀"));
    for bad in [
        r#""\ud83d""#,
        r#""\ude00""#,
        r#""\ud83dx""#,
        r#""\ud83d\n""#,
        r#""\ud83d\ud83d""#,
    ] {
        assert_eq!(text(bad), None, "{bad}");
    }
    assert_eq!(text(r#""\ud83d\ud83d\ude00""#), None);
    assert_eq!(
        parse(r#""a""#.as_bytes(), CAPS),
        Ok(Json::Text(Text::Borrowed("a")))
    );
}

#[test]
fn integers_have_any_size_up_to_the_cap() {
    fn number(text: &str) -> Json<'_> {
        parse(text.as_bytes(), CAPS).expect("a number")
    }
    assert_eq!(number("-9223372036854775808"), Json::Int(i64::MIN));
    assert!(matches!(number("9223372036854775808"), Json::BigInt(_)));
    assert!(matches!(number(&"9".repeat(1233)), Json::BigInt(_)));
    assert_eq!(number(&"9".repeat(1300)), Json::HugeInt);
    assert_eq!(number(&"9".repeat(10_000)), Json::HugeInt);
    assert_eq!(number(&format!("-{}", "9".repeat(10_000))), Json::HugeInt);
    for long in ["9".repeat(10_001), format!("-{}", "9".repeat(10_001))] {
        let error = parse(long.as_bytes(), CAPS).expect_err("too many digits");
        assert_eq!(error.kind, JsonErrorKind::Limit);
    }
    assert_eq!(number("1e999"), Json::Float(f64::INFINITY));
    for digits in 1..=20 {
        for text in ["9".repeat(digits), format!("-1{}", "0".repeat(digits - 1))] {
            match text.parse() {
                Ok(value) => assert_eq!(number(&text), Json::Int(value)),
                Err(_) => assert!(matches!(number(&text), Json::BigInt(_)), "{text}"),
            }
            assert_eq!(
                number(&format!("{text}.5e0")),
                Json::Float(format!("{text}.5").parse().expect("a float"))
            );
            assert!(parse(format!("{text}x").as_bytes(), CAPS).is_err());
        }
        let zeros = "0".repeat(digits);
        assert_eq!(
            parse(zeros.as_bytes(), CAPS).is_ok(),
            digits == 1,
            "{zeros}"
        );
        assert!(parse(format!("-0{digits}").as_bytes(), CAPS).is_err());
    }
    assert_eq!(number("-0"), Json::Int(0));
    assert!(parse(b"-", CAPS).is_err());
}

#[test]
fn keys_of_large_mappings_are_found_and_duplicates_refused() {
    let entries: Vec<_> = (0..1000).rev().map(|i| format!("\"k{i}\":{i}")).collect();
    let text = format!("{{{}}}", entries.join(","));
    let Ok(Json::Map(map)) = parse(text.as_bytes(), CAPS) else {
        panic!("a mapping")
    };
    for i in 0..1000 {
        assert_eq!(map.get(&format!("k{i}")), Some(&Json::Int(i)));
    }
    assert_eq!(map.get("k1000"), None);
    let twice = format!("{{{},\"k7\":0}}", entries.join(","));
    assert!(
        parse(twice.as_bytes(), CAPS)
            .expect_err("twice")
            .message
            .contains("`k7`")
    );
    assert!(parse(br#"{"a":1,"\u0061":2}"#, CAPS).is_err());
}
