"""The wheel and the sdist are built, installed into fresh environments, and used from there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import thalweg

ROOT = Path(__file__).parents[1]
WITHOUT_SPARK = """
import pyarrow as pa, thalweg as tw
keep = tw.filters(tw.predicate(str.isdigit, "code"), tw.predicate(lambda c: len(c) > 2, "code", name="long"))
print(tw.__version__, [batch.to_pylist() for batch in keep.over(pa.table({"code": ["7", "1234", "abc"]}))])
"""


def run(*command: object, cwd: Path, **environment: str) -> str:
    """What a command prints; it must succeed, and sees no Thalweg but what its Python has installed."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=env, capture_output=True, text=True, timeout=150
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both packages."""
    folder = tmp_path_factory.mktemp("packages")
    run(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=ROOT)
    return folder


def installed(package: Path, folder: Path) -> Path:
    """The Python of a fresh environment with this package, which finds its dependencies where we have them."""
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    (site,) = (folder / "lib").glob("python*/site-packages")
    # a folder named in a .pth file is searched, but the .pth files in it, by which this checkout is found, are not read
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "bin" / "python"
    offline = ["--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check", "-q"]
    run(sys.executable, "-m", "pip", "--python", python, "install", *offline, package, cwd=folder.parent)
    found = run(python, "-c", "import thalweg; print(thalweg.__file__)", cwd=folder.parent)
    assert Path(found.strip()).is_relative_to(site)
    return python


def test_the_sdist_builds_and_runs(packages: Path, tmp_path: Path) -> None:
    (sdist,) = packages.glob("*.tar.gz")
    python = installed(sdist, tmp_path / "environment")
    assert run(python, "-c", WITHOUT_SPARK, cwd=tmp_path) == f"{thalweg.__version__} [[{{'code': '1234'}}]]\n"


def test_the_wheel_holds_the_package_alone(packages: Path) -> None:
    (wheel,) = packages.glob("*.whl")
    assert wheel.name.startswith(f"thalweg-{thalweg.__version__}-")
    with zipfile.ZipFile(wheel) as file:
        folders = {name.partition("/")[0] for name in file.namelist()}
    assert folders == {"thalweg", f"thalweg-{thalweg.__version__}.dist-info"}


@pytest.mark.slow
@pytest.mark.spark
def test_readme_s_example_runs_from_the_wheel(packages: Path, tmp_path: Path) -> None:
    (wheel,) = packages.glob("*.whl")
    python = installed(wheel, tmp_path / "environment")
    text = (ROOT / "README.md").read_text("utf-8")
    code = re.findall(r"```python\n(.*?)```", text, flags=re.S)[0]
    printed = re.findall(r"\nprints\n\n```\n(.*?)```", text, flags=re.S)[0]
    (tmp_path / "example.py").write_text(code, "utf-8")
    assert run(python, "example.py", cwd=tmp_path, PYSPARK_PYTHON=str(python), SPARK_LOCAL_IP="127.0.0.1") == printed
