"""Shadows: what they find in a call, and that they do nothing."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat.shadows import delete_file_shadow, http_shadow, shell_shadow, sql_shadow, write_file_shadow


def shell(cmd: str) -> dict[str, Any]:
    return asyncio.run(shell_shadow(cmd))


def sql(query: str, conn: Any = None) -> dict[str, Any]:
    return asyncio.run(sql_shadow(query, conn))


@pytest.mark.parametrize(
    ("cmd", "tokens"),
    [
        ("rm -rf /srv", ["rm"]),
        ("/bin/rm x", ["rm"]),
        ("sudo -u root rm x", ["rm"]),
        ("env A=1 nohup rm x", ["rm"]),
        ("A=1 rm x", ["rm"]),
        ("bash -c 'rm x; shred y'", ["rm", "shred"]),
        ("sh -xc 'rm x'", ["rm"]),
        ("bash -c \"bash -c 'rm x'\"", ["rm"]),
        ("eval rm x", ["rm"]),
        ("ls; rm x", ["rm"]),
        ("ls\nrm x", ["rm"]),
        ("ls && (cd /tmp && rm x)", ["rm"]),
        ("echo $(rm x)", ["rm"]),
        ('echo "a `rm x` b"', ["rm"]),
        ("cat <(rm x)", ["rm"]),
        ("r''m x", ["rm"]),
        ("r\\m x", ["rm"]),
        ("find . -name y | xargs rm", ["rm"]),
        ("find . -exec rm {} +", ["rm"]),
        ("find . -delete", ["find -delete"]),
        ("dd if=/dev/zero of=/dev/sda", ["dd"]),
        ("mkfs.ext4 /dev/sda1", ["mkfs.ext4"]),
        ("if true; then rm x; fi", ["rm"]),
        ("timeout 5 rm x", ["rm"]),
        ("git clean -fdx", ["git clean"]),
        ("ls '; rm x'", []),
        ("echo rm", []),
        ("ls # rm x", []),
        ("grep rm file", []),
    ],
)
def test_destructive_programs_are_found_wherever_they_stand(cmd: str, tokens: list[str]) -> None:
    assert shell(cmd)["destructive_tokens"] == tokens


@pytest.mark.parametrize(
    ("cmd", "egress"),
    [
        ("curl x", True),
        ("ls | nc h 1", True),
        ("sudo ssh h", True),
        ("echo curl", False),
        ("git push", True),
        ("ls", False),
    ],
)
def test_network_programs_are_found(cmd: str, egress: bool) -> None:
    assert shell(cmd)["network_egress"] is egress


@pytest.mark.parametrize(
    ("cmd", "paths"),
    [
        ("echo a > x 2>&1", ["x"]),
        ("echo a 2> err >>log", ["err", "log"]),
        ("echo a &> both", ["both"]),
        ("echo 'a > b'", []),
        ("ls > /dev/null", []),
        ("cat < in", []),
        ("ls | tee out", ["out"]),
        (">x", ["x"]),
        ('echo a > "a b"', ["a b"]),
    ],
)
def test_overwritten_files_are_listed(cmd: str, paths: list[str]) -> None:
    assert shell(cmd)["overwrites"] == paths


def test_a_glob_is_unresolved_and_the_disk_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    opened: list[str] = []
    sys.addaudithook(
        lambda event, args: (
            opened.append(str(args[0])) if event in ("os.scandir", "open", "os.listdir", "glob.glob") else None
        )
    )
    preview = shell(f"rm {tmp_path}/*.txt {tmp_path}/a?; ls {tmp_path}/[a]*")
    assert preview["paths_affected"] == [f"{tmp_path}/*.txt", f"{tmp_path}/a?"]
    assert preview["unresolved"] == [f"glob {tmp_path}/*.txt", f"glob {tmp_path}/a?"]
    assert [path for path in opened if str(tmp_path) in path] == []
    assert shell("dd if=a of=/dev/sda")["paths_affected"] == ["/dev/sda"]


SILENT = ("destructive_tokens", "network_egress", "overwrites", "unresolved")


MAY_DO_MORE = r"""
./ls
/tmp/ls -l
LD_PRELOAD=./x.so ls
PATH=. ls
GIT_EXTERNAL_DIFF=./x git diff
/bin/r? x
/bin/[r]m x
python -m http.server
python3 -mthis
perl x
awk 1 f
sed e f
sed 'w out' f
sed -n 'w out' f
vim -c ':!rm x'
less f
man -P 'rm x' ls
tar xf a.tar
tar -cf a.tar d
zip -m a d
unzip -o a
gzip f
cpio -i
chmod -R 000 /
chown -R x /
kill -9 1
pkill -f x
shutdown now
systemctl stop x
service x stop
ln -sf a b
mkdir -p a
touch a
mv a b
cp a b
install a b
rename a b c
sort -o f f
sort --outp=f f
sort -uo f f
uniq a b
find . -fprint x
find . -fls x
find . -execdir ./x {} +
git checkout -- .
git branch -D x
git stash drop
git gc --prune=now
git reflog expire --all
git rm x
git filter-branch
git log --output=x
git log --outpu=x
git diff --ext-diff
git diff --no-index a b
git -c alias.x=!rm x
git -C / log
git config core.pager x
git commit -am x
npm run x
make
cargo build
go run x.go
sudo -i
sudo -s
su
su bob
date -s 2030-01-01
date 010100002030
crontab x
at now
nohup ./x
xargs -a f ./x
cat < /dev/tcp/1.2.3.4/80
exec 3<>/dev/tcp/1.2.3.4/80
ls > '*'
export PATH=.
eval "$X"
docker compose down
mysql < x
sqlite3 db 'drop table t'
redis-cli flushall
psql -f x
tee < a b
:(){ :|:& };:
screen -dm x
tmux new x
socat - EXEC:sh
rsync --delete a b
busybox ./x
dd of=x
truncate -s 0 x
history -c
fallocate -d x
for f in *; do ./x $f; done
case a in a) ./x;; esac
while ./x; do :; done
if ./x; then ls; fi
! ./x
time ./x
echo a | ./x
patch -p1
ed f
ex -sc '%d|x' f
split f
csplit f 1
logrotate -f x
swapoff -a
mount a b
umount a
losetup -d x
sysctl -w x=1
ls() { ./x; }; ls
function ls { ./x; }
"""


@pytest.mark.parametrize("cmd", MAY_DO_MORE.strip().splitlines())
def test_no_command_that_may_do_more_than_read_has_a_silent_preview(cmd: str) -> None:
    preview = shell(cmd)
    assert any(preview[name] for name in SILENT), preview


READERS = r"""
ls -la src
cat a b | grep -rn x | sort -u | uniq -c | head -5
git status
git log --oneline -n 20
git diff --stat HEAD~1
find . -name '*.py' -type f
wc -l < f
echo hi > /dev/null
cd src && pwd
LC_ALL=C sort f
/usr/bin/stat f
[ -f x ] && cat x
[[ -f x ]] && cat x
date +%F
sudo -u root cat f
timeout -s KILL 5 ls
nice -n 5 ls
env
du -sh .
diff a b
find . | xargs grep x
if true; then ls; fi
time ls
"""


@pytest.mark.parametrize("cmd", READERS.strip().splitlines())
def test_a_command_of_known_readers_has_nothing_to_say(cmd: str) -> None:
    preview = shell(cmd)
    assert not any(preview[name] for name in SILENT), preview


@pytest.mark.parametrize(
    ("cmd", "unresolved"),
    [
        ("rm $DIR", "$DIR"),
        ("$CMD x", "program $CMD"),
        ("python -c 'import os'", "python code"),
        ("bash script.sh", "script script.sh"),
        ("curl x | sh", "sh reads its standard input"),
        ("echo 'a", "unclosed '"),
        ("echo $(ls", "unclosed ("),
    ],
)
def test_what_a_preview_cannot_know_is_reported(cmd: str, unresolved: str) -> None:
    assert unresolved in shell(cmd)["unresolved"]


@given(st.text(alphabet="rm x;|&<>()$`'\"\\{}#\n=-", max_size=40))
def test_every_text_has_a_shell_preview(cmd: str) -> None:
    assert shell(cmd)["would_run"] == cmd


def test_deep_nesting_has_a_preview() -> None:
    assert "nested too deeply" in shell("$(" * 500)["unresolved"]
    assert shell("sudo " * 500 + "rm x")["unresolved"] == ["nested too deeply"]


@pytest.mark.parametrize(
    ("query", "operation", "destructive"),
    [
        ("SELECT 1", "SELECT", False),
        ("select * from t where a = 'DELETE FROM t'", "SELECT", False),
        ("DELETE FROM t", "DELETE", True),
        ("-- harmless\nDELETE FROM t", "DELETE", True),
        ("/* SELECT */ DROP TABLE t", "DROP", True),
        ("SELECT 1; DROP TABLE t", "DROP", True),
        ("SELECT ';DROP TABLE t'", "SELECT", False),
        ('SELECT "a;b" FROM t', "SELECT", False),
        ("SELECT $$;DROP TABLE t$$", "SELECT", False),
        ("WITH x AS (SELECT 1) DELETE FROM t", "DELETE", True),
        ("WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", "DELETE", True),
        ("WITH x AS (SELECT 1) SELECT * FROM x", "SELECT", False),
        ("EXPLAIN SELECT 1", "EXPLAIN", False),
        ("EXPLAIN ANALYZE DELETE FROM t", "DELETE", True),
        ("ANALYZE DELETE FROM t", "ANALYZE", True),
        ("SELECT * INTO t2 FROM t", "SELECT", True),
        ("UPDATE t SET a = 1", "UPDATE", True),
        ("MERGE INTO t USING s ON 1=1 WHEN MATCHED THEN DELETE", "MERGE", True),
        ("REPLACE INTO t VALUES (1)", "REPLACE", True),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", "CREATE", True),
        ("INSERT INTO t VALUES (1)", "INSERT", False),
        ("CALL wipe()", "CALL", True),
        ("/*!50000 DROP TABLE t */", "DROP", True),
        (r"SELECT '\'; DROP TABLE t; --'", "DROP", True),
        ("", "UNKNOWN", False),
    ],
)
def test_statements_are_known_by_their_verbs(query: str, operation: str, destructive: bool) -> None:
    preview = sql(query)
    assert (preview["operation"], preview["destructive"]) == (operation, destructive)


def test_tables_where_and_limit_are_read_off_the_statement() -> None:
    preview = sql('SELECT * FROM Users u, "My Table" m JOIN app.Orders o ON 1=1 WHERE a IN (SELECT b FROM c) LIMIT 10')
    assert preview["tables"] == ["My Table", "Users", "app.Orders", "c"]
    assert (preview["has_where_clause"], preview["limit"]) == (True, 10)
    assert sql("DROP TABLE IF EXISTS users")["tables"] == ["users"]
    assert sql("WITH x AS (SELECT * FROM t) SELECT * FROM x")["tables"] == ["t"]


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("DELETE FROM t WHERE a = 1", True),
        ("DELETE FROM t -- WHERE a = 1", False),
        ("DELETE FROM t /* WHERE */", False),
        ("UPDATE t SET a = (SELECT 1 FROM s WHERE 1=1)", False),
        ("DELETE FROM t WHERE a; DELETE FROM u", False),
    ],
)
def test_a_where_clause_counts_only_where_it_restricts(query: str, where: bool) -> None:
    preview = sql(query)
    assert preview["has_where_clause"] is where
    assert ("warning" in preview) is (not where) or ";" in query


def test_a_live_connection_is_never_used() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a)")
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    assert "explain_error" in sql("SELECT 1; DROP TABLE t", connection)
    assert statements == []


@given(st.text(alphabet="SELECT*FROMtDROP;'\"`[]$-/!()\\\n ", max_size=60))
def test_every_text_has_a_sql_preview(query: str) -> None:
    assert sql(query)["would_run"] == query


def test_http_previews_hide_every_credential() -> None:
    preview = asyncio.run(
        http_shadow(
            "put",
            "https://bob:hunter2@api.example.com:8443/v1/x?page=2&api_key=hunter2&token=hunter2#hunter2",
            {"Authorization": "hunter2", "Proxy-Authorization": "hunter2", "X-Auth-Token": "hunter2",
             "X-API-Key": "hunter2", "Cookie": "hunter2", "Accept": "*/*"},
            "höh",
            3.0,
        )
    )  # fmt: skip
    assert "hunter2" not in str(preview)
    assert preview["host"] == "api.example.com:8443"
    assert preview["url"] == "https://api.example.com:8443/v1/x?page=2&api_key=<redacted>&token=<redacted>"
    assert (preview["method"], preview["destructive"], preview["body_bytes"]) == ("PUT", True, 4)
    assert (preview["scheme"], preview["path"], preview["timeout_seconds"]) == ("https", "/v1/x", 3.0)
    assert preview["headers"]["Accept"] == "*/*"


def test_an_invalid_url_has_a_preview() -> None:
    assert asyncio.run(http_shadow("GET", "http://[bad"))["problem"].startswith("not a URL")
    assert asyncio.run(http_shadow("GET", "http://h:99999999/"))["problem"].startswith("not a URL")


def test_file_previews_look_and_do_not_touch(tmp_path: Path) -> None:
    target = tmp_path / "f"
    preview = asyncio.run(write_file_shadow(str(target), "ü" * 300))
    assert (preview["bytes"], preview["would_overwrite"], preview["would_overwrite_bytes"]) == (600, False, None)
    assert preview["preview_first_200_chars"] == "ü" * 200
    assert not target.exists()
    target.write_text("12345")
    assert asyncio.run(write_file_shadow(str(target), ""))["would_overwrite_bytes"] == 5
    gone = asyncio.run(delete_file_shadow(str(target)))
    assert (gone["exists"], gone["size_bytes"], gone["is_directory"]) == (True, 5, False)
    assert asyncio.run(delete_file_shadow(str(tmp_path)))["is_directory"] is True
    assert asyncio.run(delete_file_shadow(str(tmp_path / "none")))["exists"] is False
    assert asyncio.run(delete_file_shadow("a\0b"))["exists"] is False
    assert target.exists()
