"""A new counter needs a field of a part and the place that counts: the rest of the way follows from the field."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "with_new_counters.py"


def test_a_new_counter_goes_all_the_way(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
        cwd=PROGRAM.parents[2],
        env={**os.environ, "PYTHONPATH": str(PROGRAM.parents[2])},
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["filters"] == {"counted": 3_000, "read": 3_000, "longest": 600, "longest read": 600}
    assert told["join"] == {"counted": 600, "read": 600, "others": [300, 0], "others read": [300, 0]}
    assert told["as text"] == {"a": True, "b": True, "c": True}
    assert told["wrong"] == [
        "stream.odd is -1", "chain.slices is 1.5", "matches.halves has 1 values for 2 names",
    ]  # fmt: skip
    # two buckets in three micro-batches, of which the last was run again after a restart
    assert told["replayed"] == {"sections": 2, "odd": [2 * (1 + 2), 2 * 9], "longest": [2, 9], "again": True}
