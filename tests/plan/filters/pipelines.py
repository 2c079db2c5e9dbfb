"""Random pipelines: names, guards without cycles, and which filters may be profiled."""

from __future__ import annotations

from hypothesis import strategies as st

from thalweg.plan import Pipeline


@st.composite
def pipelines(draw: st.DrawFn, least: int = 1, most: int = 6, guarded: bool = True, hidden: bool = True) -> Pipeline:
    """Draw pipelines. Guards point backwards along a hidden permutation, so that they may be written in any order."""
    n = draw(st.integers(least, most))
    hidden_order = draw(st.permutations(range(n)))
    guards: list[tuple[int, ...]] = [()] * n
    if guarded and draw(st.booleans()):
        for place, k in enumerate(hidden_order):
            if place and draw(st.integers(0, 2)) == 0:
                guards[k] = tuple(draw(st.sets(st.sampled_from(hidden_order[:place]), min_size=1, max_size=2)))
    profiled = [True] * n
    if hidden and draw(st.booleans()):
        profiled = [draw(st.integers(0, 3)) > 0 for _ in range(n)]
    return Pipeline(tuple(f"f{k}" for k in range(n)), tuple(guards), tuple(profiled))


def valid_orders(pipeline: Pipeline) -> st.SearchStrategy[tuple[int, ...]]:
    """Draw orders in which every guard comes first."""

    @st.composite
    def build(draw: st.DrawFn) -> tuple[int, ...]:
        order: list[int] = []
        left = list(range(len(pipeline)))
        while left:
            ready = [k for k in left if all(g in order for g in pipeline.guards[k])]
            order.append(draw(st.sampled_from(ready)))
            left.remove(order[-1])
        return tuple(order)

    return build()
