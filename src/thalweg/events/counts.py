"""The shape of all counters: fields that say how two parts of a run combine, and which values are possible.

A loop counts into such parts, records hold them, and reports add them. Parts may contain other parts. What combines in
another way, such as counts since the last switch, has an `add` of its own.

>>> @dataclass(slots=True)
... class ServedRows(Counts):
...     rows: int = total()
...     longest_ns: int = largest()
...     passed: list[int] = total(by="predicates")
>>> served = ServedRows(5, 70, [5, 2])
>>> served.add(ServedRows(3, 60, [3, 0]))
>>> served.taken(), served
(ServedRows(rows=8, longest_ns=70, passed=[8, 2]), ServedRows(rows=0, longest_ns=0, passed=[0, 0]))
>>> ServedRows(rows=3).to_json(), ServedRows.from_json({"rows": 3}, names=2)
({'rows': 3}, ServedRows(rows=3, longest_ns=0, passed=[0, 0]))
>>> ServedRows(-1).wrong(names=0), ServedRows(1, 2, [3]).wrong(names=2)
('rows is -1', 'passed has 1 values for 2 names')
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, Literal, NamedTuple, Self, TypeVar, get_args, get_origin, get_type_hints

MOST = 2**63
By = Literal["", "predicates", "others", "routes", "switches"]
"""What a list has one value of: the predicates or the other streams of its record, the routes of a mesh, or the
switches of a loop."""
T = TypeVar("T")


SUM = "if later.{0}: self.{0} += later.{0}"
SUMS = "if later.{0}: self.{0} = [a + b for a, b in zip(self.{0} or [0] * len(later.{0}), later.{0}, strict=True)]"
LARGEST = "if later.{0} is not None and (self.{0} is None or later.{0} > self.{0}): self.{0} = later.{0}"
SMALLEST = "if later.{0} is not None and (self.{0} is None or later.{0} < self.{0}): self.{0} = later.{0}"
LATEST = "self.{0} = later.{0}"
LATEST_KNOWN = (
    "if later.{0}: self.{0} = [a if b is None else b"
    " for a, b in zip(self.{0} or [None] * len(later.{0}), later.{0}, strict=True)]"
)
PART = "if later.{0} is not None: self.{0}.add(later.{0})"


def total(*, by: By = "", key: str | None = None) -> Any:
    """Return a field for a sum. `by`: it is a list with one value per name. `key`: its key in `to_dict()`, if it is not
    its name; empty: it is not shown."""
    return _field(SUMS if by else SUM, by, 0, key)


def largest(default: Any = 0, *, signed: bool = False, key: str | None = None) -> Any:
    """Return a field for the largest value. `default`: None if there may be no value. `signed`: it may be negative."""
    return _field(LARGEST, "", default, key, signed=signed)


def smallest(*, signed: bool = False, key: str | None = None) -> Any:
    """Return a field for the smallest value; None if there is no value."""
    return _field(SMALLEST, "", None, key, signed=signed)


def latest(
    default: Any = 0, *, by: By = "", signed: bool = False, most: float | None = None, key: str | None = None
) -> Any:
    """Return a field for the latest value; in lists, for the latest values that are not None. `most`: the largest
    possible value."""
    return _field(LATEST_KNOWN if by else LATEST, by, default, key, signed=signed, most=most)


def _field(add: str, by: By, default: Any, key: str | None, **limits: Any) -> Any:
    found = {"add": add, "by": by, "key": key, **limits}
    return field(default_factory=list, metadata=found) if by else field(default=default, metadata=found)


class Counts:
    """The base class of a part: a dataclass with slots whose fields are made by the functions above, or are parts."""

    __slots__ = ()

    @classmethod
    def none(cls, names: int) -> Self:
        """Return counts at zero, for so many predicates or other streams."""
        return cls.from_json({}, names)

    def add(self, later: Self) -> None:
        """Add what a later part of the run, or another worker, has counted."""
        compiled(type(self)).add(self, later)

    def taken(self) -> Self:
        """Return the counts, and begin anew."""
        counts: Self = compiled(type(self)).taken(self)
        return counts

    def to_json(self) -> dict[str, Any]:
        """Return the values that are not those of counts at zero."""
        return to_plain(self)

    @classmethod
    def from_json(cls, values: dict[str, Any], names: int) -> Self:
        """Return the counts of `to_json`. `names`: the number of predicates, or of other streams."""
        return from_plain(cls, values, names)

    def wrong(self, names: int) -> str | None:
        """Return what is wrong with the first value that no run counts; None if all values are possible."""
        return wrong_values(self, names)

    def to_dict(self) -> dict[str, Any]:
        """Return all values that reports show, by their keys."""
        return {each.key: _copied(getattr(self, each.name)) for each in shape_of(type(self)) if each.key}

    def totals(self) -> dict[str, Any]:
        """Return those of these values that are not lists by name."""
        return {each.key: getattr(self, each.name) for each in shape_of(type(self)) if each.key and not each.by}

    def of_name(self, k: int) -> dict[str, Any]:
        """Return the values of one name, given by its place."""
        return {each.key: getattr(self, each.name)[k] for each in shape_of(type(self)) if each.key and each.by}


def _copied(value: Any) -> Any:
    return list(value) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class FieldShape:
    """What is known of one field of a record or of a part."""

    name: str
    default: Any
    """The value that is left out of JSON; `MISSING` if it is always written."""
    part: Any
    """The class of a part; None for a plain value."""
    is_optional: bool
    """Whether a part may be None."""
    by: By
    zero: Any
    """The value of each name in a list at zero; `MISSING` if that list is empty."""
    is_tuple: bool
    add: str
    """The statement that adds the value of a later part."""
    fits: Callable[[Any], bool]
    key: str

    def zeros(self, names: int) -> list[Any]:
        """Return a list at zero."""
        return [] if self.zero is MISSING else [self.zero] * names


class Compiled(NamedTuple):
    """What every report does with each field of a class. It is compiled once, because reports add thousands."""

    add: Callable[[Any, Any], None]
    taken: Callable[[Any], Any]
    plain: Callable[[Any], dict[str, Any]]


_COMPILED: dict[Any, Compiled] = {}


def compiled(kind: Any) -> Compiled:
    """Return the functions of a record or of a part."""
    if kind in _COMPILED:
        return _COMPILED[kind]
    add, values, begun, plain = [], [], [], []
    for each in shape_of(kind):
        name, own = each.name, f"self.{each.name}"
        add.append(each.add.format(name))
        if each.part is not None:
            values.append(f"{own} and {own}.taken()")
            plain.append(
                f"if {own} is not None: found['{name}'] = to_plain({own})" if each.is_optional
                else f"if values := to_plain({own}): found['{name}'] = values"
            )  # fmt: skip
            continue
        values.append(own)
        begun.append(f"{own} = {_zeros(each)}" if each.by else f"{own} = {each.default!r}")
        some = f"{own} != {each.default!r}"
        if each.by:
            some = f"{own}.count(None) != len({own})" if each.zero is None else f"any({own})"
        plain.append(f"{'' if each.default is MISSING else f'if {some}: '}found['{name}'] = {own}")
    functions = {
        "add(self, later)": add,
        "taken(self)": [f"counts = kind({', '.join(values)})", *begun, "return counts"],
        "plain(self)": ["found = {}", *plain, "return found"],
    }
    if any(each.default is MISSING for each in shape_of(kind) if each.part is None):
        functions["taken(self)"] = ["raise TypeError('a record cannot begin anew')"]
    found: dict[str, Any] = {"kind": kind, "to_plain": to_plain}
    for head, lines in functions.items():
        exec("\n    ".join([f"def {head}:", *lines]), found)
    _COMPILED[kind] = Compiled(found["add"], found["taken"], found["plain"])
    for name in ("add", "taken"):  # the next call needs no look-up, unless the class has its own
        if getattr(kind, name, None) is getattr(Counts, name):
            setattr(kind, name, found[name])
    return _COMPILED[kind]


def _zeros(each: FieldShape) -> str:
    return "[]" if each.zero is MISSING else f"[{each.zero!r}] * len(self.{each.name})"


_SHAPES: dict[Any, tuple[FieldShape, ...]] = {}


def shape_of(kind: Any) -> tuple[FieldShape, ...]:
    """Return the fields of a record or of a part; they are found out once per class."""
    if kind not in _SHAPES:
        hints = get_type_hints(kind)
        _SHAPES[kind] = tuple(_shape(each, hints[each.name]) for each in fields(kind))
    return _SHAPES[kind]


def _shape(each: Any, hint: Any) -> FieldShape:
    limits, options, by_name = each.metadata, get_args(hint), get_origin(hint) in (list, tuple)
    part = None if by_name else next((option for option in (hint, *options) if is_dataclass(option)), None)
    by = limits.get("by", "")
    zero: Any = MISSING
    if by:
        zero = 0 if limits["add"] is SUMS else None if type(None) in get_args(options[0]) else MISSING
    default = each.default if each.default_factory is MISSING else [] if by else MISSING
    key = limits.get("key")
    return FieldShape(
        each.name, default, part, type(None) in options, by, zero, get_origin(hint) is tuple,
        PART if part is not None else limits.get("add", LATEST),
        _fits(hint, limits) if part is None else bool, each.name if key is None else key,
    )  # fmt: skip


def _fits(hint: Any, limits: Any) -> Callable[[Any], bool]:
    """Return whether a value has a type, and is within the limits of its field."""
    kind, options = get_origin(hint), get_args(hint)
    if kind in (tuple, list):
        inner = _fits(options[0], limits)
        return lambda value: type(value) is kind and all(map(inner, value))
    if options:
        some = [_fits(option, limits) for option in options]
        return lambda value: any(fits(value) for fits in some)
    if hint is int:
        least, most = -MOST if limits.get("signed") else 0, limits.get("most") or MOST - 1
        return lambda value: type(value) is int and least <= value <= most
    if hint is float:
        highest = limits.get("most") or sys.float_info.max
        return lambda value: type(value) in (int, float) and 0 <= value <= highest
    if hint is str:
        return lambda value: isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)
    return lambda value: isinstance(value, hint)


def to_plain(whole: Any) -> dict[str, Any]:
    """Return the fields of a record or of a part for JSON, without those that have their default."""
    return compiled(type(whole)).plain(whole)


def from_plain(kind: type[T], values: dict[str, Any], names: int) -> T:
    """Return the record or the part that `to_plain` described. Values are not checked, and fields of a later version
    are left out."""
    if not isinstance(values, dict):
        raise TypeError(f"{values!r:.40} is no {kind.__name__}")
    found: dict[str, Any] = {}
    for each in shape_of(kind):
        if each.name in values:
            value = values[each.name]
            if each.part is not None and not (value is None and each.is_optional):
                value = from_plain(each.part, value, names)
            elif each.is_tuple and isinstance(value, list):
                value = tuple(value)
            found[each.name] = value
        elif each.part is not None and not each.is_optional:
            found[each.name] = from_plain(each.part, {}, names)
        elif each.by in ("predicates", "others"):
            found[each.name] = each.zeros(names)
    return kind(**found)


def wrong_values(whole: Any, names: int) -> str | None:
    """Return what is wrong with the first value of a record or of a part that no run writes. `names`: the number of its
    predicates or other streams."""
    lists = {"predicates": names, "others": names}
    for each in shape_of(type(whole)):
        value = getattr(whole, each.name)
        if isinstance(value, Counts):
            if (wrong := value.wrong(names)) is not None:
                return f"{each.name}.{wrong}"
        elif each.part is not None:
            if value is not None and (wrong := wrong_values(value, names)) is not None:
                return wrong
        elif each.default is not MISSING and value is each.default:
            continue
        elif not each.fits(value):
            return f"{each.name} is {value!r:.40}"
        elif each.by and (value or each.zero is not MISSING):
            expected = lists.setdefault(each.by, len(value))
            if len(value) != expected:
                of = "routes" if each.by == "routes" else "names"
                return f"{each.name} has {len(value)} values for {expected} {of}"
    return None
