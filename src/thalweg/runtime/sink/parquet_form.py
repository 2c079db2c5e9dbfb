"""How results are written to Parquet files: the folder, the columns, the codec, and how rows are divided into files."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

CODECS = {
    "none": (None, ""), "uncompressed": (None, ""), "snappy": ("snappy", ".snappy"), "gzip": ("gzip", ".gz"),
    "zstd": ("zstd", ".zstd"), "lz4_raw": ("lz4", ".lz4raw"),
}  # fmt: skip
"""The codec in pyarrow and the part of a file's name, by Spark's name of the codec. `lz4` is not here: Spark writes it
in a format of Hadoop. Nor is `brotli`, which Spark reads only with a library that it does not have."""


@dataclass(frozen=True)
class ParquetForm:
    """How results are written. It is sent to tasks."""

    folder: str
    """An absolute path on a disk that the driver and all workers have."""
    schema: pa.Schema
    """The columns of the results, with the types and nullability that Spark would write."""
    metadata: tuple[tuple[str, str], ...] = ()
    """Keys and values for the footer of each file, from which Spark reads its own types."""
    compression: str = "snappy"
    """A key of `CODECS`."""
    partition_by: tuple[str, ...] = ()
    """The columns that are in the names of folders instead of in the files."""
    int96: bool = False
    """Whether all timestamps are stored as INT96, as Spark does by default."""
    max_rows: int = 0
    """The maximum number of rows per file; 0 for no limit."""

    @property
    def stored(self) -> pa.Schema:
        """The columns in the files."""
        return pa.schema([field for field in self.schema if field.name not in self.partition_by])


def fitting(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows with the types and nullability of the files."""
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(rows.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
