"""A classifier without values of rows, for reports and records of queries with `redact`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def redacted_tree(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON values of a tree with numbers in place of values and thresholds.

    Equal values of a column have the same number. Numbers are given from the root down, so that the same tree always
    gets the same ones. Each test has the key `redacted`. Such a tree can be shown, but not classify rows.

    Parameters
    ----------
    tree
        What `RouteTree.to_dict` returned.

    Returns
    -------
    dict
        Texts and truth values are "value 1", "value 2" and so on, cuts are "threshold 1" and so on.

    Examples
    --------
    >>> leaf = {"route": 0, "share": 0.5}
    >>> test = {"column": "user", "kind": "text", "branches": [[["ann", "bob"], leaf]], "null": leaf, "other": leaf}
    >>> redacted_tree(test)["branches"]
    [[['value 1', 'value 2'], {'route': 0, 'share': 0.5}]]
    """
    return _redacted(tree, {}, {})


_Numbers = dict[tuple[str, str, Any], str]


def _redacted(node: Mapping[str, Any], values: _Numbers, cuts: _Numbers) -> dict[str, Any]:
    if "route" in node:
        return dict(node)
    column = node["column"], node["kind"]
    hidden: dict[str, Any] = {"column": column[0], "kind": column[1], "redacted": True}
    if "cut" in node:
        # without a cut, all numbers are low
        cut = node["cut"]
        hidden["cut"] = cut if cut is None else cuts.setdefault((*column, cut), f"threshold {len(cuts) + 1}")
        hidden |= {name: _redacted(node[name], values, cuts) for name in ("low", "high")}
    else:
        # the values of a test are numbered before those of the tests below it
        groups = [
            [values.setdefault((*column, value), f"value {len(values) + 1}") for value in group]
            for group, _ in node["branches"]
        ]
        below = [_redacted(branch, values, cuts) for _, branch in node["branches"]]
        hidden["branches"] = [[group, branch] for group, branch in zip(groups, below, strict=True)]
    return hidden | {name: _redacted(node[name], values, cuts) for name in ("null", "other")}
