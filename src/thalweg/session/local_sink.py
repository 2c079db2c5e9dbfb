"""Files of results, written in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from thalweg.errors import PlanError


def write(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, path: str | None, kind: str, options: Mapping[str, str],
    told: Callable[[int], bool],
) -> None:  # fmt: skip
    """One file, `results.parquet` or `results.csv`, in a folder that must be new or empty; `told` hears the rows of
    each batch, and says whether to go on."""
    if options:
        raise PlanError(f"options={dict(options)!r}: files written in this process have none")
    if kind == "noop":
        for batch in batches:
            if not told(batch.num_rows):
                return
        return
    if kind not in ("parquet", "csv"):
        raise PlanError(f"format={kind!r}: in this process results go to 'parquet', 'csv' or 'noop'")
    if path is None:
        raise PlanError(f"format={kind!r} needs path=..., the folder for the results")
    folder = Path(path)
    if folder.exists() and any(folder.iterdir()):
        raise PlanError(f"{path} is not empty: give a new folder, or remove what is there")
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "parquet":
        import pyarrow.parquet as pq

        writer = pq.ParquetWriter(folder / "results.parquet", schema)
    else:
        import pyarrow.csv as csv

        writer = csv.CSVWriter(folder / "results.csv", schema)
    with writer:
        for batch in batches:
            writer.write_batch(batch)
            if not told(batch.num_rows):
                return
