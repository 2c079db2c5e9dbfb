"""The package is no larger than it was: `scripts/house.py` has the figures and their limits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench import walk
from scripts import house
from scripts.house import Figure, code_and_docstrings, parameters

SOURCE = '''"""A module,
described."""

import json  # used below
from os import (
    path,
)

LIMIT = 1
"""A text below a value."""


class A:
    "A class."

    # a comment
    text = """
# no comment
"""

    def method(self, x: int) -> str:
        """Return it."""

        return path.join(json.dumps(x), self.text)  # a line of code
'''


@pytest.mark.parametrize(("figure", "count"), house.FIGURES.items(), ids=lambda each: getattr(each, "name", ""))
def test_a_figure_is_within_its_limit(figure: Figure, count: Callable[[], float]) -> None:
    value = count()
    assert figure.kept(value), value


def test_code_is_what_is_no_docstring_comment_import_or_blank(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(SOURCE)
    assert code_and_docstrings(tmp_path / "module.py") == (7, 4)


def test_public_functions_are_also_methods_and_those_of_modules() -> None:
    counted = {function.__qualname__: parameters(function) for function in house.public_functions()}
    assert {"filters", "join", "Session.query", "Filters.over", "steady_rate"} <= set(counted)
    assert counted["Join.report"] == 0  # `self` is not counted


def test_records_and_sections_are_found_in_all_modules() -> None:
    assert {"JoinObserved", "Section", "JoinSection"} <= {kind.__name__ for kind in house.record_types()}


def test_a_figure_beyond_its_limit_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(walk, "walks", lambda names: [("join", ("one", "two"))])
    monkeypatch.setattr(house, "FIGURES", {Figure("lines", 3, 2): lambda: 3, Figure("%", 18, 18, True): lambda: 18.5})
    assert house.main([]) == 0
    _head, lines, _percent, walked = capsys.readouterr().out.splitlines()
    assert lines.split() == ["lines", "3", "3", "2"]
    assert walked.split()[-3:] == ["2", str(walk.LIMITS["join"]), str(walk.TARGETS["join"])]
    monkeypatch.setattr(house, "FIGURES", {Figure("%", 18, 18, True): lambda: 17.9})
    assert house.main(["--no-walks"]) == 1
    assert "17.9" in capsys.readouterr().out
