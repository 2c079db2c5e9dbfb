"""Formats numbers, sizes and durations, in the same way in errors, explanations, reports and the demo.

>>> byte_size(3_450_000_000), percent(1 / 3), duration(3_210.0), plural(1200, "row")
('3.5 GB', '33.3 %', '3.2 µs', '1,200 rows')
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from thalweg.printable import columns_of, printable, signs_of

WIDTH = 100
"""Columns of reports and explanations."""
_BETWEEN_WORDS = re.compile(r" (?!(?<=\d )(?:%|ns|µs|ms|s|min|h|d|bytes?|kB|MB|GB)(?!\w))")
"""A space, but not one between a number and its unit."""
_LINE_BREAK = re.compile(r"[ \t\r]*\n[ \t\r\n]*")

_SIZES = (("kB", 10**3), ("MB", 10**6), ("GB", 10**9))
_SHORT = (("ns", 1, 1000), ("µs", 10**3, 1000), ("ms", 10**6, 1000), ("s", 10**9, 120))
"""A unit, its length in nanoseconds, and the count from which the next unit is used."""
_LONG = (("min", "s", 10**9, 60, 60), ("h", "min", 60 * 10**9, 60, 24), ("d", "h", 3600 * 10**9, 24, math.inf))
"""A unit, the next smaller unit, its length in nanoseconds, how many of these make one unit, and the limit as above."""
_EXACT = (("d", 86_400 * 10**9), ("h", 3600 * 10**9), ("min", 60 * 10**9), ("s", 10**9), ("ms", 10**6), ("µs", 10**3),
          ("ns", 1))  # fmt: skip


def whole_number(value: float) -> str:
    """Format a number without decimals, with separators.

    >>> whole_number(1234567.8)
    '1,234,568'
    """
    return f"{value:,.0f}"


def few_digits(number: float) -> str:
    """Format a number with three significant digits, but with all digits from 1,000 on.

    >>> few_digits(0.28571), few_digits(14.2857), few_digits(86_400)
    ('0.286', '14.3', '86,400')
    """
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


def percent(share: float) -> str:
    """Format a share as a percentage with three significant digits, but with all digits from 1,000 % on.

    >>> percent(1 / 3), percent(1), percent(0.0002), percent(12.345)
    ('33.3 %', '100 %', '0.02 %', '1,234 %')
    """
    return f"{few_digits(100 * share)} %"


def percent_of(part: float, whole: float) -> str:
    """Format a part of a whole as a percentage with one decimal; a dash if the whole is 0.

    >>> percent_of(1, 3), percent_of(0, 0)
    ('33.3 %', '-')
    """
    return f"{100.0 * part / whole:.1f} %" if whole else "-"


def tenths_of_percent(share: float | None) -> str:
    """Format a share as a percentage with one decimal; a dash if it is not known.

    >>> tenths_of_percent(1 / 3), tenths_of_percent(1), tenths_of_percent(None)
    ('33.3 %', '100.0 %', '-')
    """
    return "-" if share is None else f"{100.0 * share:.1f} %"


def whole_percent(share: float) -> str:
    """Format a share as a percentage without decimals.

    >>> whole_percent(1 / 3), whole_percent(0.0002)
    ('33 %', '0 %')
    """
    return f"{100 * share:.0f} %"


def rounded_percent(share: float | None) -> str:
    """Format a share as a percentage for a narrow column: one decimal below 10 %, none above.

    >>> rounded_percent(0.5), rounded_percent(0.0123), rounded_percent(0.0001), rounded_percent(None)
    ('50 %', '1.2 %', '0.0 %', '-')
    """
    if share is None:
        return "-"
    return tenths_of_percent(share) if share < 0.0995 else whole_percent(share)


def times(ratio: float) -> str:
    """Format a ratio for a sentence.

    >>> times(3.14159), times(250.0)
    ('3.1 times', '250 times')
    """
    return f"{ratio:.0f} times" if ratio >= 10 else f"{ratio:.1f} times"


def byte_size(count: int) -> str:
    """Format a number of bytes in the unit that leaves one to three digits before the decimal point; more digits only
    from 1,000 GB on.

    >>> byte_size(1), byte_size(999), byte_size(1_000), byte_size(999_949), byte_size(999_950), byte_size(10**15)
    ('1 byte', '999 bytes', '1.0 kB', '999.9 kB', '1.0 MB', '1,000,000.0 GB')
    """
    if count < 1000:
        return f"{count} {'byte' if count == 1 else 'bytes'}"
    unit, per = next((named for named in _SIZES if round(count / named[1], 1) < 1000), _SIZES[-1])
    return f"{count / per:,.1f} {unit}"


def plural(count: int, one: str, several: str = "") -> str:
    """Format a count with its noun.

    >>> plural(1, "switch", "switches"), plural(1200, "switch", "switches"), plural(0, "worker")
    ('1 switch', '1,200 switches', '0 workers')
    """
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def wrapped(line: str, indent: int, *, further: int = 2, width: int = WIDTH) -> list[str]:
    """Break a line into printable lines of at most `width` columns of a terminal; a number stays with its unit.
    Continued lines are indented by `further` more columns. Line breaks in it become spaces.

    >>> wrapped("a drops 20 % at 30 ns per row", 2, width=14)
    ['  a drops 20 %', '    at 30 ns', '    per row']
    >>> wrapped("大きい measures 大きさ", 0, width=8)
    ['大きい', '  measur', '  es', '  大きさ']
    """
    first, rest = width - indent, width - indent - further
    lines: list[str] = []
    used = 0
    for word in filter(None, _BETWEEN_WORDS.split(printable(_LINE_BREAK.sub(" ", line)))):
        if lines and used + 1 + columns_of(word) <= (rest if len(lines) > 1 else first):
            lines[-1] += f" {word}"
            used += 1 + columns_of(word)
        else:
            lines += _pieces(word, rest if lines else first, rest)
            used = columns_of(lines[-1])
    return [" " * (indent + (further if n else 0)) + text for n, text in enumerate(lines)]


def _pieces(word: str, first: int, rest: int) -> Iterator[str]:
    """Divide a word into a piece of at most `first` columns and pieces of at most `rest` columns."""
    if columns_of(word) <= first:
        yield word
        return
    piece, used = "", 0
    for sign in signs_of(word):
        columns = columns_of(sign)
        if piece and used + columns > first:
            yield piece
            piece, used, first = "", 0, rest
        piece, used = piece + sign, used + columns
    yield piece


def aligned(rows: Iterable[Sequence[str]], left: Collection[int]) -> list[str]:
    """Return the rows of a table as printable lines. Columns are as wide as a terminal shows their widest cell; those
    in `left` are aligned to the left, the others to the right.

    >>> for line in aligned([("name", "rows"), ("大きさ", "10"), ("é", "2")], left=[0]):
    ...     print(line)
    name    rows
    大きさ    10
    é          2
    """
    cells = [tuple(map(printable, row)) for row in rows]
    widths = [max(map(columns_of, column)) for column in zip(*cells, strict=True)]

    def placed(n: int, cell: str) -> str:
        blank = " " * (widths[n] - columns_of(cell))
        return cell + blank if n in left else blank + cell

    return ["  ".join(placed(n, cell) for n, cell in enumerate(row)).rstrip() for row in cells]


def listed(names: Sequence[str], last: str = "and") -> str:
    """Join names for a sentence. `last`: the word before the last name.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"]), listed(["a", "b", "c"], "or")
    ('a', 'a and b', 'a, b and c', 'a, b or c')
    """
    return f" {last} ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), *names[-1:]])


def duration(ns: float | None, more_digits: int = 0) -> str:
    """Format a time per row, in ns, µs or ms.

    >>> duration(4.9), duration(999.7), duration(3_210.0), duration(45e6), duration(0.2), duration(None)
    ('5 ns', '1.0 µs', '3.2 µs', '45.0 ms', '< 1 ns', 'unknown')
    """
    if ns is None:
        return "unknown"
    if not more_digits and 0.0 < ns < 0.5:
        return "< 1 ns"
    if round(ns) < 1_000:
        return f"{ns:.{more_digits}f} ns"
    digits = 1 + more_digits
    return f"{ns / 1e3:,.{digits}f} µs" if ns < 999_950 else f"{ns / 1e6:,.{digits}f} ms"


def durations(one_ns: float, other_ns: float) -> tuple[str, str]:
    """Format two times per row to be compared, with as many digits as are needed to see which is shorter.

    >>> durations(1_240.0, 1_310.0), durations(1_210.0, 1_230.0), durations(7.0, 7.0)
    (('1.2 µs', '1.3 µs'), ('1.21 µs', '1.23 µs'), ('7 ns', '7 ns'))
    """
    for more_digits in range(4):
        pair = duration(one_ns, more_digits), duration(other_ns, more_digits)
        if pair[0] != pair[1]:
            return pair
    return duration(one_ns), duration(other_ns)


def total_duration(ns: float) -> str:
    """Format a total time, in ns, µs, ms or s.

    >>> total_duration(400), total_duration(90_000), total_duration(400_000), total_duration(1_500_000_000)
    ('400 ns', '90.0 µs', '0.4 ms', '1.50 s')
    """
    if ns < 100_000:
        return duration(ns)
    return f"{ns / 1e6:,.1f} ms" if ns < 1e9 else in_seconds(ns)


def in_seconds(ns: float) -> str:
    """Format a total time in seconds, however short.

    >>> in_seconds(12_400_000_000), in_seconds(3_000_000)
    ('12.40 s', '0.00 s')
    """
    return f"{ns / 1e9:,.2f} s"


def time_span(ticks: int, tick_ns: int | None) -> str:
    """Format a length of event time, rounded. `tick_ns` is None if the time column holds integers of unknown unit.

    >>> time_span(0, 1), time_span(999_949, 1), time_span(999_950, 1), time_span(119_950, 10**6)
    ('0 s', '999.9 µs', '1 ms', '2 min')
    >>> time_span(86_399, 10**9), time_span(90_000_000, 10**6), time_span(1, None)
    ('1 d', '1 d 1 h', '1 tick of time')
    """
    if tick_ns is None:
        return f"{plural(ticks, 'tick')} of time"
    ns = ticks * tick_ns
    if not ns:
        return "0 s"
    for unit, unit_ns, end in _SHORT:
        tenths = (10 * ns + unit_ns // 2) // unit_ns
        if tenths < 10 * end:
            return f"{tenths / 10:g} {unit}"
    for unit, part, part_ns, parts, most in _LONG:
        whole, rest = divmod((ns + part_ns // 2) // part_ns, parts)
        text = f"{whole:,} {unit} {rest} {part}" if rest else f"{whole:,} {unit}"
        if whole < most:
            break
    return text


def exact_time_span(ticks: int, tick_ns: int | None) -> str:
    """Format a length of event time without rounding, so that different lengths are written differently.

    >>> exact_time_span(5_010_000, 1_000), exact_time_span(90_000, 10**6), exact_time_span(7, None)
    ('5 s 10 ms', '1 min 30 s', '7 ticks of time')
    """
    if tick_ns is None or not ticks:
        return time_span(ticks, tick_ns)
    parts, rest = [], ticks * tick_ns
    for unit, unit_ns in _EXACT:
        count, rest = divmod(rest, unit_ns)
        if count:
            parts.append(f"{count:,} {unit}")
    return " ".join(parts)
