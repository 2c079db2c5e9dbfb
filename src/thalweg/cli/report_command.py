"""`thalweg report EVENTS.jsonl`: what filter chains and joins did and why, from the events they recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg.cli.failure import told_in_one_sentence
from thalweg.errors import ThalwegError
from thalweg.events import JoinObserved, Record, read
from thalweg.report import JoinReport, JoinTally, Report, fold
from thalweg.report.words import many


def report(
    events: Annotated[
        Path, typer.Argument(help="A file of event records: tw.filters(events=...), tw.join(events=...).")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Print the report of recorded events."""
    with told_in_one_sentence():
        records = list(_records(events))
        joined = {record.run for record in records if isinstance(record, JoinObserved)}
        folded = fold(record for record in records if record.run not in joined)
        joins = JoinTally()
        for record in records:
            if record.run in joined:
                joins.add(record)
        if not folded.sections and not joined:
            raise ThalwegError(f"{events} holds no observations yet: has the query finished a batch?")
        told = [part for part, some in ((folded, folded.sections), (joins.report(), joined)) if some]
        if as_json:
            typer.echo(json.dumps({key: value for part in told for key, value in _named(part).items()}, indent=2))
        else:
            typer.echo("\n\n".join(map(str, told)))


def _named(part: Report | JoinReport) -> dict[str, Any]:
    return part.to_dict() if isinstance(part, Report) else {"joins": part.to_dict()["sections"]}


def _records(path: Path) -> Iterator[Record]:
    if not path.is_file():
        raise ThalwegError(f"there is no file {path}: name the one that was given as events=")
    good = 0
    try:
        for record in read(path):
            yield record
            good += 1
    except OSError as error:
        raise ThalwegError(f"cannot read {path}: {error.strerror}") from error
    except (ThalwegError, ValueError, TypeError, AttributeError) as error:
        raise ThalwegError(
            f"{path} is no file of event records: after {many(good, 'good one')} comes something else ({error})"
        ) from error
