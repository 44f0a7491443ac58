"""Put a comparison into one comment on a pull request: `python comment.py NUMBER MARKDOWN`.

The comment is found again by its first line and replaced, so that a pull request has one. A token that may not write,
as in pull requests from forks, is a warning: the comparison is in the summary of the job, too.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

MARKER = "<!-- bobcat diff -->"
NOTHING = "No policy differs."
"""The text of `bobcat diff` without a difference: it makes no comment, and replaces one."""
MAX_CHARS = 60_000
"""GitHub takes 65,536 characters of a comment."""
PAGE, MAX_PAGES = 100, 30
SECONDS = 30.0


def main(number: str, path: str) -> int:
    """Write the comment, and return the exit code."""
    text = Path(path).read_text(encoding="utf-8").strip()
    if not number.isdecimal():
        print(f"::error::`{number}` is not the number of a pull request")
        return 2
    try:
        own = existing(number)
        if text not in ("", NOTHING) or own is not None:
            write(number, own, text or NOTHING)
    except urllib.error.HTTPError as error:
        if error.code in (403, 404):
            print(f"::warning::no comment: the token may not write comments here ({error.code})")
            return 0
        print(f"::error::no comment: {error.code} {error.reason}")
        return 1
    except OSError as error:
        print(f"::error::no comment: {error}")
        return 1
    return 0


def existing(number: str) -> int | None:
    """Return the id of the comment of an earlier run."""
    for page in range(1, MAX_PAGES + 1):
        found = call("GET", f"issues/{number}/comments?per_page={PAGE}&page={page}")
        for each in found:
            if str(each.get("body", "")).startswith(MARKER):
                return int(each["id"])
        if len(found) < PAGE:
            return None
    return None


def write(number: str, own: int | None, text: str) -> None:
    """Make the comment, or replace it."""
    if len(text) > MAX_CHARS:
        text = text[:MAX_CHARS].rpartition("\n")[0] + "\n\nThe rest is in the summary of the job."
    body = {"body": f"{MARKER}\n{text}"}
    if own is None:
        call("POST", f"issues/{number}/comments", body)
    else:
        call("PATCH", f"issues/comments/{own}", body)


def call(method: str, path: str, body: object = None) -> Any:  # Any: JSON
    """Call the API of the repository. Raises `HTTPError` and `OSError`."""
    base = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    request = urllib.request.Request(
        f"{base}/repos/{os.environ['GITHUB_REPOSITORY']}/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
