"""Warns if local workers run another Python than the driver.

Spark uses the `python3` it finds on PATH. If this one lacks the driver's packages, queries fail with a
ModuleNotFoundError inside a long Java stack trace.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from pyspark.sql import DataFrame

from thalweg.errors import warn_user

ANSWERS_WITHIN_S = 5.0


def warn_of_another_python(df: DataFrame) -> None:
    """Warn once per process and Python. Outside of local mode, the environment of the workers is not checked."""
    if not hasattr(df, "_jdf") or not (df.sparkSession.conf.get("spark.master", None) or "").startswith("local"):
        return
    warning = another_python(df.sparkSession.sparkContext.pythonExec, sys.executable)
    if warning is not None and warning not in _WARNED:
        _WARNED.add(warning)
        warn_user(warning)


_WARNED: set[str] = set()


def another_python(workers: str, ours: str) -> str | None:
    """Return a warning if the command of the workers is not the driver's Python; None if it is."""
    found = shutil.which(workers)
    if found is not None and ours and _environment(ours) in (_environment(found), _environment(_own_path(found))):
        return None
    where = f"{workers!r}, which is {found}" if found is not None and found != workers else repr(workers)
    return (
        f"Spark's workers run {where}{'' if found else ' and cannot be found'}, not the driver's {ours}: they may lack "
        f"its packages. Activate the driver's environment, or set PYSPARK_PYTHON={ours} before creating the session"
    )


def _own_path(python: str) -> str:
    """Return the path that a Python reports for itself, because version managers replace a Python by a script."""
    try:
        command = [python, "-c", "import sys; print(sys.executable)"]
        output = subprocess.run(command, capture_output=True, text=True, timeout=ANSWERS_WITHIN_S, check=False).stdout
    except (OSError, subprocess.SubprocessError, ValueError):
        return python
    return output.strip() or python


def _environment(python: str) -> tuple[str, str | None]:
    """Return the interpreter that the links lead to, and the virtual environment of the link."""
    home = Path(os.path.abspath(python)).parent.parent
    return os.path.realpath(python), os.path.realpath(home) if (home / "pyvenv.cfg").exists() else None
