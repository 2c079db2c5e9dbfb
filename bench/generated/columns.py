"""Real columns: the data sets of `../shared/data`, or a Parquet file of the user's, as columns that predicates compare.

Data sets are looked for in `--data`, in the folder named by THALWEG_DATA, or in `../shared/data` beside the project.
Development and evaluation use different sets.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

FOLDER = "THALWEG_DATA"
DEVELOPMENT = {
    "kddcup99_10pct": "connections.parquet",
    "smart_building_sdh": "rooms_1min.parquet",
    "packets_ndpi": "packets.parquet",
}
EVALUATION = {
    "sp500_5yr": "prices_daily.parquet",
    "parking_germany": "free_spaces_2022-05.parquet",
    "zeek_wrccdc": "dns.parquet",
}
MOST_ROWS = 2_000_000
"""The most rows of a data set that are read."""
MOST_TEXTS = 20_000
"""The most distinct values of a text column; columns with more are compared by their hash only."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column as numbers; for text, the number of each distinct text in `texts`. Nulls are not `valid`."""

    name: str
    values: NDArray[np.int64] | NDArray[np.float64]
    valid: NDArray[np.bool_]
    texts: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class DataSet:
    """The columns of a data set that have at least two values, in the order of its rows."""

    name: str
    rows: int
    columns: tuple[Column, ...]


def data_folder(given: str | None = None) -> Path:
    """Return the folder of the data sets, which need not exist."""
    default = Path(__file__).parents[3] / "shared" / "data"
    return Path(given or os.environ.get(FOLDER) or default)


def data_files(folder: Path, evaluation: bool) -> dict[str, Path]:
    """Return the data sets that exist."""
    sets = EVALUATION if evaluation else DEVELOPMENT
    files = {name: folder / name / file for name, file in sets.items()}
    return {name: file for name, file in files.items() if file.is_file()}


@lru_cache(maxsize=2)
def read(name: str, file: Path) -> DataSet:
    """Read a Parquet file."""
    table = pq.read_table(file).slice(0, MOST_ROWS)
    found = [_column(field.name, table.column(field.name).combine_chunks()) for field in table.schema]
    return DataSet(name, table.num_rows, tuple(c for c in found if c is not None))


def _column(name: str, array: pa.Array | pa.ChunkedArray) -> Column | None:
    """Return a column; None if its type is not supported or all its values are equal."""
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    texts: tuple[str, ...] | None = None
    valid = np.asarray(pc.is_valid(array))
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        distinct = pc.unique(array.drop_null()).sort()
        texts = tuple(distinct.to_pylist()) if len(distinct) <= MOST_TEXTS else ()
        array = pc.index_in(array, value_set=distinct)
    elif pa.types.is_temporal(array.type) and not pa.types.is_duration(array.type):
        array = array.cast(pa.int32() if array.type.bit_width == 32 else pa.int64())
    elif pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    elif not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        return None
    whole = not pa.types.is_floating(array.type)
    values = array.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64 if whole else np.float64)
    if not whole:
        valid = valid & np.isfinite(values)
        values = np.where(valid, values, 0.0)
    seen = values[valid]
    if not len(seen) or (seen == seen[0]).all():
        return None
    return Column(name, values, valid, texts)
