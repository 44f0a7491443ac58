"""Lints, one per file: `check(subject)` yields its findings. `lint.registry` lists them."""
