"""`thalweg lab`."""

from __future__ import annotations

from typing import Annotated

import typer

from thalweg.cli.failure import told_in_one_sentence


def lab(
    names: Annotated[
        list[str] | None, typer.Argument(help="A paper (a-greedy) or an experiment (a-greedy/example-6); else all.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows.")] = False,
) -> None:
    """Run the papers' experiments: each claim beside what was measured here."""
    from thalweg.lab.run import main

    with told_in_one_sentence():
        raise typer.Exit(main(list(names or ()), quick))
