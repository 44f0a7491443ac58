"""Bobcat compiles policies for AI-agent tool calls, decides on calls, and runs agents behind those decisions.

    bundle = bobcat.compile_policy(text)            # or load_policy_file(path), load_bundle(path)
    decision = bobcat.evaluate(bundle, request)     # or bundle.evaluate(request)

Every name is loaded on first use, so a worker that only decides never loads the compiler, PyYAML or google-re2.
"""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
