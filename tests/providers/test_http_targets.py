"""Properties of the targets of requests and redirects: one meaning, however they are written."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

import httpx
from hypothesis import example, given
from hypothesis import strategies as st

from bobcat import facets
from bobcat.errors import ToolError
from bobcat.providers.web.target import Target, redirected, target_of

PIECES = (
    *"http:// https:// HTTP:// // / \\ @ : ? # % %2f %2E .. . a shop.example trap.example 127.0.0.1 0x7f.1".split(),
    *"2130706433 [::1] [::ffff:127.0.0.1] [ ] :80 :443 :8080 :0 é １ 。 & = ; + user localhost xn-- - _".split(),
    *("javascript:", "file:", "C:", "\t", "\n", " "),
)
texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text(max_size=12)
urls = st.tuples(st.sampled_from(["http://", "https://", ""]), texts).map("".join)
BASE = target_of("https://shop.example:8443/a/b?c=d")


def _parsed(text: str) -> Target | None:
    try:
        return target_of(text)
    except ToolError:
        return None


def _host(text: str | None) -> str:
    try:
        return str(ipaddress.ip_address(text or ""))
    except ValueError:
        return text or ""


def _check(target: Target) -> None:
    assert target_of(target.url) == target
    assert facets.url(target.url).host == target.host
    assert re.fullmatch(r"[!-~]+", target.url)
    assert target.path.startswith("/")
    assert not re.search(r"[/@?#\\\\]", target.authority)
    split = urlsplit(target.url)
    assert (split.scheme, _host(split.hostname), split.username) == (target.scheme, target.host, None)
    assert split.port in (None, target.port)
    other = httpx.URL(target.url)
    assert other.raw_path.decode() == target.path
    assert _host(other.raw_host.decode()) == target.host


@given(urls)
@example("HTTP://Shop.Example.:080/")
@example("http://shop.example?x#y")
@example("http://[::ffff:127.0.0.1]/")
def test_a_target_has_one_meaning(text: str) -> None:
    target = _parsed(text)
    if target is None:
        return
    _check(target)
    found = facets.url(text)
    assert (target.scheme, target.host, target.port) == (found.scheme, found.host, found.port)


@given(texts)
@example("///trap.example/")
@example("/\\\\trap.example")
@example("http:trap.example")
@example("//[")
@example("//shop.example@trap.example/")
def test_a_redirect_leaves_its_origin_only_by_naming_another(location: str) -> None:
    try:
        target = redirected(BASE, location)
    except ToolError:
        return
    _check(target)
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|//[^/]", location):
        assert target.origin == BASE.origin
