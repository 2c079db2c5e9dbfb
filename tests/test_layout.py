"""A test lies in the folder of the code it tests: a folder of `src/thalweg`, or one of the repository in `BESIDE`. And
only the runtime on Spark reads the inner parts of Spark's objects."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

from tests.conftest import REPOSITORY

TESTS, SOURCE = REPOSITORY / "tests", REPOSITORY / "src" / "thalweg"
WITHOUT_COUNTERPART = {
    PurePosixPath("runtime/spark/deployments"): "the whole package on a cluster, over Connect and on PySpark 4.1",
}
"""Folders of tests that are about no folder of code, and what they test."""
BESIDE = {"bench", "docs", "examples", "scripts"}
"""Folders of the repository that are not in `src/thalweg` and have tests."""
INNER_PARTS = {"_jc", "_jvm", "_jconf", "_jdf", "_jsparkSession", "_expr"}
"""Attributes of PySpark's objects, for the objects of the JVM and for the trees of Columns."""


def folders_with_code() -> set[PurePosixPath]:
    """Those with Python files, and the folders that contain them; other folders hold data of the tests beside them."""
    files = {PurePosixPath(file.relative_to(TESTS).as_posix()) for file in TESTS.rglob("*.py")}
    return {folder for file in files for folder in file.parents} - {PurePosixPath()}


def is_tested_code(folder: PurePosixPath) -> bool:
    """Whether the folder is in `src/thalweg`, or is one in `BESIDE` or a folder in it."""
    if (SOURCE / folder).is_dir():
        return True
    return folder.parts[0] in BESIDE and (REPOSITORY / folder).is_dir()


def test_every_folder_is_that_of_the_code_it_tests() -> None:
    found = folders_with_code()
    assert {PurePosixPath("adapt"), PurePosixPath("bench/joins/spark"), *WITHOUT_COUNTERPART} <= found
    assert sorted(folder for folder in found - {*WITHOUT_COUNTERPART} if not is_tested_code(folder)) == []


def test_a_folder_of_the_repository_without_code_under_test_is_refused() -> None:
    assert not any(is_tested_code(PurePosixPath(folder)) for folder in ("tests", "src", "src/thalweg", ".ci", "none"))


def inner_parts_in(code: str) -> Iterator[str]:
    """Yield the inner parts of Spark's objects that code reads, as an attribute or by its name in a text."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and node.attr in INNER_PARTS:
            yield node.attr
        elif isinstance(node, ast.Constant) and node.value in INNER_PARTS:
            yield node.value


def test_only_the_runtime_on_spark_reads_the_inner_parts_of_its_objects() -> None:
    found = {
        file.relative_to(SOURCE): set(inner_parts_in(file.read_text(encoding="utf-8"))) for file in SOURCE.rglob("*.py")
    }
    inside = {file for file in found if file.is_relative_to("runtime/spark")}
    assert {part for file in inside for part in found[file]} == INNER_PARTS
    assert {str(file): parts for file, parts in found.items() if parts and file not in inside} == {}


def test_an_inner_part_is_an_attribute_or_a_name_in_a_text() -> None:
    code = "in_jvm = df._jdf.explain() or vars(column)['_jc'] or hasattr(spark, '_jvm') or '_expr is one'"
    assert sorted(inner_parts_in(code)) == ["_jc", "_jdf", "_jvm"]
