"""What a grant is bound to, as digests: arguments, and a question as a whole.

INVARIANT: what has no canonical form has no digest. `EncodingError` comes out, and nothing is granted on its account.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from bobcat.frozen import thaw
from bobcat.ir.canonical import check_const, encode_value

_ARGS = b"bobcat/args/v1\0"
_QUESTION = b"bobcat/question/v1\0"


def canonical(value: Any) -> bytes:  # Any: what it refuses is decided here
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
    """The digest of what an approval is about: policy (its digest), tool, arguments, and whether the action may have
    happened already. `definition` is `ToolDef.definition`, and counts where a tool has one.
    """
    about: dict[str, Any] = {"policy": policy, "tool": tool, "args": args}  # Any: as above
    if definition:
        about["definition"] = definition
    if uncertain:
        about["uncertain"] = True
    return sha256(_QUESTION + canonical(about)).hexdigest()
