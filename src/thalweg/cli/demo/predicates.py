"""The predicates of the demo, which find suspicious requests: eight predicates, in an order a person might write.

They are functions of a module, so that Spark's workers import them by name. Row functions get one value, vectorized
functions get an Arrow array. Both sides run `PREDICATES`: Thalweg as they are, plain Spark as chained UDFs.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thalweg.given_predicate import predicate
from thalweg.plan import Predicate

FAILURE = re.compile(r"\b(?:ERROR|FATAL|Failed|denied|timed out)\b|HTTP/\d(?:\.\d)?\" 5\d\d ")
ROBOT = re.compile(r"[Cc]rawler|spider|scrape|curl/|Headless|monitor|bot/|scanner")
OUR_NETWORKS = (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("172.16.0.0/12"))
WORD = re.compile(r"[a-zA-Z]{3,}")

LARGE_AMOUNT = 40.0
LARGE_BYTES = 4_096
LOOK_UP_ROUNDS = 12
"""The number of hash rounds that simulate a paid service. They take microseconds; a real one takes milliseconds."""


def failed(line: str) -> bool:
    """Whether the line reports a failure."""
    return FAILURE.search(line) is not None


@cache
def word_scores() -> Mapping[str, float]:
    """Return how alarming each word is. In a real application, this is a model that is loaded once per worker."""
    alarming = {
        "passwd": 3.0, "script": 3.0, "union": 2.5, "cmd": 2.0, "env": 2.0, "admin": 1.5, "invalid": 1.5,
        "stolen": 3.0, "chargeback": 2.5, "revoked": 2.0, "mismatch": 1.5, "refused": 1.2, "retry": 0.8,
        "attempt": 0.8, "checkout": 0.7, "second": 0.6, "factor": 0.6, "password": 0.6, "user": 0.4, "order": 0.5,
        "account": 0.5, "token": 0.5, "basket": 0.4, "search": 0.3, "port": 0.3,
    }  # fmt: skip
    soothing = {"static": -1.0, "css": -0.5, "health": -1.5, "checkpoint": -1.0, "vacuum": -1.0, "heartbeat": -1.0}
    return alarming | soothing


def alarming_words(scores: Mapping[str, float], line: str) -> bool:
    """Whether the words of the line are alarming in total."""
    score = scores.get
    return sum(score(word, 0.0) for word in WORD.findall(line.lower())) >= 0.8


def bad_reputation(ip: str) -> bool:
    """Whether the address has a bad reputation: a simulated paid look-up, never to be called only for profiling."""
    answer = ip.encode()
    for _ in range(LOOK_UP_ROUNDS):
        answer = hashlib.sha256(answer).digest()
    return answer[0] < 90


def from_outside(ip: str) -> bool:
    """Whether the address is outside our networks."""
    address = ipaddress.ip_address(ip)
    return not any(address in network for network in OUR_NETWORKS)


def not_a_robot(line: str) -> bool:
    """Whether the user agent is not a bot."""
    return ROBOT.search(line) is None


def has_payload(payload: Any) -> Any:
    """Whether there is a payload (vectorized)."""
    return pc.is_valid(payload)


def large_amount(payload: str) -> bool:
    """Whether the amount in the payload is large. The payload must not be null."""
    amount: float = json.loads(payload)["amount"]
    return amount >= LARGE_AMOUNT


def large_response(size: Any) -> Any:
    """Whether the response is large (vectorized)."""
    return pc.greater_equal(size, pa.scalar(LARGE_BYTES, pa.int64()))


PREDICATES: tuple[Predicate, ...] = (
    predicate(failed, "line"),
    predicate(alarming_words, "line", setup=word_scores),
    predicate(bad_reputation, "ip", profile=False),
    predicate(from_outside, "ip"),
    predicate(not_a_robot, "line"),
    predicate(has_payload, "payload", vectorized=True),
    predicate(large_amount, "payload", after="has_payload"),
    predicate(large_response, "size", vectorized=True),
)

PAID = "bad_reputation"
"""The predicate that would cost money for each evaluation."""
