"""`kdd`: eight predicates over the connections of KDD Cup 1999, the ten per cent subset, in their original order.

The data is real. It drifts strongly (long stretches have no TCP connection), and its attributes depend on each other.
The file is not part of this repository (494,021 rows, no formal license). THALWEG_DATA, or `--data`, names the folder
that contains it, as `kddcup99_10pct/connections.parquet` with the columns of the original. Without it the scenario is
left out.

Four predicates are Python functions of one row, four use Arrow's own functions. The written order follows no rule.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.check import Check, measured_units
from bench.scenario import Phase, Scenario, truth_table

FOLDER = "THALWEG_DATA"
FILE = Path("kddcup99_10pct") / "connections.parquet"
ORDINARY = re.compile(r"^(http|smtp|ftp_data|domain_u|private|ecr_i|other|telnet|finger|eco_i)$")
ASKING = re.compile("telnet|ftp|login|shell|ssh|imap4|pop_3|smtp|http|ftp_data|private|other")


def steady(same: float, different: float, across: float) -> bool:
    """Whether the connections of the last seconds go to few services: their entropy is low."""
    parts = [p for p in (same, different, across) if p > 0.0]
    total = sum(parts)
    return total > 0.0 and -sum(p / total * math.log2(p / total) for p in parts) < 1.2


def known_service(service: str) -> bool:
    """Whether the service is a common one."""
    return ORDINARY.match(service) is not None


def no_flood(count: int, srv_count: int, serror: float) -> bool:
    """Whether the connection is not one of hundreds at once."""
    return math.log1p(count) * (1.0 + serror) < 5.0 or srv_count < 3


def may_log_in(service: str, logged_in: int) -> bool:
    """Whether the service asks for a login and the user has logged in."""
    return ASKING.fullmatch(service) is not None and bool(logged_in)


def complete(flag: pa.Array) -> pa.Array:
    """Whether the connection was opened and closed normally."""
    return pc.match_substring_regex(flag, "^(SF|S1|RSTO)$")


def is_tcp(protocol: pa.Array) -> pa.Array:
    """Whether the protocol is TCP."""
    return pc.equal(protocol, "tcp")


def answered(size: pa.Array) -> pa.Array:
    """Whether more than 100 bytes came back."""
    return pc.greater(size, 100)


def quiet_host(count: pa.Array, rate: pa.Array) -> pa.Array:
    """Whether the host gets few connections, or mostly for the same service."""
    return pc.or_(pc.less(count, 250), pc.greater(rate, 0.6))


CHECKS = (
    Check("steady", ("same_srv_rate", "diff_srv_rate", "srv_diff_host_rate"), steady, 0.0, vectorized=False),
    Check("no_flood", ("count", "srv_count", "serror_rate"), no_flood, 0.0, vectorized=False),
    Check("known_service", ("service",), known_service, 0.0, vectorized=False),
    Check("complete", ("flag",), complete, 0.0),
    Check("may_log_in", ("service", "logged_in"), may_log_in, 0.0, vectorized=False),
    Check("quiet_host", ("dst_host_count", "dst_host_same_srv_rate"), quiet_host, 0.0),
    Check("answered", ("dst_bytes",), answered, 0.0),
    Check("is_tcp", ("protocol_type",), is_tcp, 0.0),
)


def kdd_file() -> Path | None:
    """Return the path of the data; None if no folder is given or the file does not exist."""
    folder = os.environ.get(FOLDER)
    return Path(folder) / FILE if folder and (Path(folder) / FILE).is_file() else None


def kdd(rows: int, steps: float) -> Scenario:
    """Return the scenario with the first `rows` rows, or all if there are fewer."""
    file = kdd_file()
    assert file is not None, "called only if the data exists"
    read = sorted({column for check in CHECKS for column in check.columns})
    table = pq.read_table(file, columns=read).slice(0, rows)
    table = table.add_column(0, "id", pa.array(np.arange(table.num_rows)))
    timed = tuple(replace(check, units=measured_units(check, table)) for check in CHECKS)
    return Scenario("kdd", table, timed, truth_table(table, timed), (Phase(0, table.num_rows),))
