"""Allowlists that compare normal forms: what matches, and what is on no list."""

from __future__ import annotations

from typing import Any

import pytest

from bobcat import Allowlist

MATCHES = [
    ("ops@example.com", "ops@example.com", True),
    ("ops@example.com", "Ops@EXAMPLE.com", True),
    ("ops@bücher.example", "ops@xn--bcher-kva.example", True),
    ("ops@xn--bcher-kva.example", "OPS@Bücher.example", True),
    ("ops@example.com", "ops+x@example.com", False),
    ("ops@example.com", "ops@example.com.evil.example", False),
    ("ops@example.com", "ops@example.com, mallory@evil.example", False),
    ("ops@example.com", "Ops <ops@example.com>", False),
    ("ops@example.com", '"ops"@example.com', False),
    ("ops@example.com", " ops@example.com", False),
    ("ops@example.com", "ops@example.com\n", False),
    ("ops@example.com", "ops(a)@example.com", False),
    ("ops@example.com", "mallory@evil.example,ops@example.com", False),
    ("ops@example.com", "mallory%evil.example@ops@example.com", False),
    ("ops@example.com", "ops@examрle.com", False),  # a Cyrillic letter
    ("ops@example.com", "ops", False),
    ("ops@example.com", "@example.com", False),
    ("ops@example.com", "ops@" + "a" * 300 + ".com", False),
]


@pytest.mark.parametrize(("listed", "target", "permitted"), MATCHES)
def test_addresses_are_compared_by_what_they_name(listed: str, target: str, permitted: bool) -> None:
    assert Allowlist([listed], normalize="email").permits(target) is permitted


@pytest.mark.parametrize("bad", ["ops", "a@b@c.example", "Ops <ops@example.com>", "ops@-.com", "ops@localhost"])
def test_a_list_with_an_entry_that_is_no_address_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match=r"not one plain address|no valid domain"):
        Allowlist([bad], normalize="email")


def test_casefold_ignores_case_and_composition() -> None:
    listed = Allowlist(["Straße", "caf\u00e9"], normalize="casefold")
    assert listed.permits("STRASSE")
    assert listed.permits("CAFE\u0301")
    assert not listed.permits("strase")


def test_a_function_may_reject_a_target() -> None:
    def digits(text: str) -> str:
        if not text.isdecimal():
            raise ValueError(text)
        return str(int(text))

    listed = Allowlist(["007"], normalize=digits)
    assert listed.permits("7")
    assert not listed.permits("x")
    with pytest.raises(ValueError, match="x"):
        Allowlist(["x"], normalize=digits)


def test_without_normalize_spelling_counts() -> None:
    assert not Allowlist(["ops@example.com"]).permits("Ops@example.com")


@pytest.mark.parametrize(("normalize", "error"), [("mail", ValueError), (3, ValueError), (lambda _: 3, TypeError)])
def test_other_options_are_refused(normalize: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="normalize"):
        Allowlist(["a@b.example"], normalize=normalize)
