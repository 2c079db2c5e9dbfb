"""The decorator of functions that numba compiles, with a cache on disk that is a convenience and never a condition.

Numba's own cache ends a query if no folder can be written to (a read-only image, a user without a home), if a file of
it is damaged, or if the disk is full. With this one, such functions are compiled in each process that needs them, with
one warning. A cache that can be read but not written to is read. Damaged files are found by a checksum, removed and
written again, because damaged machine code could end the process or give wrong rows.
"""

from __future__ import annotations

import inspect
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from typing import Any, Literal

import numba
from numba.core import caching, config, serialize

from thalweg.errors import PlanError, warn_user

Loop = Callable[..., Any]


class _Damaged(Exception):  # noqa: N818 - never leaves this module
    """Raised for a file of the cache that is not as it was written."""


def _locator(name: str) -> Any:
    """Return a class of numba that finds a folder. In early versions these names begin with an underscore."""
    return getattr(caching, name, None) or getattr(caching, f"_{name}")


class _ReadOnly(_locator("InTreeCacheLocator")):  # type: ignore[misc]
    """A folder that is only read: `NUMBA_CACHE_DIR`, or the package's own."""

    def __init__(self, loop: Loop, file: str) -> None:
        super().__init__(loop, file)
        if config.CACHE_DIR:  # type: ignore[attr-defined]
            self._cache_path = _locator("UserProvidedCacheLocator")(loop, file).get_cache_path()

    def ensure_cache_path(self) -> None:
        """Accept the folder as it is."""


def _folders() -> list[Any]:
    """Return numba's choice of folders, and after them the one that is only read."""
    known = list(caching.CacheImpl._locator_classes)
    if os.path.expanduser("~") == "~" and "XDG_CACHE_HOME" not in os.environ:
        known.remove(_locator("UserWideCacheLocator"))  # it would make a folder "~" in the working directory
    return [*known, _ReadOnly]


class _Checked(caching.CompileResultCacheImpl):
    """Functions with a checksum."""

    _locator_classes = _folders()

    def reduce(self, made: Any) -> tuple[bytes, bytes]:
        """Return a compiled function as bytes, with their checksum."""
        data = serialize.dumps(super().reduce(made))
        return sha256(data).digest(), data

    def rebuild(self, context: Any, stored: tuple[bytes, bytes]) -> Any:
        """Return the function that was stored."""
        checksum, data = stored
        if sha256(data).digest() != checksum:
            raise _Damaged
        return super().rebuild(context, pickle.loads(data))


class _Cache(caching.FunctionCache):
    """A cache that loads what can be loaded and stores what can be stored."""

    _impl_class = _Checked

    def load_overload(self, types: Any, context: Any) -> Any:
        """Return the function compiled for these types; None if there is none, or none that can be read."""
        try:
            found = super().load_overload(types, context)
            if found is not None and found.signature.args != tuple(types):
                raise _Damaged  # the file of other types
            return found
        except OSError:
            return None
        except Exception:  # what pickle makes of damaged bytes can raise any error
            self._remove_damaged_index()  # damaged code is overwritten when it has been compiled
            return None

    def _remove_damaged_index(self) -> None:
        try:
            self._cache_file._load_index()
        except Exception:
            with suppress(OSError):
                os.remove(self._cache_file._index_path)

    def save_overload(self, types: Any, made: Any) -> None:
        """Store a compiled function."""
        try:
            super().save_overload(types, made)
        except Exception as error:
            _warn(self.cache_path, getattr(error, "strerror", None) or str(error))


@cache
def _warn(folder: str, reason: str) -> None:
    warn_user(
        f"compiled functions cannot be cached in {folder} ({reason}), so every process compiles them again, which "
        "takes up to a minute; set NUMBA_CACHE_DIR to a folder that can be written to and has a few MB of free space"
    )


def compiled(inline: Literal["never", "always"] = "never") -> Callable[[Loop], Any]:
    """Return a decorator that has numba compile a function at its first call, or load it from the cache."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        raise PlanError(
            "NUMBA_DISABLE_JIT is set, but joins and some SQL functions run only when numba compiles them; unset it"
        )

    def decorate(loop: Loop) -> Any:
        made = numba.njit(inline=inline)(loop)
        try:
            made._cache = _Cache(loop)  # type: ignore[attr-defined]
        except (RuntimeError, OSError) as error:  # no folder: NUMBA_CACHE_LOCATOR_CLASSES, or a file in an archive
            _warn(os.path.dirname(inspect.getfile(loop)), str(error))
        return made

    return decorate
