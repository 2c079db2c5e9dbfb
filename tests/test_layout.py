"""A test lies in the folder of the code it tests: each folder of `tests` is one of `src/thalweg` or the repository."""

from __future__ import annotations

from pathlib import PurePosixPath

from tests.conftest import REPOSITORY

TESTS = REPOSITORY / "tests"
WITHOUT_COUNTERPART = {
    PurePosixPath("runtime/spark/deployments"): "the whole package on a cluster, over Connect and on PySpark 4.1",
}
"""Folders of tests that are about no folder of code, and what they test."""


def folders_with_code() -> set[PurePosixPath]:
    """Those with Python files, and the folders that contain them; other folders hold data of the tests beside them."""
    files = {PurePosixPath(file.relative_to(TESTS).as_posix()) for file in TESTS.rglob("*.py")}
    return {folder for file in files for folder in file.parents} - {PurePosixPath()}


def is_tested_code(folder: PurePosixPath) -> bool:
    """Whether the folder is in `src/thalweg`, or in the repository beside `src`."""
    places = (REPOSITORY / "src" / "thalweg" / folder, REPOSITORY / folder)
    return any(place.is_dir() for place in places)


def test_every_folder_is_that_of_the_code_it_tests() -> None:
    found = folders_with_code()
    assert {PurePosixPath("adapt"), PurePosixPath("bench/joins/spark"), *WITHOUT_COUNTERPART} <= found
    assert sorted(folder for folder in found - {*WITHOUT_COUNTERPART} if not is_tested_code(folder)) == []
