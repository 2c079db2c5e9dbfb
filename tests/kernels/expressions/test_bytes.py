"""Loops over bytes and digits, compared with Python's str, Decimal and float, on many rows in every encoding."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from thalweg.errors import ExpressionError
from thalweg.kernels.expressions import evaluate
from thalweg.plan.expressions.expression import Bound, Ref, Value, call
from thalweg.plan.expressions.functions import typed

ROWS = 3000
TEXT = pa.string()
S, U, P = (Ref("r", name, TEXT) for name in "sup")
PLACE, LENGTH = (Ref("r", name, pa.int32()) for name in "ij")
X = Ref("r", "x", pa.float64())
EXACT = Context(prec=800)
ENCODINGS: dict[str, Callable[[pa.Array], pa.Array]] = {
    "plain": lambda texts: texts,
    "large": lambda texts: texts.cast(pa.large_string()),
    "view": lambda texts: texts.cast(pa.string_view()),
    "dictionary": lambda texts: texts.dictionary_encode(),
}


def _texts(seed: int, most: int, alphabet: str = "aab ß日𝒳Σİé𐐀𐐨") -> list[str | None]:
    chance = random.Random(seed)
    letters = [chance.choices(alphabet, k=chance.randint(0, most)) for _ in range(ROWS)]
    return [None if chance.random() < 0.05 else "".join(some) for some in letters]


def _places(seed: int) -> list[int | None]:
    chance = random.Random(seed)
    return [chance.choice([None, 0, 1, -1, 2, -2, 3, -3, 5, -9, 2**31 - 1, -(2**31)]) for _ in range(ROWS)]


DATA: dict[str, list[Any]] = {"s": _texts(1, 9), "u": _texts(2, 2), "p": _texts(3, 3), "i": _places(4), "j": _places(5)}


def _cut(text: str, start: int, length: int = 2**31 - 1) -> str:
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    return text[max(begin, 0) : max(begin + length, 0)]


ASKED: dict[str, tuple[tuple[Ref, ...], Callable[..., Any]]] = {
    "startswith": ((S, U), str.startswith),
    "endswith": ((S, U), str.endswith),
    "contains": ((S, U), str.__contains__),
    "instr": ((S, U), lambda s, u: s.find(u) + 1),
    "replace": ((S, U, P), lambda s, u, p: s.replace(u, p) if u else s),
    "substring": ((S, PLACE), _cut),
    "substring of a length": ((S, PLACE, LENGTH), _cut),
    "upper": ((S,), str.upper),
    "lower": ((S,), str.lower),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("asked", ASKED)
def test_texts_are_pythons(asked: str, encoding: str) -> None:
    """Also for a slice that begins and ends within the array, so that its bytes do not begin at 0."""
    refs, python = ASKED[asked]
    columns: dict[Ref | Bound, pa.Array] = {ref: pa.array(DATA[ref.column], ref.type) for ref in refs}
    columns = {ref: ENCODINGS[encoding](array) if ref.type == TEXT else array for ref, array in columns.items()}
    expected = [None if None in row else python(*row) for row in zip(*(DATA[ref.column] for ref in refs), strict=True)]
    expression = typed(asked.split()[0], refs, print)
    for low, count in ((0, ROWS), (7, 1001), (ROWS - 1, 1)):
        made = evaluate(expression, lambda ref: columns[ref].slice(low, count), count, {})  # noqa: B023
        made.validate(full=True)
        assert made.to_pylist() == expected[low : low + count]


def test_one_text_or_one_needle_for_all() -> None:
    def column(ref: Ref | Bound) -> pa.Array:
        assert isinstance(ref, Ref)
        return pa.array(DATA[ref.column])

    for text, needle in ((Value("aß日aß", TEXT), U), (S, Value("ß", TEXT)), (S, Value("", TEXT))):
        made = evaluate(typed("instr", (text, needle), print), column, ROWS, {})
        pairs = zip(*(DATA[x.column] if isinstance(x, Ref) else [x.value] * ROWS for x in (text, needle)), strict=True)
        assert made.to_pylist() == [None if None in pair else pair[0].find(pair[1]) + 1 for pair in pairs]


def test_bytes_under_a_null_may_be_anything() -> None:
    """These bytes need not be text: here they are the start of a character, at the end of all bytes."""
    offsets, data = np.array([0, 2, 4, 5], np.int32), "éé".encode() + b"\xf0"
    broken = pa.StringArray.from_buffers(3, pa.py_buffer(offsets), pa.py_buffer(data), pa.py_buffer(b"\x03"))
    columns: dict[Ref | Bound, pa.Array] = {
        S: broken,
        U: pa.array(["é", "", "é"]),
        PLACE: pa.array([1, -1, 1], pa.int32()),
    }
    for name, refs, expected in [
        ("upper", (S,), ["É", "É", None]),
        ("lower", (S,), ["é", "é", None]),
        ("instr", (S, U), [1, 1, None]),
        ("replace", (S, U, U), ["é", "é", None]),
        ("substring", (S, PLACE), ["é", "é", None]),
    ]:
        made = evaluate(typed(name, refs, print), columns.__getitem__, 3, {})
        made.validate(full=True)
        assert made.to_pylist() == expected
    with pytest.raises(ExpressionError, match="'é' is not a valid DECIMAL"):
        evaluate(call("cast", (S,), pa.decimal128(4, 1)), columns.__getitem__, 3, {})


def test_more_text_than_an_array_holds_is_refused() -> None:
    columns: dict[Ref | Bound, pa.Array] = {
        S: pa.array(["a" * 50_000]),
        U: pa.array(["a"]),
        P: pa.array(["b" * 50_000]),
    }
    with pytest.raises(ExpressionError, match=r"have 2500000000 bytes .* make batches smaller"):
        evaluate(typed("replace", (S, U, P), print), columns.__getitem__, 1, {})


def _number_word(chance: random.Random) -> str:
    def digits(*counts: int) -> str:
        return "".join(chance.choice(chance.choice(["0123456789", "09", "45"])) for _ in range(chance.choice(counts)))

    point = digits(1, 2, 18, 19, 20, 38, 45) + chance.choice(["", ".", "." + digits(1, 2, 3, 20, 40)])
    exponent = chance.choice(["", "", "e", "E+", "E-"])
    return chance.choice(["", "+", "-", " -"]) + point + (exponent and exponent + digits(1, 1, 2))


def _decimal(value: Decimal, kind: pa.DataType) -> Decimal | None:
    """Return the decimal, rounded half up; None if it does not fit."""
    unit = Decimal(1).scaleb(-kind.scale)
    rounded = value.quantize(unit, ROUND_HALF_UP, EXACT)
    return rounded if abs(rounded) < Decimal(10) ** (kind.precision - kind.scale) else None


@pytest.mark.parametrize(
    ("precision", "scale"), [(1, 0), (1, 1), (9, 2), (19, 0), (20, 19), (38, 0), (38, 17), (38, 38)]
)
def test_texts_as_decimals(precision: int, scale: int) -> None:
    """Numbers that fit are rounded half up; the error contains the first one that does not."""
    chance = random.Random(precision * 100 + scale)
    kind = pa.decimal128(precision, scale)
    # rounding adds a digit to the first, and carries into the high word of the second
    edges = ["9" * (precision - scale) + "." + "9" * scale + "5", f"{2**64 - 1}5e-{scale + 1}"]
    words = ["0.05", ".4", *edges, *(_number_word(chance) for _ in range(ROWS))]
    known = {word: _decimal(Decimal(word.strip()), kind) for word in words}
    fitting = [word for word in words if known[word] is not None]
    assert 2 < len(fitting) < len(words)
    expression = call("cast", (S,), kind)

    def asked(texts: list[str | None]) -> pa.Array:
        return evaluate(expression, lambda _: pa.array([*texts, "unread"]).slice(0, len(texts)), len(texts), {})

    made = asked([None, *fitting])
    made.validate(full=True)
    assert made.to_pylist() == [None, *(known[word] for word in fitting)]
    for word in [word for word in words if known[word] is None][:100]:
        with pytest.raises(ExpressionError) as caught:
            asked([None, *fitting[:3], word, "x"])
        assert str(caught.value).startswith(f"{word!r} is not a valid DECIMAL({precision}, {scale}) in ")


def _doubles(digits: int) -> list[float]:
    """Return halves of the last digit kept, their neighbors, and random bits."""
    chance = np.random.default_rng(abs(digits))
    units = chance.integers(0, 10 ** chance.integers(1, 17, ROWS))
    halves = np.array([float(Decimal(int(10 * n + 5)).scaleb(-digits - 1)) for n in units])
    any_bits = chance.integers(0, 2**63, ROWS, dtype=np.int64).view(np.float64)
    made = np.concatenate([halves, np.nextafter(halves, 0), np.nextafter(halves, np.inf), any_bits])
    made = made[np.isfinite(made)]
    return list((made * chance.choice([-1.0, 1.0], len(made))).tolist())


@pytest.mark.parametrize("digits", [0, 1, 2, 5, 14, 21, 22, 30, 323, -1, -2, -14, -22, -23, -300])
def test_doubles_are_rounded_as_they_are_written(digits: int) -> None:
    numbers = _doubles(digits)
    made = evaluate(
        typed("round", (X, Value(digits, pa.int32())), print), lambda _: pa.array(numbers), len(numbers), {}
    )
    unit = Decimal(1).scaleb(-digits)
    assert made.to_pylist() == [float(Decimal(repr(x)).quantize(unit, ROUND_HALF_UP, EXACT)) for x in numbers]


@pytest.mark.parametrize(("precision", "scale"), [(5, 2), (20, 2), (38, 0), (38, 20), (38, 38)])
def test_doubles_as_decimals(precision: int, scale: int) -> None:
    kind = pa.decimal128(precision, scale)
    known = [(x, _decimal(Decimal(repr(x)), kind)) for x in _doubles(scale)]
    fitting = [pair for pair in known if pair[1] is not None]
    given: list[float | None] = [None, *(x for x, _ in fitting), float("nan"), float("-inf")]
    made = evaluate(call("cast", (X,), kind), lambda _: pa.array(given), len(given), {})
    made.validate(full=True)
    assert made.to_pylist() == [None, *(decimal for _, decimal in fitting), None, None]
    too_large = next(x for x, decimal in known if decimal is None)
    with pytest.raises(ExpressionError) as caught:
        evaluate(call("cast", (X,), kind), lambda _: pa.array([0.5 if scale else 1.0, too_large, 1e300]), 3, {})
    assert str(caught.value).startswith(f"{too_large} does not fit in DECIMAL({precision}, {scale}) in ")
