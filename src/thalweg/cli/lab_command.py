"""The command `thalweg lab`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli.failure import errors_in_one_sentence


def lab(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="A paper (a-greedy, rate-based, om, query-mesh) or an experiment (a-greedy/figure-9). Default: all."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Use fewer rows: seconds instead of minutes.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder for one Markdown page per paper, with its figures.", file_okay=False),
    ] = None,
) -> None:
    """Run the experiments of the papers, and show each claim next to what was measured here."""
    from thalweg.lab.run import main

    with errors_in_one_sentence():
        raise typer.Exit(main(list(names or ()), quick, out))
