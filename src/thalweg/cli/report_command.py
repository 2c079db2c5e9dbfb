"""The command `thalweg report EVENTS.jsonl`: what filter chains and joins did and why, from recorded events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg.cli.failure import errors_in_one_sentence
from thalweg.errors import ThalwegError
from thalweg.events import JoinObserved, Record, Skipped, read
from thalweg.formatting import plural
from thalweg.given_path import given_path
from thalweg.printable import printable
from thalweg.report import JoinReport, JoinTally, Report, fold

MOST_NUMBERS = 10
"""The maximum number of line numbers in a warning."""


def report(
    events: Annotated[
        Path, typer.Argument(help="The file of event records that events= names in tw.filters, tw.join or s.query.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Print the report of a file of event records: what filters and joins did, and why."""
    with errors_in_one_sentence():
        events = Path(given_path(events))
        records = _records(events)
        joined = {record.origin.run for record in records if isinstance(record, JoinObserved)}
        folded = fold(record for record in records if record.origin.run not in joined)
        joins = JoinTally()
        for record in records:
            if record.origin.run in joined:
                joins.add(record)
        if not folded.sections and not joined:
            raise ThalwegError(f"{events} has no observations yet; run this again when the query has finished a batch")
        reports = [part for part, some in ((folded, folded.sections), (joins.report(), joined)) if some]
        if as_json:
            typer.echo(json.dumps({key: value for part in reports for key, value in _named(part).items()}, indent=2))
        else:
            typer.echo("\n\n".join(map(str, reports)))


def _named(part: Report | JoinReport) -> dict[str, Any]:
    return part.to_dict() if isinstance(part, Report) else {"joins": part.to_dict()["sections"]}


def _records(path: Path) -> list[Record]:
    if path.is_dir():
        raise ThalwegError(f"{path} is a folder; give the file that was passed as events=")
    if not path.is_file():
        raise ThalwegError(f"there is no file {path}; give the file that was passed as events=")
    skipped: list[Skipped] = []
    try:
        records = list(read(path, skipped))
        with path.open("rb") as file:
            compressed = file.read(2) == b"\x1f\x8b"
    except OSError as error:
        raise ThalwegError(f"cannot read {path}: {error.strerror}; give a file that you may read") from error
    if not records and any(not part.torn for part in skipped):
        remedy = "decompress it first" if compressed else "give the file that was passed as events="
        raise ThalwegError(f"{path} has no event records (line {skipped[0].line}: {skipped[0].why}); {remedy}")
    if skipped:
        typer.echo(printable(f"{path}: {_skipped_sentence(skipped)}"), err=True)
    return records


def _skipped_sentence(skipped: list[Skipped]) -> str:
    """Return a sentence about the parts that were skipped, with the numbers of the first lines."""
    numbers = list(dict.fromkeys(part.line for part in skipped))
    some = ", ".join(map(str, numbers[:MOST_NUMBERS])) + (", ..." if len(numbers) > MOST_NUMBERS else "")
    lines = "line" if len(numbers) == 1 else "lines"
    verb = "is" if len(skipped) == 1 else "are"
    return (
        f"{plural(len(skipped), 'part')} could not be read and {verb} left out ({lines} {some}); "
        f"the first: {skipped[0].why}"
    )
