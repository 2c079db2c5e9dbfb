"""The slices of a virtual stream, with their rows and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.adapt.virtual_stream import VirtualStream
from thalweg.kernels import SliceResult
from thalweg.kernels.columns import Columns


@dataclass(frozen=True)
class Slice:
    """One slice that was run, trials included."""

    rows: int
    begun_ns: int
    ns: int


def watch_slices(stream: VirtualStream) -> list[Slice]:
    """Return a list that is filled while the stream runs."""
    run, log = stream.loop.chain.run, list[Slice]()

    def watched(columns: Columns, order: Sequence[int]) -> SliceResult:
        begun = stream.now_ns
        done = run(columns, order)
        log.append(Slice(len(done.dropped_at), begun, stream.now_ns - begun))
        return done

    stream.loop.chain.run = watched  # type: ignore[method-assign]
    return log
