"""The build backend of `pyproject.toml`: maturin, told of the profile."""

from __future__ import annotations

import os
import shlex
from typing import Any

import maturin  # type: ignore[import-untyped]
from maturin import (
    build_sdist,
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
    """A wheel in `directory`; its file name."""
    _tell()
    made: str = maturin.build_wheel(directory, settings, metadata_directory)
    return made


def build_editable(directory: str, settings: Settings = None, metadata_directory: str | None = None) -> str:
    """An editable wheel in `directory`; its file name."""
    _tell()
    made: str = maturin.build_editable(directory, settings, metadata_directory)
    return made


def _tell() -> None:
    told = shlex.split(os.environ.get("MATURIN_PEP517_ARGS", ""))
    os.environ["MATURIN_PEP517_ARGS"] = shlex.join([*told, *arguments()])
