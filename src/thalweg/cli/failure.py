"""Errors that a user can fix are printed as one sentence on stderr, with an exit code and without a traceback."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import typer

from thalweg.errors import PlanError, ThalwegError

WRONG_USE = 2
FAILED = 1


@contextlib.contextmanager
def errors_in_one_sentence() -> Iterator[None]:
    """Print the errors of a command in one sentence and exit."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("pyspark", "pandas"):
            raise
        typer.echo(f"This needs PySpark ({error.name} is missing): pip install 'thalweg[spark]'", err=True)
        raise typer.Exit(FAILED) from None
    except ThalwegError as error:
        typer.echo(f"{error}", err=True)
        raise typer.Exit(WRONG_USE if isinstance(error, PlanError) else FAILED) from None
