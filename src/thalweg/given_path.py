"""The paths of files and folders that a user gives."""

from __future__ import annotations

import os

from thalweg.errors import PlanError


def given_path(path: str | os.PathLike[str]) -> str:
    """Return a path in which `~` or `~name` at the beginning is replaced by the home folder, as a shell does. Other
    paths stay as they are, and so do URIs.

    >>> given_path("runs/~/events.jsonl"), given_path("file:///~x"), given_path("s3://~/x")
    ('runs/~/events.jsonl', 'file:///~x', 's3://~/x')
    """
    found = os.path.expanduser(os.fspath(path))
    if found == "~" or found.startswith("~/"):
        raise PlanError(f"{found!r}: the home folder ~ is not known, because HOME is not set; write the whole path")
    return found
