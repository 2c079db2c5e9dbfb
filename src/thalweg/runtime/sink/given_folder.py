"""The folders and options that a user gives when a query is started."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from thalweg.errors import PlanError
from thalweg.given_path import given_path


def given_folder(argument: str, place: Any) -> str | None:
    """Return a folder as a text, without `~`; None if none is given.

    >>> from pathlib import Path
    >>> given_folder("path", Path("joined")), given_folder("path", None)
    ('joined', None)
    >>> given_folder("path", 5)
    Traceback (most recent call last):
        ...
    thalweg.errors.PlanError: path=5 is not the name of a folder; give a str or a pathlib.Path
    """
    if place is None:
        return None
    found = os.fspath(place) if isinstance(place, os.PathLike) else place
    if not isinstance(found, str) or not found or "\0" in found:
        raise PlanError(f"{argument}={place!r} is not the name of a folder; give a str or a pathlib.Path")
    if re.search("[\ud800-\udfff]", found):
        raise PlanError(f"{argument}={place!r} has bytes that are not UTF-8, which Spark cannot open; rename it")
    return given_path(found)


def given_options(options: Any) -> dict[str, Any]:
    """Return the options of a sink as a dict.

    >>> given_options(["zstd"])
    Traceback (most recent call last):
        ...
    thalweg.errors.PlanError: options=['zstd'] must be a dict, such as {'compression': 'zstd'}
    """
    if options is not None and not isinstance(options, Mapping):
        raise PlanError(f"options={options!r} must be a dict, such as {{'compression': 'zstd'}}")
    return dict(options or {})
