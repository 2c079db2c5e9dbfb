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
    if found.startswith("~"):
        name = found.partition("/")[0]
        why = "HOME is not set" if name == "~" else f"there is no user {name[1:]!r}"
        raise PlanError(
            f"{found!r}: the home folder {name} is not known, because {why}; write the whole path, or {'./' + found!r} "
            "if this is its name"
        )
    return found
