"""The shape of a join plan: which sub-joins it keeps as inner results.

A stream is its name, and a join a tuple of what it joins: `("a", "b", "c")` keeps nothing (a multiway join), `(("b",
"c"), "a")` keeps the results of b and c, and `(("a", "b"), ("c", "d"))` is a bushy tree. A tree of binary joins keeps
the results of each of its joins but the last.

>>> shape = (("a", "b"), "c")
>>> streams_of(shape), to_text(shape), left_deep(["a", "b", "c"]) == shape
(('a', 'b', 'c'), '((a b) c)', True)
>>> of_text("((b c) a d)")
(('b', 'c'), 'a', 'd')
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from thalweg.errors import PlanError
from thalweg.formatting import listed
from thalweg.plan.joins.graph import JoinGraph

Shape = str | tuple["Shape", ...]
_NAME = r"[^\s(),`]+"
MOST_STREAMS = 12
"""The most streams of a join whose plans are compared."""
DEEPEST = 100
"""The most joins within each other that a text may describe; far more than any useful plan has."""


def streams_of(shape: Shape) -> tuple[str, ...]:
    """Return the streams of a plan, from left to right."""
    return (shape,) if isinstance(shape, str) else tuple(alias for part in shape for alias in streams_of(part))


def nodes_of(shape: Shape) -> Iterator[tuple[Shape, ...]]:
    """Yield the joins of a plan, from the leaves up."""
    if not isinstance(shape, str):
        for part in shape:
            yield from nodes_of(part)
        yield shape


def to_text(shape: Shape) -> str:
    """Return a plan as readable text. Names that are not one word are in backquotes; a single stream is its name.

    >>> to_text((("a b", "c"), "d")), of_text("((`a b` c) d)")
    ('((`a b` c) d)', (('a b', 'c'), 'd'))
    """
    return shape if isinstance(shape, str) else f"({' '.join(map(_within, shape))})"


def plan_text(shape: Shape) -> str:
    """Return a plan as the argument `plan=` takes it.

    >>> plan_text(("a", "b", "c")), plan_text((("a", "b"), "c"))
    ('multiway', '((a b) c)')
    """
    return "multiway" if all(isinstance(part, str) for part in shape) else to_text(shape)


def in_order(shape: Shape, aliases: Sequence[str]) -> Shape:
    """Return the same plan with the inputs of each join in the order of their first streams.

    >>> in_order((("c", "b"), "a"), ("a", "b", "c")), in_order((("c", "b"), "a"), ("b", "a", "c"))
    (('a', ('b', 'c')), (('b', 'c'), 'a'))
    """
    if isinstance(shape, str):
        return shape
    return tuple(sorted(
        (in_order(part, aliases) for part in shape), key=lambda part: min(map(aliases.index, streams_of(part)))
    ))  # fmt: skip


def sorted_text(shape: Shape) -> str:
    """Return the text of a plan that does not depend on the order of streams: the inputs of each join are sorted.

    >>> sorted_text((("c", "b"), "a"))
    '(a (b c))'
    """
    return to_text(in_order(shape, sorted(streams_of(shape))))


def _within(part: Shape) -> str:
    if not isinstance(part, str) or re.fullmatch(_NAME, part):
        return to_text(part)
    return "`" + part.replace("`", "``") + "`"


def of_text(text: str) -> Shape:
    """Return the plan that a text describes, as `to_text` writes it."""
    if not re.search(r"[()]", text):
        raise PlanError(
            f"plan={text!r} is not a plan; write 'multiway', or which sub-joins are kept, as in '((b c) a)'"
        )
    open_parts: list[list[Shape]] = [[]]
    for word in re.findall(rf"[()]|`(?:[^`]|``)+`|{_NAME}", text):
        if word == "(":
            open_parts.append([])
            if len(open_parts) > DEEPEST:
                raise _not_a_plan(f"{text[:40]}...", f"more than {DEEPEST} parentheses are open")
        elif word != ")":
            open_parts[-1].append(word[1:-1].replace("``", "`") if word.startswith("`") else word)
        elif len(open_parts) == 1:
            raise _not_a_plan(text, "a parenthesis is closed that is not open")
        else:
            part = tuple(open_parts.pop())
            if len(part) < 2:
                raise _not_a_plan(text, "a pair of parentheses needs two or more streams or parts")
            open_parts[-1].append(part)
    if len(open_parts) > 1:
        raise _not_a_plan(text, "a parenthesis is not closed")
    if len(open_parts[0]) != 1 or isinstance(open_parts[0][0], str):
        raise _not_a_plan(text, "the whole plan needs one pair of parentheses around it")
    return open_parts[0][0]


def _not_a_plan(text: str, why: str) -> PlanError:
    return PlanError(f"plan={text!r}: {why}; write 'multiway', or which sub-joins are kept, as in '((b c) a)'")


def left_deep(order: Sequence[str]) -> Shape:
    """Return the tree that joins the first two streams, and then one stream after the other."""
    shape: Shape = order[0]
    for alias in order[1:]:
        shape = (shape, alias)
    return shape


def check_shape(shape: Shape, graph: JoinGraph) -> None:
    """Check that a plan has every stream once, and that equalities connect the inputs of every join."""
    streams = streams_of(shape)
    wrong = [
        *(f"{alias} is not a stream of the join" for alias in dict.fromkeys(streams) if alias not in graph.aliases),
        *(f"{alias} is there twice" for alias in graph.aliases if streams.count(alias) > 1),
        *(f"{alias} is missing" for alias in graph.aliases if alias not in streams),
    ]
    if wrong:
        each = ", ".join(graph.aliases)
        raise PlanError(f"{listed(wrong)}; a plan must have each of {each} once, and {to_text(shape)} does not")
    for node in nodes_of(shape):
        if len(node) < 2:
            raise PlanError(f"the plan {to_text(shape)} has a join of one input; a join needs two or more")
        _check_connected(shape, node, graph)


def _check_connected(shape: Shape, node: tuple[Shape, ...], graph: JoinGraph) -> None:
    sides = [streams_of(part) for part in node]
    reached, left = [sides[0]], sides[1:]
    while left:
        near = [side for side in left if any(graph.shared(a, b) for one in reached for a in one for b in side)]
        if not near:
            one, other = ("{" + ", ".join(a for side in group for a in side) + "}" for group in (reached, left))
            raise PlanError(
                f"the plan {to_text(shape)} joins {one} with {other}, which have no equality between them; put streams "
                "together that an equality of the join connects"
            )
        reached += near
        left = [side for side in left if side not in near]


def as_shape(plan: Any) -> Shape:
    """Return a plan that was read from JSON, as lists. Its text is not parsed: names may contain blanks and
    parentheses.

    >>> as_shape(["a", ["b", "c"]])
    ('a', ('b', 'c'))
    """
    return plan if isinstance(plan, str) else tuple(map(as_shape, plan))
