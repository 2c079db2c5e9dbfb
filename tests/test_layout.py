"""A test lies in the folder of the code it tests: a folder of `src/thalweg`, or one of the repository in `BESIDE`."""

from __future__ import annotations

from pathlib import PurePosixPath

from tests.conftest import REPOSITORY

TESTS = REPOSITORY / "tests"
WITHOUT_COUNTERPART = {
    PurePosixPath("runtime/spark/deployments"): "the whole package on a cluster, over Connect and on PySpark 4.1",
}
"""Folders of tests that are about no folder of code, and what they test."""
BESIDE = {"bench", "docs", "examples", "scripts"}
"""Folders of the repository that are not in `src/thalweg` and have tests."""


def folders_with_code() -> set[PurePosixPath]:
    """Those with Python files, and the folders that contain them; other folders hold data of the tests beside them."""
    files = {PurePosixPath(file.relative_to(TESTS).as_posix()) for file in TESTS.rglob("*.py")}
    return {folder for file in files for folder in file.parents} - {PurePosixPath()}


def is_tested_code(folder: PurePosixPath) -> bool:
    """Whether the folder is in `src/thalweg`, or is one in `BESIDE` or a folder in it."""
    if (REPOSITORY / "src" / "thalweg" / folder).is_dir():
        return True
    return folder.parts[0] in BESIDE and (REPOSITORY / folder).is_dir()


def test_every_folder_is_that_of_the_code_it_tests() -> None:
    found = folders_with_code()
    assert {PurePosixPath("adapt"), PurePosixPath("bench/joins/spark"), *WITHOUT_COUNTERPART} <= found
    assert sorted(folder for folder in found - {*WITHOUT_COUNTERPART} if not is_tested_code(folder)) == []


def test_a_folder_of_the_repository_without_code_under_test_is_refused() -> None:
    assert not any(is_tested_code(PurePosixPath(folder)) for folder in ("tests", "src", "src/thalweg", ".ci", "none"))
