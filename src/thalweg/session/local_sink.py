"""Files of results, written in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from thalweg.errors import PlanError
from thalweg.session.handle import Stopped


def claim(path: str | None, kind: str, options: Mapping[str, str]) -> None:
    """Refuse what cannot be written, before anything is read; else the folder is taken, by the file that is begun."""
    if options:
        raise PlanError(f"options={dict(options)!r}: files written in this process have none; leave them out")
    if kind not in ("parquet", "csv", "noop"):
        raise PlanError(f"format={kind!r}: in this process results go to 'parquet', 'csv' or 'noop'")
    if kind == "noop":
        return
    if path is None:
        raise PlanError(f"format={kind!r} needs path=..., the folder for the results")
    folder = Path(path)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlanError(f"{path} is there and is no empty folder: give a new one, or remove what is there")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _unfinished(folder, kind).touch(exist_ok=False)
    except FileExistsError:
        raise PlanError(f"{path} is being written by another query: give this one a folder of its own") from None


def _unfinished(folder: Path, kind: str) -> Path:
    return folder / f".results.{kind}.unfinished"


def write(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, path: str | None, kind: str, told: Callable[[int], None]
) -> None:
    """One file, `results.parquet` or `results.csv`, in a folder; `told` hears the rows of each batch. The file has its
    name when it is complete: of a run that failed nothing is left, of one that was stopped what was found until
    then."""
    if kind == "noop":
        for batch in batches:
            told(batch.num_rows)
        return
    folder = Path(path or ".")
    unfinished = _unfinished(folder, kind)
    if kind == "parquet":
        import pyarrow.parquet as pq

        writer = pq.ParquetWriter(unfinished, schema)
    else:
        import pyarrow.csv as csv

        writer = csv.CSVWriter(unfinished, schema)
    try:
        with writer, suppress(Stopped):
            for batch in batches:
                writer.write_batch(batch)
                told(batch.num_rows)
        unfinished.rename(folder / f"results.{kind}")
    finally:
        unfinished.unlink(missing_ok=True)
