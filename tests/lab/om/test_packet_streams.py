"""The streams of the OM experiments: how they are extracted, counted and joined, against plain Python."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from thalweg.lab.om import multi_stream, single_stream
from thalweg.lab.om.extract import busiest, per_second, streams
from thalweg.lab.om.packet_streams import SECONDS, Stream, packets, urnd

SMALL = Stream({"host": np.array([3, 1, 1, 2, 0], np.uint16), "is_in": np.array([1, 0, 0, 1, 1], bool)},
               np.array([2, 0, 4]))  # fmt: skip


def test_rows_are_repeated_when_all_have_arrived() -> None:
    assert SMALL.rows.tolist() == [0, 1, 2, 3, 4, 0]
    assert SMALL.seconds.tolist() == [0, 0, 2, 2, 2, 2]
    assert SMALL.share("is_in").tolist() == [0.5, 0.0, 0.75]
    assert SMALL.hosts("host", 4).tolist() == [[0, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]]


def test_side_by_side_each_second_has_rows_of_that_second() -> None:
    for stream in packets().values():
        aligned = stream.side_by_side()
        assert aligned.counts.tolist() == stream.counts.tolist()
        seconds = stream.columns["second"]
        for second in (0, 321, 599, 600, 921):
            rows = aligned.rows[aligned.seconds == second]
            expected = [row for row, of in enumerate(seconds.tolist()) if of >= second % 600][: len(rows)]
            assert rows.tolist()[: len(expected)] == expected
            assert rows.tolist()[len(expected) :] == list(range(len(rows) - len(expected)))


def test_the_variation_is_the_one_asked_for() -> None:
    for stream in packets().values():
        for variation in (0.26, 0.09):
            made = stream.with_variation(variation)
            assert made.variation == pytest.approx(variation, rel=0.05)
            assert made.counts.mean() == pytest.approx(stream.counts.mean(), rel=0.02)


def test_the_packets_are_those_of_the_description() -> None:
    found = packets()
    assert {name: len(stream.columns["src"]) for name, stream in found.items() if name != "sf"} == {
        "tcp": 180_231, "udp": 40_042,
    }  # fmt: skip
    assert [round(found[name].counts.mean()) for name in ("tcp", "udp")] == [351, 210]
    assert all(len(stream.counts) == SECONDS for stream in found.values())


def test_sf_arrive_with_their_tcp_packets() -> None:
    tcp, sf = packets()["tcp"], packets()["sf"]
    for second in (0, 17, 600, 1199):
        among = tcp.rows[tcp.seconds == second]
        expected = tcp.columns["dst"][among[tcp.columns["is_sf"][among]]]
        assert sf.columns["dst"][sf.rows[sf.seconds == second]].tolist() == expected.tolist()
        assert sf.counts[second] == len(expected)


def test_random_rows_have_steady_rates_and_even_hosts() -> None:
    made = urnd()
    assert all(0.03 < stream.variation < 0.06 for stream in made.values())
    counted = np.bincount(made["tcp"].columns["src"])
    assert len(counted) == 1_871
    assert counted.min() > 0.6 * counted.mean()


def test_selectivities_against_nested_loops() -> None:
    rng = np.random.default_rng(3)
    small = {
        name: Stream({side: rng.integers(0, 5, 40).astype(np.uint16) for side in ("src", "dst")}, counts)
        for name, counts in zip(multi_stream.STREAMS, rng.integers(1, 9, (3, 6)), strict=True)
    }
    small["sf"].counts[4] = 0
    found = multi_stream.observed(small, ("src", "dst", "src"))
    for second, values in enumerate(found):
        rows = {
            name: stream.columns[side][stream.rows[stream.seconds == second]].tolist()
            for (name, stream), side in zip(small.items(), ("src", "dst", "src"), strict=True)
        }
        assert [values[name] for name in rows] == [len(hosts) for hosts in rows.values()]
        for joined in ("tcp udp", "tcp sf", "udp sf", "tcp udp sf"):
            pairs = list(product(*(rows[name] for name in joined.split())))
            expected = sum(len(set(hosts)) == 1 for hosts in pairs) / len(pairs) if pairs else found[second - 1][joined]
            assert values[joined] == pytest.approx(expected)


def test_the_selectivity_of_q1_and_where_its_plans_change() -> None:
    query = single_stream.single_stream()
    limit = single_stream.boundary(500.0, query)
    assert limit == pytest.approx(1 / 3, abs=0.002)
    for sel, plan in ((limit - 0.001, single_stream.SELECT_FIRST), (limit + 0.001, single_stream.PROJECT_FIRST)):
        assert query.best({"sel": sel, "rate": 500.0}) == plan
    assert single_stream.boundary(500.0, single_stream.single_stream(None)) == pytest.approx(1.0)
    seen = single_stream.observed(Stream({"to_gateway": SMALL.columns["is_in"]}, SMALL.counts))
    assert seen == [{"sel": 0.5, "rate": 2.0}, {"sel": 0.0, "rate": 0.0}, {"sel": 0.75, "rate": 4.0}]


def test_without_results_the_pair_with_fewer_matches_is_first() -> None:
    rates = dict.fromkeys(multi_stream.STREAMS, 100.0)
    even = dict.fromkeys(multi_stream.JOINED, 0.01) | {"tcp udp sf": 0.0}
    for plan, pair in zip(multi_stream.PLANS, multi_stream.JOINED, strict=False):
        assert multi_stream.multi_stream().best({**rates, **even, pair: 0.005}) == plan


def test_extracting_orders_counts_and_numbers() -> None:
    packets_of = {
        "capture": ["a", "a", "a", "b"], "src": ["x", "y", "x", "z"], "dst": ["y", "x", "w", "x"],
        "proto": [6, 6, 17, 6], "tcp_flags": [2, 16, None, 17], "rel_us": [0, 2_000_000, 1_000_000, 0],
    }  # fmt: skip
    tcp, udp = streams(pa.table({name: pa.array(values) for name, values in packets_of.items()}))
    assert (tcp.num_rows, udp.num_rows) == (3, 1)
    assert tcp["second"].to_pylist() == sorted(tcp["second"].to_pylist())
    by_flags = [(row["to_gateway"], row["is_sf"]) for row in tcp.to_pylist()]
    assert sorted(by_flags) == [(False, True), (True, False), (True, True)]  # of equally busy hosts, the first
    assert busiest(np.array([0, 0, 1]), np.array([5, 5, 7], np.uint16), np.array([6, 5, 7], np.uint16), 2).tolist() == [
        5, 7,
    ]  # fmt: skip
    assert per_second(np.array([0.5, 0.6, 2.0]))[:4].tolist() == [1, 1, 0, 1]
