"""Checks whether a text is a mesh that a run could have written (`Mesh.to_dict` as JSON)."""

from __future__ import annotations

import json
from typing import Any

MOST_DEPTH = 50
MOST_CUT = 1.7e308


def is_mesh(text: str, filters: int) -> bool:
    """Whether a text is a mesh of so many filters.

    >>> is_mesh('{"tree":{"route":0,"share":1.0},"routes":[[1,0]],"version":3}', filters=2)
    True
    >>> is_mesh('{"tree":{"route":1,"share":1.0},"routes":[[1,0]],"version":3}', filters=2), is_mesh("x", filters=2)
    (False, False)
    """
    try:
        mesh = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(mesh, dict) or type(mesh.get("version")) is not int:
        return False
    routes = mesh.get("routes")
    if not isinstance(routes, list) or not routes or not all(_is_order(route, filters) for route in routes):
        return False
    return _is_node(mesh.get("tree"), len(routes), 0)


def _is_order(route: Any, filters: int) -> bool:
    is_whole = isinstance(route, list) and all(type(k) is int for k in route)
    return is_whole and sorted(route) == list(range(filters))


def _is_cut(cut: Any) -> bool:
    """Whether it is a threshold, or none. JSON has whole numbers that no float can hold."""
    return cut is None or (type(cut) in (int, float) and abs(cut) <= MOST_CUT)


def _is_node(node: Any, routes: int, depth: int) -> bool:
    if not isinstance(node, dict) or depth > MOST_DEPTH:
        return False
    if "route" in node:
        share = node.get("share", 0.0)
        is_share = type(share) in (int, float) and 0 <= share <= 1
        return is_share and type(node["route"]) is int and 0 <= node["route"] < routes
    if not isinstance(node.get("column"), str) or not isinstance(node.get("kind"), str):
        return False
    below = [node.get("null"), node.get("other")]
    if "branches" in node:
        branches = node["branches"]
        if not isinstance(branches, list) or not all(isinstance(each, list) and len(each) == 2 for each in branches):
            return False
        values = [value for group, _ in branches for value in (group if isinstance(group, list) else [None])]
        if not all(isinstance(value, str | bool) for value in values):
            return False
        below += [child for _, child in branches]
    else:
        cut = node.get("cut")
        if not (isinstance(cut, str) if node.get("redacted") and cut is not None else _is_cut(cut)):
            return False
        below += [node.get("low"), node.get("high")]
    return all(_is_node(child, routes, depth + 1) for child in below)
