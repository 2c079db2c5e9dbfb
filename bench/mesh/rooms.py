"""`rooms`: readings of the sensors of 45 rooms of one building in one week, one row per room and minute.

The data is real: the rows are in the order of their time, and whether a sensor is above its limit depends on the room.
The file is not part of this repository (479,007 rows, no license). It is looked for as
`smart_building_sdh/rooms_1min.parquet` in the folder of data sets (see `bench/generated/columns.py`).

Four predicates: co2 > 450, humidity < 52, light > 50, temperature > 23. Their outcomes are computed beforehand, and
each takes 1 us.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bench.generated.columns import DEVELOPMENT, data_folder
from bench.scenario import Bits

SET = "smart_building_sdh"
CO2_PPM, HUMIDITY, LIGHT, TEMPERATURE_C = 450.0, 52.0, 50.0, 23.0


def rooms_file() -> Path:
    """Return the path of the data, which need not exist."""
    return data_folder() / SET / DEVELOPMENT[SET]


def rooms() -> tuple[Bits, dict[str, pa.Array], NDArray[np.int64]]:
    """Return the outcomes, the classifier's column, and the class of each row: its room."""
    table = pq.read_table(rooms_file())
    co2, humidity, light, temperature, room = (
        table.column(name).to_numpy() for name in ("co2", "humidity", "light", "temperature", "room")
    )
    passed = np.stack([co2 > CO2_PPM, humidity < HUMIDITY, light > LIGHT, temperature > TEMPERATURE_C], axis=1)
    return passed, {"room": table.column("room").combine_chunks()}, room.astype(np.int64)


def rooms_text() -> tuple[Bits, dict[str, pa.Array], NDArray[np.int64]]:
    """Return the same, with the number of the room as text."""
    passed, columns, room = rooms()
    return passed, {"room": columns["room"].cast(pa.string())}, room
