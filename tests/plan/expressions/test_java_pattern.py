"""Patterns that Java certainly compiles. `test_native_judgment` checks them with Java itself."""

from __future__ import annotations

import pytest

from thalweg.plan.expressions.java_pattern import surely_compiles


@pytest.mark.parametrize(
    "pattern",
    [
        "", "a", " 500$", "^GET /item/[0-9]*[1-6]+[0-9]* ", "(4|5)00", "a+(b|c)", r"\d{3}-\d{4}", r"^\w+@[\w.-]+\.com$",
        "(?i)error", "(?:ab)+", r"(\d{1,3}\.){3}\d{1,3}", ".*?x", "a*+", r"\bfoo\b", r"\$\{env\}", "[^a-f'\"]", "日本+",
        r"\p{L}+", "a(?=b)", "(a|b)?", "line\nbreak", "[-+]?[0-9]", r"[\s,;]+", "x{2,}",
    ],
)  # fmt: skip
def test_ordinary_patterns_surely_compile(pattern: str) -> None:
    assert surely_compiles(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "(", ")", "[", "[a", "[]", "[^]", "a{", "{", "a{2", "a{3,1}", "*", "+a", "a**", "a|*", "(*)", "^*", "\\", "a\\",
        r"\1", r"(a)\1", r"\y", r"\x", r"\u12", r"\p{Greek}", r"\Q(", r"\C", "(?P<n>a)", "(?<n>a)", "(?<=a+)b", "(?x)a",
        "(?U)a", "[[:alpha:]]", "[a&&b]", "[z-a]", "[a[b]]", "[+--]", "(a|b)*", "(a+)+", r"([a-z]+\.)*", "(a|b){1,900}",
        "((a|b){20}){20}", "a" * 2_001, "(" * 30 + ")" * 30, "(?=a)*", "a{9999}",
    ],
)  # fmt: skip
def test_invalid_and_uncertain_patterns_do_not_surely_compile(pattern: str) -> None:
    assert not surely_compiles(pattern)
