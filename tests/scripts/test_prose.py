"""`scripts/prose.py` finds what breaks a language rule, wherever a reader sees it, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import prose
from scripts.prose import EXCEPTIONS, RULES, Found, in_documents, in_prose, in_texts, matches, short_docstrings

FOUND = {
    "workers are told": "told",
    "the report tells that": "tells",
    "a dearer predicate": "dearer",
    "it runs for ever": "for ever",
    "it runs forever": "forever",
    "it costs 3 ns a row": "3 ns a row",
    "one file a policy": "one file a policy",
    "4 times a second": "4 times a second",
    "how many bytes a row": "bytes a row",
    "reads 2.5 files a slice": "2.5 files a slice",
    "(n + 1) / 2 a tuple": "2 a tuple",
    "once a batch": "once a batch",
    "once a\n    batch": "once a batch",
    "some ten thousand rows": "some ten thousand",
    "nobody reads it": "nobody",
    "it stands in front": "stands in",
    "a predicate stands after it": "stands after",
    "what stood there": "stood there",
    "it comes behind predicates": "behind",
    "a window of a day or more": "of a day or more",
    "it leaves word": "leaves word",
    "the plan can be had": "can be had",
}
"""Sentences that break a rule, and what is found in them."""
CLEAN = (
    "costs 3 ns per row, four times per second",
    "Once a predicate has run, it is known which rows a query returns",
    "two rows of a stream; the one in a row; a second time",
    "how many rows a slice has",
    "an understanding of the standing order",
    "it runs indefinitely, for every stream, one day or longer",
    "look-behind and what looks behind are not supported",
    "watermark: a is furthest behind, 5 behind b",
    "it falls behind if n grows",
    'write "after", not "behind"',
    "the endearing storyteller",
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository without files."""
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    return tmp_path


def texts(found: list[Found]) -> list[tuple[int, str]]:
    return [(each.line, each.text) for each in found]


@pytest.mark.parametrize("sentence", FOUND)
def test_a_sentence_that_breaks_a_rule_is_found(sentence: str) -> None:
    assert FOUND[sentence] in [found.text for found in matches(prose.ROOT / "a.md", 1, sentence)]


def test_every_rule_has_a_sentence_and_every_exception_a_clean_one() -> None:
    used = {found.instead for sentence in FOUND for found in matches(prose.ROOT / "a.md", 1, sentence)}
    assert used == set(RULES.values())
    clean = {phrase for phrase in EXCEPTIONS for sentence in CLEAN if re.search(phrase, sentence)}
    assert clean == set(EXCEPTIONS)


@pytest.mark.parametrize("sentence", CLEAN)
def test_a_clean_sentence_is_not_found(sentence: str) -> None:
    assert list(matches(prose.ROOT / "a.md", 1, sentence)) == []


def test_an_exception_covers_only_its_own_phrase() -> None:
    (found,) = matches(prose.ROOT / "a.md", 7, "look-behind\ncomes behind it")
    assert (found.file, found.line, found.text) == ("a.md", 8, "behind")


def test_all_texts_of_code_are_read(root: Path) -> None:
    file = root / "a.py"
    file.write_text(
        '"""A docstring that tells."""\n'
        'TABLE = {"<=": ("comes behind", "x")}\n'
        "print(f'{n} files a policy, {m:.2f} times a second')\n"
        "raise ValueError('it runs ' 'forever')\n"
    )
    assert sorted(texts(list(in_texts(file)))) == [
        (2, "behind"),
        (3, "0 files a policy"),
        (3, "0 times a second"),
        (4, "forever"),
    ]


def test_docstrings_and_comments_are_read_without_code(root: Path) -> None:
    file = root / "a.py"
    file.write_text('"""A docstring with `told`.\n\nThat tells.\n\n>>> told\n"""\nx = "told"  # it is `told` or dear\n')
    assert texts(list(in_prose(file))) == [(3, "tells"), (7, "dear")]


def test_a_comment_is_read_across_its_lines(root: Path) -> None:
    file = root / "a.py"
    file.write_text("x = 1  # four times\n# a second\n\n# it runs for\n\n# every one\n# told\n")
    assert texts(list(in_prose(file))) == [(1, "four times a second"), (7, "told")]


def test_short_docstrings_are_found_also_of_coroutines(root: Path) -> None:
    file = root / "a.py"
    file.write_text('"""One two three four."""\nasync def f():\n    """One two three."""\nclass A:\n    """Few."""\n')
    assert sorted(texts(list(short_docstrings(file)))) == [(2, "One two three."), (4, "Few.")]


def test_documents_are_read_without_blocks_of_code(root: Path) -> None:
    (root / "docs" / "deep").mkdir(parents=True)
    (root / "CHANGELOG.md").write_text("```\ntold\n```\n\nit is `told` forever\n")
    (root / "docs" / "deep" / "a.md").write_text("nobody\n")
    assert [(f.file, f.line, f.text) for f in in_documents()] == [
        ("CHANGELOG.md", 5, "forever"),
        ("docs/deep/a.md", 1, "nobody"),
    ]
