"""Digests that a grant is bound to: of arguments, and of a whole question.

INVARIANT: a value without a canonical form has no digest. It raises `EncodingError`, and nothing is granted.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from bobcat.ir.canonical import check_const, encode_value
from bobcat.model.frozen import thaw

_ARGS = b"bobcat/args/v1\0"
_QUESTION = b"bobcat/question/v1\0"


def canonical(value: Any) -> bytes:  # Any: any value, validated here
    """The canonical bytes of a JSON value. Raises `EncodingError` for any other."""
    plain = thaw(value)
    check_const(plain)
    return encode_value(plain)


def args_digest(args: Mapping[str, Any]) -> str:
    """The digest of the arguments of a call: 64 hexadecimal digits."""
    return sha256(_ARGS + canonical(args)).hexdigest()


def question_digest(
    policy: str, tool: str, args: Mapping[str, Any], definition: str = "", *, uncertain: bool = False
) -> str:
    """The digest of the subject of an approval.

    It covers the policy (its digest), the tool, the arguments, and whether the action may already have happened.
    `definition` is `ToolDef.definition`, and counts where a tool has one.
    """
    about: dict[str, Any] = {"policy": policy, "tool": tool, "args": args}  # Any: as above
    if definition:
        about["definition"] = definition
    if uncertain:
        about["uncertain"] = True
    return sha256(_QUESTION + canonical(about)).hexdigest()
