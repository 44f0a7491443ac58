//! Seeds of mutations.

pub(crate) const IR: [&str; 4] = [
    r#"{"defaults":{"on_missing_shadow":"approve_required","on_no_match":"deny","on_rule_error":"deny"},"ir_version":1,"language_version":1,"profile":"strict","rules":[{"approvers":[],"id":"r0","k":"rule","match":{"dialect":"re2","head":"args","k":"leaf","op":"matches","operand":"^rm .*","path":["cmd"]},"priority":0,"reason":"no","timeout_seconds":null,"transform":null,"verdict":"deny"}]}"#,
    r#"{"defaults":{"on_missing_shadow":"deny","on_no_match":"allow","on_rule_error":"continue"},"ir_version":1,"language_version":1,"profile":"lynx","rules":[{"approvers":["a",5],"id":7,"k":"rule","match":{"items":[{"dialect":null,"head":"tool","k":"leaf","op":"eq","operand":"shell","path":[]},{"item":{"dialect":null,"head":"args","k":"leaf","op":"between","operand":[1,2.5],"path":["n"]},"k":"not"}],"k":"all"},"priority":-3,"reason":"why","timeout_seconds":1.5,"transform":null,"verdict":"approve_required"}]}"#,
    r#"{"defaults":{"on_missing_shadow":"deny","on_no_match":"deny","on_rule_error":"deny"},"ir_version":1,"language_version":1,"profile":"strict","rules":[{"approvers":[],"id":"t","k":"rule","match":{"items":[],"k":"all"},"priority":1,"reason":"r","timeout_seconds":null,"transform":{"op":"set","path":["m","k"],"value":{"map":{"a":[1,null,true]}}},"verdict":"transform"}]}"#,
    r#"{"defaults":{"on_missing_shadow":"deny","on_no_match":"deny","on_rule_error":"deny"},"ir_version":1,"language_version":1,"profile":"strict","rules":[{"body":[{"k":"assign","target":{"k":"slot","slot":0},"value":{"body":[{"k":"if","otherwise":[],"test":{"item":{"k":"isinstance","of":{"k":"local","slot":1},"types":["str"]},"k":"not"},"then":[{"k":"raise","name":"TypeError"}]},{"k":"return","value":{"k":"slice","of":{"k":"local","slot":1},"start":{"k":"binary","left":{"args":[{"k":"const","value":"/"}],"k":"method","name":"rfind","of":{"k":"local","slot":1}},"operator":"add","right":{"k":"const","value":1}},"step":null,"stop":null}}],"k":"inline","parameters":[[1,{"k":"item","key":{"k":"const","value":"path"},"of":{"k":"attr","name":"args","of":{"k":"root","name":"request"}}}]]}},{"body":[{"handlers":[{"body":[{"k":"continue"}],"names":["LookupError"]}],"k":"try","body":[{"k":"append","slot":3,"value":{"k":"local","slot":2}}],"otherwise":[{"k":"break"}]}],"k":"for","otherwise":[],"over":{"k":"const","value":{"tuple":["a","b"]}},"target":{"k":"slot","slot":2}},{"k":"if","otherwise":[{"k":"evaluate","value":{"k":"unary","item":{"k":"const","value":1},"operator":"neg"}}],"test":{"default":null,"k":"collect","key":null,"kind":"any","loops":[{"conditions":[],"over":{"k":"const","value":{"set":["x","y"]}},"target":{"k":"slot","slot":2}}],"value":{"first":{"k":"local","slot":0},"k":"compare","operators":["eq"],"others":[{"k":"local","slot":2}]}},"then":[{"k":"return","value":{"args":[["reason",{"k":"text","parts":["no ",{"conversion":"r","spec":">5","value":{"k":"local","slot":0}}]}]],"k":"decide","verdict":"deny"}}]},{"k":"return","value":{"flags":2,"how":"search","k":"regex","pattern":"a+b","text":{"k":"local","slot":0}}}],"k":"function","name":"f","priority":0,"slots":4}]}"#,
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

/// Statements of functions.
pub(crate) const FUNCTIONS: [&str; 3] = [
    r#"{"k":"return","value":{"args":[["reason",{"k":"text","parts":["n ",{"conversion":"","spec":"+,.2f","value":{"k":"item","key":{"k":"const","value":"n"},"of":{"k":"attr","name":"args","of":{"k":"root","name":"request"}}}}]}]],"k":"decide","verdict":"deny"}}"#,
    r#"{"k":"for","target":{"k":"slot","slot":0},"over":{"args":[{"k":"attr","name":"args","of":{"k":"root","name":"request"}}],"k":"call","function":"sorted"},"body":[{"k":"if","otherwise":[],"test":{"flags":0,"how":"search","k":"regex","pattern":"^c","text":{"k":"local","slot":0}},"then":[{"k":"return","value":{"args":[["reason",{"k":"local","slot":0}]],"k":"decide","verdict":"deny"}}]}],"otherwise":[]}"#,
    r#"{"k":"assign","target":{"k":"slot","slot":1},"value":{"k":"binary","left":{"k":"const","value":7},"operator":"pow","right":{"k":"const","value":90}}},{"k":"return","value":{"args":[["reason",{"k":"text","parts":[{"conversion":"r","spec":"","value":{"k":"local","slot":1}}]}]],"k":"decide","verdict":"allow"}}"#,
];

pub(crate) const SCALARS: [&str; 8] = [
    "0",
    "-007",
    "9223372036854775808",
    "-18446744073709551616000000000000000000000",
    "2026-01-31T12:00:00Z",
    "2024-02-29T23:59:59.123456+14:00",
    "0001-01-01t00:00:00-23:59",
    "9999-12-31T23:59:59.9z",
];

pub(crate) const COMMAND_LINES: [&str; 12] = [
    "git log --oneline -n 20 -- 'src/a b.py' | head -5 && ls -la *.py > out.txt 2>&1",
    "FOO=1 env -u X A=b nice -n 5 timeout --signal=KILL 5 xargs -0 -I{} sh -c 'rm -rf \"a b\"; ls' {} &",
    "find . -name '*.py' -exec grep -l x {} + -o -type d -exec rm {} \\; ; { ls; (cd x && make); } >log",
    "cat <<'E' >f && cat <<-F\n$x\nE\n\tbody\n\tF\n# comment\nset -euo pipefail",
    "tar xzf a.tgz -C /tmp -I 'zstd -T0'; git -c user.name=x commit -m \"it's\"; sed -n '1,20p;s/a/b/g' f",
    "docker run --rm -it -v a:b alpine sh -c 'ls /'; kubectl exec -n x pod -- ls; ssh -p 22 host 'ls; id'",
    "curl -sSL -o f https://example.com/ && awk -F: '{print $1}' f | sort -k2 -u; export A=~/x:~; ./run.sh",
    "ls\\\n -l; r\\m x; ! time -p ls &>/dev/null || bash -euc \"id\" x; watch -n 1 ls; command -v ls",
    "echo $(ls) `ls` ${x} $'a' \"$\" ~ ~a [a-z] {a,b} {1..3} !x =ls",
    "npm run build; uv run pytest -q; pip install x; cargo test; npx -y x; docker compose exec web ls",
    "echo \u{e9} '\u{e9}' \"\u{1f600}\" \\\u{e9}",
    "git remote add x y; git stash list; kubectl get pods -n x; curl -X POST -d @f https://x/; rm -- -x",
];

pub(crate) const STATEMENTS: [&str; 14] = [
    "SELECT o.id, count(*) FILTER (WHERE x > 0) OVER (PARTITION BY o.a ORDER BY b) AS n FROM public.orders o LEFT JOIN items AS i ON i.o = o.id, c WHERE o.x IN (SELECT y FROM z) GROUP BY 1 HAVING sum(a) > 1 ORDER BY 1 LIMIT 5 OFFSET 2",
    "WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 5), d AS (DELETE FROM old RETURNING *) SELECT * FROM t, d FOR UPDATE SKIP LOCKED;",
    "INSERT INTO a (b, \"c d\") VALUES (?, $1), (:x, 'it''s') ON CONFLICT (b) DO UPDATE SET c = excluded.c RETURNING id",
    "insert or replace into a select * from b where c is not distinct from d",
    "UPDATE a SET b = (SELECT max(c) FROM d), e = e || 'x' FROM f WHERE a.id = f.id",
    "DELETE FROM a USING b WHERE a.x = b.x AND NOT EXISTS (SELECT 1 FROM c)",
    "MERGE INTO a USING b ON a.i = b.i WHEN MATCHED THEN UPDATE SET x = 1 WHEN NOT MATCHED THEN INSERT (i) VALUES (b.i)",
    "CREATE TABLE IF NOT EXISTS a (i int PRIMARY KEY, b varchar(20) REFERENCES c (d))",
    "CREATE TEMP TABLE a AS SELECT 1.5e-3 AS x, CAST(y AS numeric(10, 2)), z::timestamp(3) with time zone FROM b",
    "(SELECT trim(BOTH ' ' FROM a), extract(year FROM b) FROM c) UNION ALL ((SELECT d FROM e) EXCEPT SELECT f FROM g) ORDER BY 1",
    "EXPLAIN (ANALYZE, FORMAT json) SELECT CASE WHEN a THEN b ELSE c END FROM (d NATURAL JOIN e) JOIN LATERAL f(d.x) AS g(h int) ON true",
    "/* c */ SELECT 1 -- end\n",
    "DROP TABLE IF EXISTS a, b.c; ",
    "SELECT \"a\", * INTO t FROM \"b\".\"c\" WINDOW w AS (ORDER BY x) FETCH FIRST 5 ROWS ONLY",
];

pub(crate) const OCCURRENCES: [(&str, &str); 12] = [
    ("Bob", "Ask Bob, \"Ann Lee\" and Bob's friend."),
    ("Ann  Lee", "Ann\nLee (ann@x.example)"),
    (
        "www.our-company.co",
        "see www.our-company.co. or www.our-company.com",
    ),
    (
        "bob@example.com",
        "<bob@example.com>,a@x.example,b@x.example",
    ),
    (
        "https://a.example/x",
        "[x](https://a.example/x) https://a.example/x?y=1",
    ),
    ("1000", "$1,000 1000.00 1.000,00 21000 1 000 1000%"),
    ("-12.50", "-12.5 EUR, -12.500 12,50"),
    ("DE89370400440532013000", "to DE89 3704 0044 0532 0130 00!"),
    (
        "report.pdf",
        "open report.pdf... dir/report.pdf old-report.pdf",
    ),
    ("10:30", "at 10:30, 10:30:15"),
    ("general", "#general mailto:a@x.example 'x' ((y))"),
    ("\u{212a}", "k \u{212a} \u{e9}\u{301} \u{1f600}"),
];

pub(crate) const LINKED: [&str; 8] = [
    "see https://a.example/x?y=1#z, http:b.example and //c.example/d.",
    "[text](http://a.example/x_(y)) [n]: /rel <https://b.example> ![i](data:image/png;base64,xx)",
    "<a href='https://a.example'>x</a> <img src=//b.example/i.png srcset=\"c.png 2x\"> url(d.example)",
    "www.a.example, b.example/c report.pdf a.b.co 127.0.0.1:80 [::1] a@b.example javascript:alert(1)",
    "https://a.example/?u=https://b.example/%2e%2e/ftp://c.example",
    "HTTP://A.EXAMPLE\thttps://\u{e9}.example/\u{1f600} xn--bcher-kva.example",
    "http://a.example:80:90/@x https://u:p@h.example;x",
    "(https://a.example). \"https://b.example\"; 'https://c.example'!",
];
