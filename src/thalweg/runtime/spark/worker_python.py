"""Which Python local workers run. Spark takes the `python3` it finds on PATH, which may not have the driver's packages,
and fails with a page of Java around a ModuleNotFoundError."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

from pyspark.sql import DataFrame

ANSWERS_WITHIN_S = 5.0


def warn_of_another_python(df: DataFrame) -> None:
    """Once a process and Python. Elsewhere than in local mode the workers' environment is somebody else's business."""
    if not hasattr(df, "_jdf") or not (df.sparkSession.conf.get("spark.master", None) or "").startswith("local"):
        return
    told = another_python(df.sparkSession.sparkContext.pythonExec, sys.executable)
    if told is not None and told not in _TOLD:
        _TOLD.add(told)
        warnings.warn(told, stacklevel=5)


_TOLD: set[str] = set()


def another_python(workers: str, ours: str) -> str | None:
    """A sentence when the workers' command is not the driver's Python; None: it is."""
    found = shutil.which(workers)
    if found is not None and ours and _environment(ours) in (_environment(found), _environment(_asked(found))):
        return None
    where = f"{workers!r}, which is {found}" if found is not None and found != workers else repr(workers)
    return (
        f"Spark's workers run {where}{'' if found else ' and cannot be found'}, not the driver's {ours}: they may lack "
        f"its packages. Activate the driver's environment, or set PYSPARK_PYTHON={ours} before the session is made"
    )


def _asked(python: str) -> str:
    """What it says it is: a version manager puts a script in the place of a Python."""
    try:
        asked = [python, "-c", "import sys; print(sys.executable)"]
        said = subprocess.run(asked, capture_output=True, text=True, timeout=ANSWERS_WITHIN_S, check=False).stdout
    except (OSError, subprocess.SubprocessError, ValueError):
        return python
    return said.strip() or python


def _environment(python: str) -> tuple[str, str | None]:
    """The interpreter behind the links, and the virtual environment the link stands in."""
    home = Path(os.path.abspath(python)).parent.parent
    return os.path.realpath(python), os.path.realpath(home) if (home / "pyvenv.cfg").exists() else None
