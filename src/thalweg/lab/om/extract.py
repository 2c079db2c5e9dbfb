"""Makes the files of `trace/`, which the experiments read, from the two data sets that they come from.

Run `python -m thalweg.lab.om.extract DIR` with the folder that has `packets_ndpi` and `arrivals_ita`. The data sets and
their licenses are described in `trace/README.md`. Everything here but the column `second` was fixed before any
experiment was run.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from thalweg.lab.om.packet_streams import LENGTH, SECONDS, TRACE

TCP, UDP = 6, 17
SYN_FIN_RST = 0x07
PACES = {"bc_paug89": "BCAUG89", "dec_pkt_1_udp": "DEC-PKT-1-UDP"}


def extract(source: Path, target: Path) -> None:
    """Write `tcp.parquet`, `udp.parquet` and `arrivals.parquet`."""
    packets = pq.read_table(source / "packets_ndpi" / "packets.parquet")
    arrivals = {
        name: per_second(pq.read_table(source / "arrivals_ita" / f"{file}.parquet")["interarrival"].to_numpy())
        for name, file in PACES.items()
    }
    tcp, udp = streams(packets)
    for name, table in (("tcp", tcp), ("udp", udp), ("arrivals", pa.table(arrivals))):
        pq.write_table(
            table, target / f"{name}.parquet", compression="zstd", compression_level=19, write_statistics=False
        )


def per_second(gaps: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Return how many rows arrive in each of the first seconds.

    >>> per_second(np.array([0.4, 0.5, 0.3]))[:3].tolist()
    [2, 1, 0]
    """
    seconds = np.floor(np.cumsum(gaps)).astype(np.int64)
    return np.bincount(seconds[seconds < SECONDS], minlength=SECONDS).astype(np.uint16)


def streams(packets: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return the TCP and the UDP packets in the order in which they arrive, with numbers instead of addresses."""
    captures = packets["capture"].combine_chunks().dictionary_encode()
    capture = captures.indices.to_numpy()
    hosts = pa.concat_arrays([packets[side].combine_chunks() for side in ("src", "dst")]).dictionary_encode()
    src, dst = np.split(hosts.indices.to_numpy().astype(np.uint16), 2)
    protocol = packets["proto"].to_numpy()
    starts = np.random.default_rng(0).uniform(0.0, LENGTH, len(captures.dictionary))
    times = (starts[capture] + packets["rel_us"].to_numpy() / 1e6) % LENGTH
    order = np.argsort(times, kind="stable")
    tcp, udp = (order[protocol[order] == number] for number in (TCP, UDP))
    flags = packets["tcp_flags"].fill_null(0).to_numpy()
    gateway = busiest(capture[tcp], src[tcp], dst[tcp], len(captures.dictionary))
    return (
        pa.table({
            "src": src[tcp], "dst": dst[tcp],
            "to_gateway": dst[tcp] == gateway[capture[tcp]],
            "is_sf": (flags[tcp] & SYN_FIN_RST) > 0,
            "second": times[tcp].astype(np.uint16),
        }),
        pa.table({"src": src[udp], "dst": dst[udp], "second": times[udp].astype(np.uint16)}),
    )  # fmt: skip


def busiest(
    capture: NDArray[np.int32], src: NDArray[np.uint16], dst: NDArray[np.uint16], captures: int
) -> NDArray[np.int64]:
    """Return the host of each capture that sends or receives the most packets, the first if there are several."""
    found = np.full(captures, -1, np.int64)
    for number in np.unique(capture):
        here = capture == number
        found[number] = np.argmax(np.bincount(np.concatenate([src[here], dst[here]])))
    return found


if __name__ == "__main__":
    extract(Path(sys.argv[1]), TRACE)
