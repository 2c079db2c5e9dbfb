"""The settings in the configuration of a Spark session."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def session_settings(spark: Any) -> Mapping[str, str]:
    """Return what is set under names that start with `spark.thalweg.`, in any case; nothing if there is no session.

    Classic Spark is asked for all names in one call, because one call per name would take tens of milliseconds. With
    Spark Connect the whole configuration is fetched at once: every lookup is a call to the server. pyspark is not
    imported."""
    if spark is None:
        return {}
    if not hasattr(spark.conf, "_jconf"):
        everything: Mapping[str, str] = spark.conf.getAll
        return {name: value for name, value in everything.items() if name.lower().startswith("spark.thalweg.")}
    text = spark.conf._jconf.getAllAsJava().keySet().toString()
    found = {name: spark.conf.get(name, None) for name in re.findall(r"(?i)\bspark\.thalweg\.[^\s,\]]+", text)}
    return {name: value for name, value in found.items() if value is not None}
