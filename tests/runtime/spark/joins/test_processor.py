"""What Spark's driver unpickles when a query is started: nothing of Thalweg is imported there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
from pyspark import cloudpickle

import thalweg as tw
from tests.runtime.joins.start_plans import start_knowing_nothing
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.partitioning import Partitioning
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.spark.joins.processor import JoinProcessor
from thalweg.runtime.spark.joins.task import JoinTask

SCHEMA = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us"))])
ASKED = """
import sys
from pathlib import Path
from unittest.mock import Mock

from pyspark import cloudpickle

operator, handle = cloudpickle.loads(Path(sys.argv[1]).read_bytes()), Mock()
operator.init(handle)
print(handle.getValueState.call_args[0][0], handle.getMapState.call_args[0][0])
print(sorted(name for name in ("thalweg", "numba", "pandas", "pyarrow") if name in sys.modules))
"""


def test_the_states_of_an_operator_are_known_without_an_import(tmp_path: Path) -> None:
    plan = JoinPlan.of("a.k = b.k", "10 seconds", "ts", "0 seconds")
    binding = JoinBinding.of(plan, {"a": SCHEMA, "b": SCHEMA})
    settings = JoinSettings(tw.policy("static"))
    task = JoinTask(
        binding, settings, (0,), Partitioning.of(plan.graph), "join", {}, start_knowing_nothing(plan, settings, 1)
    )  # fmt: skip
    file = tmp_path / "operator.pickle"
    file.write_bytes(cloudpickle.dumps(JoinProcessor(task)))  # type: ignore[no-untyped-call]
    command = [sys.executable, "-c", ASKED, str(file)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert found.splitlines() == ["head chunks", "[]"]
