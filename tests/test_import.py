"""`import thalweg` works without pyspark, and starts nothing that takes long."""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

SRC = Path(__file__).parents[1] / "src"


def python(executable: Path | str, code: str) -> str:
    """Run code in another Python that sees nothing of this one's environment (-I), and return what it prints."""
    done = subprocess.run([executable, "-I", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def core_distributions() -> list[Distribution]:
    """Return what `pip install thalweg` brings, without any extra: its requirements, and theirs."""
    found: dict[str, Distribution] = {}
    waiting = [("thalweg", "")]  # a distribution and the extra of it that is asked for
    while waiting:
        name, extra = waiting.pop()
        found[name] = distribution(name)
        for requirement in map(Requirement, found[name].requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                normal = re.sub(r"[-_.]+", "-", requirement.name).lower()
                waiting += [(normal, wanted) for wanted in ["", *requirement.extras] if normal not in found]
    del found["thalweg"]
    return list(found.values())


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a real environment that holds thalweg and its core dependencies only, by links: tests do not download."""
    home = tmp_path_factory.mktemp("bare") / "venv"
    venv.create(home, symlinks=True, with_pip=False)
    executable = home / "bin" / "python"
    site_packages = Path(python(executable, "import sysconfig; print(sysconfig.get_path('purelib'))"))
    for dist in core_distributions():
        for top in {file.parts[0] for file in dist.files or ()} - {"..", "__pycache__"}:
            (site_packages / top).symlink_to(str(dist.locate_file(top)))
    (site_packages / "thalweg").symlink_to(SRC / "thalweg")
    return executable


def test_imports_where_pyspark_is_not_installed(bare_python: Path) -> None:
    absent = "[name for name in ('pyspark', 'pandas') if importlib.util.find_spec(name) is None]"
    assert python(bare_python, f"import importlib.util; print({absent})") == "['pyspark', 'pandas']"
    assert python(bare_python, "import thalweg; print(callable(thalweg.filters))") == "True"


def test_import_starts_nothing_that_takes_long() -> None:
    loaded = "sorted({'pyspark', 'py4j', 'numba', 'sqlglot', 'pandas', 'duckdb', 'matplotlib'} & set(sys.modules))"
    assert python(sys.executable, f"import sys, thalweg; print({loaded})") == "[]"
