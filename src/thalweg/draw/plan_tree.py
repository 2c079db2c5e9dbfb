"""Draws plan trees as text, HTML, Graphviz and Mermaid.

>>> tree = TreeItem("Project", ("price",), (TreeItem("Stream", ("stock AS s", "[RANGE 1 MINUTE]")),))
>>> print(as_text(tree))
Project price
└─ Stream stock AS s
       [RANGE 1 MINUTE]
>>> print(as_mermaid(tree))
flowchart BT
  n0["Project<br/>price"]
  n1["Stream<br/>stock AS s<br/>[RANGE 1 MINUTE]"]
  n1 --> n0
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from thalweg.draw.style_sheet import BRANCHES
from thalweg.draw.svg import escaped
from thalweg.printable import printable


@dataclass(frozen=True)
class TreeItem:
    """An operator: its name, details (the first is printed next to the name), and the operators it reads from."""

    name: str
    details: tuple[str, ...] = ()
    inputs: tuple[TreeItem, ...] = ()


def as_text(tree: TreeItem) -> str:
    """Return the tree as text, with lines for branches."""
    return "\n".join(_lines(tree))


def _lines(node: TreeItem) -> Iterator[str]:
    first, *more = map(printable, node_details(node))
    yield f"{printable(node.name)} {first}".rstrip()
    bar = "│ " if node.inputs else "  "
    for detail in more:
        yield f"{bar}  {detail}"
    for n, child in enumerate(node.inputs):
        last = n == len(node.inputs) - 1
        for k, line in enumerate(_lines(child)):
            yield ("└─ " if last else "├─ ") + line if not k else ("   " if last else "│  ") + line


def as_html(tree: TreeItem) -> str:
    """Return the tree as nested HTML lists, which every notebook shows."""
    details = "".join(f"<br><small>{escaped(detail)}</small>" for detail in tree.details)
    below = "".join(as_html(child) for child in tree.inputs)
    head = f"<b>{escaped(tree.name)}</b>{details}"
    return f"<ul style='{BRANCHES}'><li>{head}{below}</li></ul>"


def node_details(node: TreeItem) -> tuple[str, ...]:
    """Return the details of a node; one empty text if it has none."""
    return node.details or ("",)


def as_graphviz(
    tree: TreeItem, *, name: str = "plan", downwards: bool = False, beside: Sequence[tuple[str, TreeItem]] = ()
) -> str:
    """Return the tree in the DOT language of Graphviz. Rows flow upwards, or from the root downwards. `beside`: trees
    with titles that are drawn in frames, in which rows always flow downwards."""
    direction = "TB" if downwards else "BT"
    lines = [f"digraph {name} {{", f"  rankdir={direction};", '  node [shape=box, fontname="sans-serif"];']
    lines += _dot_nodes(tree, "n", "{1} -> {0};" if downwards else "{0} -> {1};")
    for count, (title, other) in enumerate(beside):
        place = 'labelloc="t"' if downwards else 'labelloc="b"'  # of what is drawn at the top
        label = f'label="{_escaped(printable(title))}"; fontname="sans-serif"; {place};'
        lines += [f"  subgraph cluster_{count} {{", f"    {label}"]
        edge = "{1} -> {0};" if downwards else "{0} -> {1} [dir=back];"
        lines += [f"  {line}" for line in _dot_nodes(other, f"m{count}_", edge)]
        lines.append("  }")
    return "\n".join([*lines, "}"])


def _dot_nodes(tree: TreeItem, prefix: str, edge: str) -> Iterator[str]:
    """Yield the nodes and edges of a tree. `edge`: an edge from a node, {0}, to its parent, {1}."""
    for number, node, parent in _numbered(tree):
        label = "\\n".join(_escaped(printable(part)) for part in (node.name, *node.details))
        yield f'  {prefix}{number} [label="{label}"];'
        if parent is not None:
            yield f"  {edge.format(f'{prefix}{number}', f'{prefix}{parent}')}"


def as_mermaid(
    tree: TreeItem, *, downwards: bool = False, beside: Sequence[tuple[str, TreeItem]] = ()
) -> str:  # fmt: skip
    """Return the tree as a Mermaid diagram, for Markdown. Rows flow upwards, or from the root downwards. `beside`:
    trees with titles that are drawn in frames, in which rows always flow downwards."""
    lines = [f"flowchart {'TB' if downwards else 'BT'}", *_mermaid_nodes(tree, "n", downwards=downwards)]
    for count, (title, other) in enumerate(beside):
        lines += [f'  subgraph mesh{count}["{_in_mermaid(title)}"]', "    direction TB"]
        lines += [f"  {line}" for line in _mermaid_nodes(other, f"m{count}_", downwards=True)]
        lines.append("  end")
    return "\n".join(lines)


def _mermaid_nodes(tree: TreeItem, prefix: str, *, downwards: bool) -> list[str]:
    """Return the nodes of a tree, then the edges."""
    nodes, edges = [], []
    for number, node, parent in _numbered(tree):
        label = "<br/>".join(map(_in_mermaid, (node.name, *node.details)))
        nodes.append(f'  {prefix}{number}["{label}"]')
        if parent is not None:
            ends = (parent, number) if downwards else (number, parent)
            edges.append(f"  {prefix}{ends[0]} --> {prefix}{ends[1]}")
    return [*nodes, *edges]


def _numbered(tree: TreeItem) -> Iterator[tuple[int, TreeItem, int | None]]:
    """Yield each node with its number and the number of its parent."""
    waiting: list[tuple[TreeItem, int | None]] = [(tree, None)]
    number = 0
    while waiting:
        node, parent = waiting.pop()
        yield number, node, parent
        waiting.extend((child, number) for child in reversed(node.inputs))
        number += 1


def _escaped(text: str) -> str:
    # Graphviz replaces entities of HTML in labels
    return text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')


def _in_mermaid(text: str) -> str:
    # Mermaid replaces codes such as #35; in labels, reads backticks and stars as Markdown, and %%{...}%% as settings
    plain = printable(text).replace("#", "#35;").replace("`", "#96;").replace("*", "#42;").replace("%%", "%#37;")
    return escaped(plain).replace("&#x27;", "'")
