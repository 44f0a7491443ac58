"""The cost of following a source of bundles: `python benches/distribution.py`.

`poll` is a check of an unchanged source: of a file, and over HTTP with an entity tag, beside the same check of a server
that sends the whole bundle each time. `swap` is a check that puts another release in force. `decision` is one by
`ReloadingPolicy.current`, beside one by the policy itself; `longest` are the longest of them while 20 releases are
put in force by another thread, and without any.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bobcat import Policy, Request
from bobcat.bundle.sign import public_key
from bobcat.distribution import HttpSource, ReloadingPolicy, sign_release

KEY = bytes(range(32))
ROUNDS, CALLS, RELEASES = 200, 20_000, 20
REQUEST = Request("pay_7", {"amount": 20})


def release(rules: int, epoch: int) -> bytes:
    """Return a signed bundle of so many rules; each epoch is another policy."""
    source = [
        {"id": f"pay-{n}", "match": {"tool": f"pay_{n}", "args.amount.between": [1, 99 + epoch]}, "decision": "allow"}
        for n in range(rules)
    ]
    return sign_release(Policy.compile({"rules": source}).to_bytes(), KEY, epoch=epoch)


def served(data: bytes, *, tags: bool) -> ThreadingHTTPServer:
    """Serve one bundle, with entity tags or without."""
    tag = f'"{sha256(data).hexdigest()}"'

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if tags and self.headers.get("If-None-Match") == tag:
                self.send_response(304)
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            if tags:
                self.send_header("ETag", tag)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Do nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def median(call: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the median time of a call in microseconds."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e6


def polls(rules: int) -> dict[str, float]:
    """Measure checks of sources that have nothing new."""
    data, found = release(rules, 1), {}
    trust = [public_key(KEY)]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "policy.bundle")
        path.write_bytes(data)
        found["poll of a file"] = median(ReloadingPolicy(path, trust=trust, every=0).refresh)
    for tags, name in ((True, "poll with a tag"), (False, "poll without tags")):
        server = served(data, tags=tags)
        url = f"http://127.0.0.1:{server.server_address[1]}/policy"
        found[name] = median(ReloadingPolicy(HttpSource(url), trust=trust, every=0).refresh)
        server.shutdown()
        server.server_close()
    return found


def swaps(rules: int) -> dict[str, float]:
    """Measure checks that put another release in force, and decisions beside them."""
    releases = [release(rules, epoch) for epoch in range(1, RELEASES + 2)]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "policy.bundle")
        path.write_bytes(releases[0])
        followed = ReloadingPolicy(path, trust=[public_key(KEY)], every=0)
        times: list[float] = []

        def put_in_force() -> None:
            for data in releases[1:]:
                path.write_bytes(data)
                begun = time.perf_counter()
                assert followed.refresh()
                times.append(time.perf_counter() - begun)
            done.set()

        done = threading.Event()
        alone = longest(followed, threading.Event())
        thread = threading.Thread(target=put_in_force)
        thread.start()
        beside = longest(followed, done)
        thread.join()
        policy = followed.current
        return {
            "swap": statistics.median(times) * 1e6,
            "decision by the policy": decisions(lambda: policy.evaluate(REQUEST)),
            "decision by what is in force": decisions(lambda: followed.current.evaluate(REQUEST)),
            "longest decision": alone,
            "longest decision during swaps": beside,
        }


def decisions(call: Callable[[], object]) -> float:
    """Return the median time of a decision in microseconds, over batches."""
    return median(lambda: [call() for _ in range(100)]) / 100


def longest(followed: ReloadingPolicy, done: threading.Event) -> float:
    """Return the longest of many decisions in microseconds, at least until `done` where another thread works."""
    gc.collect()
    longest_time = 0.0
    for number in range(50 * CALLS):
        begun = time.perf_counter()
        followed.current.evaluate(REQUEST)
        longest_time = max(longest_time, time.perf_counter() - begun)
        if number >= CALLS and (done.is_set() or threading.active_count() == 1):
            break
    return longest_time * 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", type=int, default=1_000)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = {**polls(options.rules), **swaps(options.rules)}
    if options.json:
        print(json.dumps({name: round(value, 3) for name, value in found.items()}, indent=2))
        return
    print(f"{options.rules:,} rules; microseconds")
    for name, value in found.items():
        print(f"{name:32}{value:12,.2f}")


if __name__ == "__main__":
    main()
