r"""Translate a Java pattern for RE2, so that both match the same texts.

Sets of characters are written out, because `.`, `\s`, `\w` and (?i) match other characters in RE2. In RE2, `$` is the
end of the text; in Java, it also matches before a final line end. The line end is written out too. Since it is then
part of the match, `$` must be the last part. Java does not match `$` between \r and \n: what is matched before a final
\n must not end with \r.

>>> re2_text("^a.b")
'\\Aa[^\\x{a}\\x{d}\\x{85}\\x{2028}-\\x{2029}]b'
>>> re2_text("a$b")
Traceback (most recent call last):
thalweg.plan.expressions.regex_subset.RegexError: $ at character 2 is not the last part; write \z, which matches only the end
"""  # noqa: E501 - a message in full

from __future__ import annotations

from functools import lru_cache

from thalweg.plan.expressions.character_set import LINE_ENDS, CharacterSet
from thalweg.plan.expressions.regex_subset import Chars, Edge, Either, Reader, RegexError, RegexPart, Repeat, Run

_CR, _LF = CharacterSet.letters("\r"), CharacterSet.letters("\n")
_NEW_LINE = LINE_ENDS.without(_LF).written()
_END = rf"(?:\r\n|{LINE_ENDS.written()}|)\z"
_END_BUT_LF = rf"(?:\r\n|{_NEW_LINE}|)\z"


@lru_cache(maxsize=256)
def re2_text(pattern: str) -> str:
    """Return a pattern for RE2. A pattern that is not portable raises a RegexError."""
    return _written(Reader(pattern).read(), last=True, after_cr=False)


def is_portable(pattern: str) -> bool:
    """Whether Java compiles a pattern and RE2 matches the same texts.

    >>> is_portable("a+[0-9]"), is_portable("a(?=b)"), is_portable("(a")
    (True, False, False)
    """
    try:
        re2_text(pattern)
    except RegexError:
        return False
    return True


def _written(node: RegexPart, last: bool, after_cr: bool) -> str:
    """Return a part in the syntax of RE2. `last`: nothing follows it; `after_cr`: what comes before it may end with a
    carriage return."""
    if isinstance(node, Chars):
        return node.set.written()
    if isinstance(node, Edge):
        return _edge(node, last, after_cr)
    if isinstance(node, Either):
        return f"(?:{'|'.join(_written(option, last, after_cr) for option in node.options)})"
    if isinstance(node, Run):
        return _run(node, last, after_cr)
    part = _written(node.part, False, after_cr or _ends_with_cr(node.part))
    if isinstance(node.part, Run | Repeat):
        part = f"(?:{part})"
    return part + _counted(node.least, node.most)


def _counted(least: int, most: int | None) -> str:
    if (least, most) in ((0, None), (1, None), (0, 1)):
        return {(0, None): "*", (1, None): "+", (0, 1): "?"}[least, most]
    return f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"


def _edge(node: Edge, last: bool, after_cr: bool) -> str:
    if node.kind != "$":
        return {"^": r"\A", "z": r"\z"}[node.kind]
    if not last:
        raise RegexError(rf"$ at character {node.place + 1} is not the last part; write \z, which matches only the end")
    if after_cr:
        raise RegexError(
            rf"$ at character {node.place + 1} may follow a carriage return, and Java matches no end between "
            r"\r and \n; write \z, which matches only the end"
        )
    return _END


def _run(node: Run, last: bool, after_cr: bool) -> str:
    made: list[str] = []
    for n, part in enumerate(node.parts):
        ends = last and n == len(node.parts) - 1
        before = node.parts[n - 1] if n else None
        if ends and isinstance(part, Edge) and part.kind == "$" and isinstance(before, Chars) and "\r" in before.set:
            any_end, lf_end = made.pop(), before.set.without(_CR).written()
            made.append(rf"(?:{any_end}{_END_BUT_LF}|{lf_end}\n\z)")
            continue
        made.append(_written(part, ends, after_cr))
        after_cr = _ends_with_cr(part) or (_may_be_empty(part) and after_cr)
    return "".join(made)


def _ends_with_cr(node: RegexPart) -> bool:
    """Whether a part may end with a carriage return without also being able to match the line feed after it."""
    if isinstance(node, Chars):
        return "\r" in node.set
    if isinstance(node, Either):
        return any(map(_ends_with_cr, node.options))
    if isinstance(node, Repeat):
        return _ends_with_cr(node.part) and not (node.most is None and _is_line_feed(node.part))
    if isinstance(node, Run):
        for part in reversed(node.parts):
            if _ends_with_cr(part):
                return True
            if not _may_be_empty(part):
                return False
    return False


def _is_line_feed(node: RegexPart) -> bool:
    """Whether a part matches a single line feed."""
    if isinstance(node, Chars):
        return "\n" in node.set
    return isinstance(node, Either) and any(map(_is_line_feed, node.options))


def _may_be_empty(node: RegexPart) -> bool:
    if isinstance(node, Chars):
        return False
    if isinstance(node, Either):
        return any(map(_may_be_empty, node.options))
    if isinstance(node, Run):
        return all(map(_may_be_empty, node.parts))
    return isinstance(node, Edge) or node.least == 0 or _may_be_empty(node.part)
