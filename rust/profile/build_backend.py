"""Build backend of `pyproject.toml`: maturin with the compiler's profile, and the native hook as a script."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import maturin  # type: ignore[import-untyped]
from hook_script import add_to_sdist, add_to_wheel, build
from maturin import (
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from profile_flags import arguments

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = dict[str, Any] | None  # Any: what the caller's `--config-settings` hold


def build_wheel(directory: str, settings: Settings = None, metadata_directory: str | None = None) -> str:
    """Build a wheel in `directory` and return its file name."""
    _add_profile()
    made: str = maturin.build_wheel(directory, settings, metadata_directory)
    add_to_wheel(Path(directory, made), build())
    return made


def build_editable(directory: str, settings: Settings = None, metadata_directory: str | None = None) -> str:
    """Build an editable wheel in `directory` and return its file name."""
    _add_profile()
    made: str = maturin.build_editable(directory, settings, metadata_directory)
    add_to_wheel(Path(directory, made), build())
    return made


def build_sdist(directory: str, settings: Settings = None) -> str:
    """Build a source distribution in `directory` and return its file name."""
    made: str = maturin.build_sdist(directory, settings)
    add_to_sdist(Path(directory, made))
    return made


def _add_profile() -> None:
    given = shlex.split(os.environ.get("MATURIN_PEP517_ARGS", ""))
    os.environ["MATURIN_PEP517_ARGS"] = shlex.join([*given, *arguments()])
