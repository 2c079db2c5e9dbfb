"""The command line interface: `thalweg demo`, `thalweg report` and `thalweg lab`."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from thalweg import __version__
from thalweg.cli.demo.command import demo
from thalweg.cli.lab_command import lab
from thalweg.cli.report_command import report

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_show_locals=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"thalweg {__version__}")
        raise typer.Exit


@app.callback()
def thalweg(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Adaptive query processing for data streams on Apache Spark."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without × shows a ? instead of failing
            stream.reconfigure(errors="replace")


app.command()(demo)
app.command()(lab)
app.command()(report)

__all__ = ["app"]
