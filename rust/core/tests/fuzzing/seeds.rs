//! Where mutations start.

pub(crate) const IR: [&str; 3] = [
    r#"{"defaults":{"on_missing_shadow":"approve_required","on_no_match":"deny","on_rule_error":"deny"},"ir_version":1,"language_version":1,"profile":"strict","rules":[{"approvers":[],"id":"r0","k":"rule","match":{"dialect":"re2","head":"args","k":"leaf","op":"matches","operand":"^rm .*","path":["cmd"]},"priority":0,"reason":"no","timeout_seconds":null,"transform":null,"verdict":"deny"}]}"#,
    r#"{"defaults":{"on_missing_shadow":"deny","on_no_match":"allow","on_rule_error":"continue"},"ir_version":1,"language_version":1,"profile":"lynx","rules":[{"approvers":["a",5],"id":7,"k":"rule","match":{"items":[{"dialect":null,"head":"tool","k":"leaf","op":"eq","operand":"shell","path":[]},{"item":{"dialect":null,"head":"args","k":"leaf","op":"between","operand":[1,2.5],"path":["n"]},"k":"not"}],"k":"all"},"priority":-3,"reason":"why","timeout_seconds":1.5,"transform":null,"verdict":"approve_required"}]}"#,
    r#"{"defaults":{"on_missing_shadow":"deny","on_no_match":"deny","on_rule_error":"deny"},"ir_version":1,"language_version":1,"profile":"strict","rules":[{"approvers":[],"id":"t","k":"rule","match":{"items":[],"k":"all"},"priority":1,"reason":"r","timeout_seconds":null,"transform":{"op":"set","path":["m","k"],"value":{"map":{"a":[1,null,true]}}},"verdict":"transform"}]}"#,
];

pub(crate) const REQUESTS: [&str; 3] = [
    r#"{"tool":"shell","args":{"cmd":"ls -l","n":-1.5e3,"list":[1,null,true,"\u00e9\ud83d\ude00"]}}"#,
    r#"{"tool":"t","args":{"deep":{"a":{"b":{"c":[[[[]]]]}}},"big":123456789012345678901234567890}}"#,
    r#"{"tool":"git_push","args":{},"declared":{"reversibility":"none","scope":["repo"]},"context":{"environment":"prod","step_seq":3,"timestamp":"2026-01-31T12:00:00Z","extra":{"k":"v"}}}"#,
];

pub(crate) const PATTERNS: [&str; 14] = [
    r"(?i)\b(rm|del)\s+-rf\b",
    r"^https?://([a-z0-9-]+\.)+example\.com/$",
    r"[^\w\s]|\pL{2,5}|\p{^Greek}",
    r"(?P<name>a|b)*?(?s:.)\z",
    r"\Qa.b\E{3}[[:alpha:]]",
    r"(?m)^a$|\x{1F600}|\012",
    r"(?x) a # b",
    r"\Z(?ai:k)[\b\u00e9]",
    r"x{,3}{2}{",
    r"(?=a)|(?<!b)|\1|(?>c)|d++",
    r"((a{9}){9}){9}",
    r"[]a-]|[^]\d]|[a-\d]",
    r"(?#note)(?i)(?-i:k)",
    "\u{e9}$\u{212a}[\u{df}-\u{1f600}]",
];

pub(crate) const TEXTS: [&str; 5] = [
    "rm -rf /",
    "aé漢\u{1f600}k\u{212a}\n",
    "https://a.example.com/",
    "",
    "a b\r\nb²_",
];
