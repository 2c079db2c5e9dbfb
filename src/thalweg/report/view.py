"""The base class of explanations, reports, meshes and charts: printed, shown by notebooks, and saved to files.

>>> class Note(View):
...     def __str__(self):
...         return "1 < 2"
...     def _repr_html_(self):
...         return "<p>1 &lt; 2</p>"
...     def _title(self):
...         return "A note"
>>> Note()
1 < 2
>>> Note().save("note.png")
Traceback (most recent call last):
thalweg.errors.PlanError: save('note.png'): the name ends with '.png', which is not a known format; use .txt or .html
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from thalweg.draw.html import page
from thalweg.errors import PlanError, nearest
from thalweg.formatting import listed
from thalweg.given_path import given_path


class Form(NamedTuple):
    """A form in which a view is saved."""

    text: Callable[[], str]
    """Returns the text of the file. It raises a `PlanError` if there is nothing to save in this form."""
    about: str = ""
    """A few words that an error adds to the suffix, such as "Graphviz"."""


class View:
    """Something to look at: print it, leave it as the last line of a notebook cell, or save it."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return it as text."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Return it as HTML for a notebook, and for the body of a page."""
        raise NotImplementedError

    def _title(self) -> str:
        """Return the title of its page."""
        raise NotImplementedError

    def _forms(self) -> Mapping[str, Form]:
        """Return the forms in which it can be saved, by suffix."""
        return {".txt": Form(self.__str__), ".html": Form(self._page)}

    def __repr__(self) -> str:
        return str(self)

    def _page(self) -> str:
        """Return it as a complete HTML page."""
        return page(self._title(), self._repr_html_())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file. An existing file is replaced.

        Parameters
        ----------
        path
            Its suffix sets the format. Everything has ``.txt`` (text) and ``.html`` (a page for browsers). Further
            formats are, of an explanation, ``.svg`` (the curves of the plans that were compared), ``.dot`` (the plan
            that runs, for Graphviz) and ``.mmd`` (the plan that runs, for Mermaid); of a mesh, ``.dot`` and ``.mmd``;
            of a chart, ``.svg`` (a picture).

        Raises
        ------
        PlanError
            If it has no format of this suffix, if it is the ``.svg`` of an explanation and no plans were compared over
            time, or if the file cannot be written.

        Examples
        --------
        >>> import pathlib, tempfile, thalweg as tw
        >>> explanation = tw.filters(tw.predicate(str.isdigit, "code")).explain()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     explanation.save(f"{folder}/plan.txt")
        ...     print(pathlib.Path(folder, "plan.txt").read_text().splitlines()[0])
        Plan
        """
        file, call, forms = Path(given_path(path)), f"save({os.fspath(path)!r})", self._forms()
        if (form := forms.get(file.suffix.lower())) is None:
            has = f"ends with {file.suffix!r}" if file.suffix else "has no suffix"
            use = [f"{suffix} ({each.about})" if each.about else suffix for suffix, each in forms.items()]
            raise PlanError(
                f"{call}: the name {has}, which is not a known format{nearest(file.suffix, forms)}; "
                f"use {listed(use, 'or')}"
            )
        try:
            text = form.text()
        except PlanError as error:
            raise error.within(call) from None
        try:
            # names may contain lone surrogates, which UTF-8 cannot encode
            file.write_text(text.rstrip("\n") + "\n", "utf-8", errors="backslashreplace", newline="\n")
        except (OSError, ValueError) as error:
            raise PlanError(f"{call}: {_why(file, error)}") from None


def _why(file: Path, error: OSError | ValueError) -> str:
    """Return what is wrong with a path, and what to do."""
    if isinstance(error, FileNotFoundError):
        return f"there is no folder {str(file.parent)!r}; create it first"
    if isinstance(error, IsADirectoryError):
        return "this is a folder; give the name of a file in it"
    return f"the file cannot be written: {error.strerror if isinstance(error, OSError) else error}"
