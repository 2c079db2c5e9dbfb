"""Checks that a file is a valid PNG picture, without a library."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path


def size_of_png(path: Path) -> tuple[int, int]:
    """Return the width and height, after checking that the pixels decompress to this size."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(data) < 60_000
    at, pixels, width, height, channels = 8, b"", 0, 0, 0
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        chunk = data[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + chunk) == struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", chunk[:10])
            assert depth == 8
            channels = {2: 3, 3: 1, 6: 4}[colour]  # 3: one byte per pixel, an index into a palette
        elif kind == b"IDAT":
            pixels += chunk
        at += 12 + length
    shown = zlib.decompress(pixels)
    assert len(shown) == height * (1 + width * channels)
    assert len(set(shown)) > 10  # not one color
    return width, height
