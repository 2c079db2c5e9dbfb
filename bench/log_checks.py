"""`logs`: eight predicates that find slow, large, legitimate purchases in log lines, written in a bad order.

Three are Python functions of one row (a regular expression, an address, JSON), five use Arrow's own functions. DuckDB's
SQL can express those five too: they are the scenario `logs-sql`, and each has its SQL beside it.
"""

from __future__ import annotations

import ipaddress
import json
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.check import Check, measured_units
from bench.scenario import Phase, Scenario, truth_table
from thalweg.cli.demo.log_lines import make_lines

SEED = 7
PROBE = re.compile(
    r"admin\.php|/etc/passwd|\.env\b|wp-login|union[+\s]+select|<script|%3Cscript|%20or%20|\.tar\.gz", re.IGNORECASE
)
INSIDE = ipaddress.ip_network("10.0.0.0/8")
ROBOT = "crawler|spider|scrape|curl/|headless|monitor|bot/|scanner"
SLOW = r"[0-9]{3,}\.[0-9] ?ms"
SERVED = r'HTTP/[0-9.]+" [23][0-9]{2} '
LARGE_BYTES = 2_000


def not_a_probe(line: str) -> bool:
    """Whether the line is not an attempt to find vulnerabilities."""
    return PROBE.search(line) is None


def from_outside(ip: str) -> bool:
    """Whether the address is not in the internal network."""
    return ipaddress.ip_address(ip) not in INSIDE


def worth_it(payload: str | None) -> bool:
    """Whether the purchase is worth 20 or more."""
    return payload is not None and float(json.loads(payload)["amount"]) >= 20.0


def not_a_robot(line: pa.Array) -> pa.Array:
    """Whether the user agent does not name a robot."""
    return pc.invert(pc.match_substring_regex(line, ROBOT, ignore_case=True))


def matches(line: pa.Array, *, pattern: str) -> pa.Array:
    """Whether Arrow's regular expression matches."""
    return pc.match_substring_regex(line, pattern)


def is_web(line: pa.Array) -> pa.Array:
    """Whether a web server wrote the line."""
    return pc.match_substring(line, " web: ")


def is_large(size: pa.Array) -> pa.Array:
    """Whether the response has more bytes than a redirect or an icon."""
    return pc.greater_equal(size, LARGE_BYTES)


CHECKS = (
    Check("not_a_probe", ("line",), not_a_probe, 0.0, vectorized=False),
    Check("from_outside", ("ip",), from_outside, 0.0, vectorized=False),
    Check("worth_it", ("payload",), worth_it, 0.0, vectorized=False),
    Check("not_a_robot", ("line",), not_a_robot, 0.0, sql=f"NOT regexp_matches(line, '{ROBOT}', 'i')"),
    Check("slow", ("line",), partial(matches, pattern=SLOW), 0.0, sql=f"regexp_matches(line, '{SLOW}')"),
    Check("served", ("line",), partial(matches, pattern=SERVED), 0.0, sql=f"regexp_matches(line, '{SERVED}')"),
    Check("large", ("size",), is_large, 0.0, sql=f"size >= {LARGE_BYTES}"),
    Check("web", ("line",), is_web, 0.0, sql="contains(line, ' web: ')"),
)


def logs(rows: int, steps: float) -> Scenario:
    """Return the scenario with all eight predicates."""
    return _scenario("logs", rows, CHECKS)


def logs_sql(rows: int, steps: float) -> Scenario:
    """Return the scenario with the five predicates that DuckDB can express."""
    return _scenario("logs-sql", rows, tuple(check for check in CHECKS if check.sql is not None))


def _scenario(name: str, rows: int, checks: tuple[Check, ...]) -> Scenario:
    lines = make_lines(rows, SEED)
    read = [c for c in lines.column_names if any(c in check.columns for check in checks)]
    table = lines.select(read).add_column(0, "id", pa.array(np.arange(rows)))
    timed = tuple(replace(check, units=measured_units(check, table)) for check in checks)
    return Scenario(name, table, timed, truth_table(table, timed), (Phase(0, rows),))
