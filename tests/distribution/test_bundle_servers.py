"""`bobcat bundle serve`, `push`, `pull` and `status`, and servers that follow: real processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bobcat import BundleError, HttpSource, Policy, Request, SourceError
from bobcat.bundle import file
from bobcat.distribution import publish, pull, sign_release
from bobcat.server import DecisionClient
from distribution.releases import (
    KEY,
    OTHER,
    OTHER_KEY,
    PUSH_TOKEN,
    TRUST,
    altered,
    bobcat,
    eventually,
    get,
    policy,
    process,
    release,
    unsigned,
)  # fmt: skip
from server.test_served_processes import free_port

READ = Request("read")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Keys and a token, a compiled policy, and a directory of bundles."""
    (tmp_path / "release.key").write_bytes(KEY)
    (tmp_path / "tokens").write_text(PUSH_TOKEN)
    (tmp_path / "bundles").mkdir()
    for number in (1, 2, 3):
        policy(number).save(tmp_path / f"{number}.bundle")
    return tmp_path


def pushed(place: Path, number: int, target: str, *words: str) -> subprocess.CompletedProcess[str]:
    return bobcat(
        "bundle", "push", f"{number}.bundle", target, "--key", "release.key", *words, cwd=place, token=PUSH_TOKEN
    )


@pytest.fixture
def served(place: Path) -> Iterator[str]:
    """The URL of a bundle server that takes pushes."""
    port = free_port()
    words = ("--port", str(port), "--push-token-file", "tokens", "--trust", TRUST)
    with process("bundle", "serve", "bundles", *words, cwd=place):
        assert eventually(lambda: get(f"http://127.0.0.1:{port}/health")[0] == 200)
        yield f"http://127.0.0.1:{port}/bundles/policy"


def test_two_servers_follow_one_source_through_a_rollout(place: Path, served: str) -> None:
    assert pushed(place, 1, served).returncode == 0
    sockets = [str(place / "a"), str(place / "b")]
    follow = ("--trust", TRUST, "--reload-seconds", "0.05")
    with (
        contextlib.ExitStack() as closed,
        process("serve", served, "--uds", sockets[0], "--keep", "kept-a", *follow, cwd=place),
        process("serve", served, "--uds", sockets[1], "--keep", "kept-b", *follow, cwd=place) as second,
    ):
        clients = [closed.enter_context(DecisionClient(f"unix:{path}")) for path in sockets]

        def all_give(reason: str) -> bool:
            return eventually(lambda: [each.evaluate(READ).reason for each in clients] == [reason] * 2)

        assert all_give("p1")
        done = pushed(place, 2, served, "--format", "json")
        assert (done.returncode, json.loads(done.stdout)["epoch"]) == (0, 2)
        assert all_give("p2")
        back = pushed(place, 1, served, "--epoch", "1")
        assert (back.returncode, "error[old_epoch]" in back.stderr) == (3, True)
        # What a server does not accept, a mirror may still give: the followers refuse it.
        file.write(place / "bundles" / "policy.bundle", release(1))
        assert eventually(lambda: (status(sockets[0])["problem"] or {}).get("code") == "old_epoch")
        shown = status(sockets[0])
        assert (shown["epoch"], shown["bundle"]) == (2, policy(2).id)
        assert all_give("p2")
        file.write(place / "bundles" / "policy.bundle", release(3)[:-7])
        assert eventually(lambda: status(sockets[0])["failures"] > 0)  # the server refuses to give a damaged file
        assert all_give("p2")
        second.send_signal(signal.SIGTERM)
        assert second.wait(30) == 0
        with process("serve", served, "--uds", sockets[1], "--keep", "kept-b", *follow, cwd=place):
            assert all_give("p2")  # from the kept bundle
            (place / "bundles" / "policy.bundle").unlink()
            assert pushed(place, 3, served, "--epoch", "3").returncode == 0
            assert all_give("p3")
            text = metrics(sockets[0])
    for line in ("bobcat_policy_epoch 3", "bobcat_policy_reloads_total 2", "bobcat_policy_current 1"):
        assert f"\n{line}\n" in text
    assert 'bobcat_decisions_total{verdict="allow"}' in text
    assert int(text.split("\nbobcat_policy_refused_total ")[1].split("\n")[0]) >= 1


def status(socket: str) -> Any:
    return json.loads(_ask(socket, "/v1/status"))


def metrics(socket: str) -> str:
    return _ask(socket, "/metrics").decode()


def _ask(socket: str, path: str) -> bytes:
    from bobcat.server.client import _UnixConnection

    with contextlib.closing(_UnixConnection(socket, 10)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status == 200
        return answer.read()


def test_the_server_speaks_http(place: Path, served: str) -> None:
    base = served.removesuffix("/policy")
    assert get(served)[0] == 404
    assert pushed(place, 1, served).returncode == 0
    code, headers, body = get(served)
    assert (code, body, headers["Bobcat-Epoch"]) == (200, (place / "bundles" / "policy.bundle").read_bytes(), "1")
    for value in (headers["ETag"], f"W/{headers['ETag']}", f'"x", {headers["ETag"]}', "*"):
        assert get(served, If_None_Match=value)[::2] == (304, b"")
    assert get(served, If_None_Match='"x"')[0] == 200
    listed = json.loads(get(base)[2])["bundles"]
    assert (listed["policy"]["epoch"], listed["policy"]["bundle"]) == (1, policy(1).id)
    for name in ("..%2F1", "%2e%2e", ".policy.bundle.lock", "a%00b", "x" * 200):
        assert get(f"{base}/{name}")[0] == 404


def test_only_newer_releases_of_trusted_keys_are_taken(place: Path, served: str) -> None:
    with pytest.raises(SourceError, match="401"):
        publish(release(1), HttpSource(served, token="another-token-entirely"))
    source = HttpSource(served, token=PUSH_TOKEN)
    assert publish(release(2), source)[1] is True
    for data, code in (
        (release(1), "old_epoch"),
        (release(3, epoch=2), "epoch_reused"),
        (release(3, key=OTHER_KEY), "unsigned"),
        *((each, None) for each in list(altered(release(3)))[::8]),
    ):
        with pytest.raises((SourceError, BundleError)) as caught:
            source.put(data)
        assert code in (None, caught.value.code)
    assert publish(release(2), source)[1] is False
    assert get(served)[2] == release(2)
    assert [path.name for path in (place / "bundles").iterdir() if path.suffix == ".part"] == []


def test_of_concurrent_pushes_of_one_epoch_one_wins(place: Path, served: str) -> None:
    source = HttpSource(served, token=PUSH_TOKEN)

    def push(number: int) -> str:
        try:
            return "won" if publish(release(number, epoch=7), source)[1] else "same"
        except SourceError as error:
            return error.code

    with ThreadPoolExecutor(8) as threads:
        outcomes = list(threads.map(push, range(1, 9)))
    assert sorted(outcomes) == ["epoch_reused"] * 7 + ["won"]
    assert get(served)[2] == release(outcomes.index("won") + 1, epoch=7)


KILLED = """
import os, sys
from bobcat.bundle import file
from bobcat.distribution import publish
calls = 0
def stop_at(name):
    real = getattr(os, name)
    def stopping(*args, **kwargs):
        global calls
        calls += 1
        if calls == int(sys.argv[1]):
            os.kill(os.getpid(), 9)
        return real(*args, **kwargs)
    setattr(os, name, stopping)
data = open(sys.argv[2], "rb").read()
for name in ("open", "fsync", "replace", "fdopen", "close"):
    stop_at(name)
publish(data, sys.argv[3])
print(calls)
"""


def test_a_pusher_that_is_killed_leaves_the_old_or_the_new_release(place: Path) -> None:
    """Kill the pusher at each of its system calls; the next push is not in the way of what it left."""
    target, number = place / "bundles", 1
    publish(release(number), target)
    (place / "new").write_bytes(release(2))
    for step in range(1, 20):
        (place / "bundles" / "policy.bundle").write_bytes(release(1))
        words = [sys.executable, "-c", KILLED, str(step), str(place / "new"), str(target)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        present = (target / "policy.bundle").read_bytes()
        assert present in (release(1), release(2))
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
    assert (done.returncode, present) == (0, release(2))
    assert step > 4
    assert publish(release(3), target)[1] is True
    assert sorted(path.name for path in target.iterdir()) == [".policy.bundle.lock", "policy.bundle"]


def test_pull_keeps_the_last_good_release(place: Path, served: str) -> None:
    def pulled(*words: str) -> subprocess.CompletedProcess[str]:
        return bobcat("bundle", "pull", served, "-o", "own.bundle", "--trust", TRUST, *words, cwd=place)

    missing = pulled()
    assert (missing.returncode, "error[not_found]" in missing.stderr, (place / "own.bundle").exists()) == (
        3,
        True,
        False,
    )
    assert pushed(place, 2, served, "--epoch", "2").returncode == 0
    assert pulled().stdout.startswith("written: own.bundle: epoch 2")
    again = pulled("--format", "json")
    assert (again.returncode, json.loads(again.stdout)["outcome"]) == (0, "not_modified")
    own = (place / "own.bundle").read_bytes()
    for data, code in (
        (release(1), "old_epoch"), (release(1, epoch=2), "epoch_reused"), (unsigned(3), "unsigned"),
        (release(3, key=OTHER_KEY), "unsigned"),
    ):  # fmt: skip
        (place / "bundles" / "policy.bundle").write_bytes(data)
        refused = pulled()
        assert (refused.returncode, f"error[{code}]" in refused.stderr) == (3, True)
        assert "Traceback" not in refused.stderr
        assert (place / "own.bundle").read_bytes() == own
    for trusts in (["--trust", "ab"], ["--trust", "tokens"]):
        assert bobcat("bundle", "pull", served, "-o", "x", *trusts, cwd=place).returncode == 3
    both = pulled("--trust", OTHER)
    assert (both.returncode, "epoch 3" in both.stdout) == (0, True)
    (place / "tmp").mkdir()
    for mistake in (["ftp://x/y"], ["http://user:password@x/y"], [served, "--ca", "missing"]):
        wrong = bobcat("bundle", "pull", *mistake, "-o", "x", "--trust", TRUST, cwd=place)
        assert (wrong.returncode in (2, 3), "Traceback" in wrong.stderr, (place / "x").exists()) == (True, False, False)


def test_a_directory_is_a_source_and_a_target(place: Path) -> None:
    first = pushed(place, 1, "bundles", "--expires", "1h")
    assert (first.returncode, "epoch 1" in first.stdout) == (0, True)
    assert pushed(place, 2, "bundles").stdout.startswith("published: bundles: epoch 2")
    there = bobcat("bundle", "status", "bundles", "--trust", TRUST, cwd=place)
    assert (there.returncode, "signature verified" in there.stdout, policy(2).id in there.stdout) == (0, True, True)
    assert bobcat("bundle", "pull", "bundles", "-o", "own", "--trust", TRUST, cwd=place).returncode == 0
    assert bobcat("bundle", "status", "bundles", "--kept", "own", cwd=place).returncode == 0
    assert pushed(place, 3, "bundles").returncode == 0
    behind = bobcat("bundle", "status", "bundles", "--kept", "own", "--format", "json", cwd=place)
    assert (behind.returncode, json.loads(behind.stdout)["kept"]["epoch"], json.loads(behind.stdout)["epoch"]) == (
        1,
        2,
        3,
    )
    assert Policy.load(place / "bundles" / "policy.bundle", trusted_keys=[TRUST], min_epoch=3).id == policy(3).id
    for words in (("--epoch", "1"), ("--expires", "yesterday"), ("--expires", "2020-01-01T00:00:00Z")):
        assert pushed(place, 1, "bundles", *words).returncode in (2, 3)
    bare = bobcat("bundle", "push", "1.bundle", "bundles", cwd=place)
    assert (bare.returncode, "error[no_epoch]" in bare.stderr) == (3, True)


def test_a_push_counts_on_from_a_release_that_it_can_verify(place: Path) -> None:
    (place / "other.key").write_text(OTHER_KEY.hex())
    assert bobcat("bundle", "push", "1.bundle", "bundles", "--key", "release.key", cwd=place).returncode == 0
    there = place / "bundles" / "policy.bundle"
    there.write_bytes(sign_release(there.read_bytes(), OTHER_KEY, epoch=9_000_000))
    push = ("bundle", "push", "2.bundle", "bundles", "--key", "release.key")
    refused = bobcat(*push, cwd=place)
    assert (refused.returncode, "the epoch of the release at `bundles/policy.bundle` cannot" in refused.stderr) == (
        3,
        True,
    )
    assert "help: give `--epoch N`, or `--trust KEY`" in refused.stderr
    trusting = bobcat(*push, "--trust", OTHER, cwd=place)
    assert trusting.stdout.startswith("published: bundles: epoch 9000001")
    there.write_bytes(b"damaged")
    assert bobcat(*push, cwd=place).returncode == 3
    bare = bobcat("bundle", "push", "2.bundle", "bundles", "--trust", OTHER, cwd=place)
    assert (bare.returncode, "it needs `--key`" in bare.stderr) == (2, True)


def test_https_with_an_own_certificate(place: Path) -> None:
    make = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    names = ("-keyout", "tls.key", "-out", "tls.pem", "-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1")
    subprocess.run([*make, *names], cwd=place, check=True, capture_output=True)
    publish(release(1), place / "bundles")
    port = free_port()
    url = f"https://127.0.0.1:{port}/bundles/policy"
    words = ("--port", str(port), "--tls-cert", "tls.pem", "--tls-key", "tls.key")
    with process("bundle", "serve", "bundles", *words, cwd=place):
        source = HttpSource(url, ca=str(place / "tls.pem"))
        assert eventually(lambda: _fetches(source))
        with pytest.raises(SourceError, match="certificate"):
            HttpSource(url).fetch(None)


def _fetches(source: HttpSource) -> bool:
    try:
        return source.fetch(None) is not None
    except SourceError:
        return False


class _Hostile(BaseHTTPRequestHandler):
    """Answers what a broken server or an attacker could."""

    def do_GET(self) -> None:
        what = self.path.strip("/")
        if what.startswith("to-"):
            self.send_response(302)
            self.send_header("Location", {"to-http": "http://127.0.0.1:1/x", "to-file": "file:///etc/passwd"}[what])
            self.end_headers()
        elif what == "short":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"x" * 10)
        elif what == "large":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"x" * 100_000)
        elif what == "not-modified":
            self.send_response(304)
            self.end_headers()
        else:
            self.send_response(int(what))
            self.end_headers()
            self.wfile.write(b'{"error": 5}')

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def hostile() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Hostile) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("what", ["to-http", "to-file", "short", "large", "not-modified", "404", "500", "204", "301"])
def test_a_hostile_server_is_an_error_and_leaves_no_file(what: str, hostile: str, tmp_path: Path) -> None:
    from datetime import UTC, datetime

    source = HttpSource(f"{hostile}/{what}", max_bytes=10_000, timeout_seconds=5)
    with pytest.raises(SourceError):
        pull(source, tmp_path / "own", trust=[TRUST], now=datetime.now(UTC))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("http://example.com/x", {"token": "a-token"}),
        ("https://user:pass@example.com/x", {}),
        ("file:///etc/passwd", {}),
        ("https://", {}),
        ("https://example.com/x", {"token": "a\nb"}),
        ("https://example.com/x", {"timeout_seconds": 0}),
    ],
)
def test_a_url_that_could_leak_is_refused(url: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"URL|token|seconds|password"):
        HttpSource(url, **options)


def test_a_server_without_what_it_needs_is_refused(place: Path) -> None:
    for words in (["--push-token-file", "tokens"], ["--tls-cert", "x"]):
        assert bobcat("bundle", "serve", "bundles", *words, cwd=place).returncode == 2
    assert bobcat("bundle", "serve", "missing", cwd=place).returncode == 3
    assert bobcat("serve", "http://127.0.0.1:1/x", "--insecure", cwd=place).returncode == 2
    away = bobcat("serve", "http://127.0.0.1:1/x", "--insecure", "--trust", TRUST, cwd=place)
    assert (away.returncode, "error[unreachable]" in away.stderr, "Traceback" in away.stderr) == (3, True, False)
