"""The texts that log lines are made of. All of them are invented; addresses are from the ranges for documentation.

A template is a text with slots. `{time}`, `{ip}`, `{size}`, `{agent}` and `{user}` are values of the row; the others
are drawn from `POOLS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

SERVICES = ("web", "auth", "database", "payment", "batch")

POOLS: Mapping[str, Sequence[str]] = {
    "host": [f"{place}-{n}" for place in ("fra", "osl", "yyz") for n in range(1, 9)],
    "n": [str(n) for n in range(1, 10_000)],
    "ms": [f"{n / 10:.1f}" for n in range(3, 9_000, 7)],
    "hex": [f"{n * 2_654_435_761 % 2**32:08x}" for n in range(1, 4_096)],
    "verb": ["GET", "GET", "GET", "HEAD", "POST", "PUT"],
    "path": [
        *(f"/shop/{kind}/{n}" for kind in ("lamps", "chairs", "kettles", "maps") for n in range(1, 60)),
        "/", "/basket", "/basket/checkout", "/search?q=brass+lamp", "/search?q=river+map", "/account/orders",
        "/static/app.css", "/static/app.js", "/health",
    ],
    "probe": [
        "/old/admin.php?cmd=id", "/../../../etc/passwd", "/.env", "/wp-login.php", "/search?q=1+union+select+secret",
        "/api/v1/users?id=1%20or%201=1", "/backup.tar.gz", "/basket/checkout?coupon=%3Cscript%3E",
    ],
    "ok": ["200", "200", "200", "200", "204", "301", "304"],
    "wrong": ["500", "502", "503", "504"],
    "denied": ["401", "403", "404", "429"],
    "table": ["orders", "baskets", "stock", "customers", "prices", "shipments"],
    "job": ["nightly-invoices", "stock-sync", "price-import", "mail-digest", "thumbnail-maker", "index-rebuild"],
    "key": ["ED25519", "RSA", "ECDSA"],
    "cause": [
        "deadlock detected", "could not serialize access", "statement timed out", "too many connections",
        "duplicate key value",
    ],
    "bank": ["issuer said no", "gateway timed out", "card reported stolen", "limit exceeded", "signature mismatch"],
    "trouble": ["out of memory", "no space left", "upstream refused", "checksum mismatch", "lock held by another run"],
}  # fmt: skip

FINE: Mapping[str, Sequence[str]] = {
    "web": [
        '{time} {host} web: {ip} - {user} "{verb} {path} HTTP/1.1" {ok} {size} {ms}ms "{agent}"',
        '{time} {host} web: {ip} - - "GET {path} HTTP/2" {ok} {size} {ms}ms ref="/basket" "{agent}"',
        '{time} {host} web: {ip} - - "GET {probe} HTTP/1.1" {denied} {size} {ms}ms "{agent}"',
    ],
    "auth": [
        "{time} {host} auth[{n}]: Accepted publickey for {user} from {ip} port {n} ssh2: {key} SHA256:{hex}{hex}",
        "{time} {host} auth[{n}]: session opened for user {user} from {ip} (client {agent}), {size} bytes of motd",
        "{time} {host} auth[{n}]: token {hex} renewed for {user} at {ip}, valid for {n} s, client {agent}",
    ],
    "database": [
        "{time} {host} db[{n}]: LOG duration: {ms} ms select * from {table} where id = {n} ({size} bytes to {ip})",
        "{time} {host} db[{n}]: LOG checkpoint complete: wrote {n} buffers of {table}; asked for by {ip}",
        "{time} {host} db[{n}]: LOG automatic vacuum of {table}: {n} dead rows removed, {size} bytes given back",
    ],
    "payment": [
        "{time} {host} pay: INFO order {hex} of {user} authorised in {ms} ms via {ip}, receipt {n}, client {agent}",
        "{time} {host} pay: INFO order {hex} captured, {size} bytes to the ledger, from {ip}, client {agent}",
        "{time} {host} pay: WARN order {hex} of {user}: second factor asked for, from {ip}, client {agent}",
    ],
    "batch": [
        "{time} {host} batch/{job}: INFO step {n} done in {ms} ms, {size} bytes read from {ip}",
        "{time} {host} batch/{job}: INFO {n} records written, {n} unchanged, worker {ip}",
        "{time} {host} batch/{job}: DEBUG heartbeat {hex} from worker {ip}, queue {n}",
    ],
}

FAILED: Mapping[str, Sequence[str]] = {
    "web": [
        '{time} {host} web: {ip} - {user} "{verb} {path} HTTP/1.1" {wrong} {size} {ms}ms upstream refused "{agent}"',
        '{time} {host} web: {ip} - - "POST {probe} HTTP/1.1" {wrong} {size} {ms}ms "{agent}"',
    ],
    "auth": [
        "{time} {host} auth[{n}]: Failed password for invalid user {user} from {ip} port {n} ssh2, client {agent}",
        "{time} {host} auth[{n}]: access denied for {user} from {ip}: attempt {n}, token {hex} revoked, client {agent}",
    ],
    "database": [
        "{time} {host} db[{n}]: ERROR {cause}: update {table} set touched = {n} where id = {n} (client {ip})",
        "{time} {host} db[{n}]: FATAL {cause}, connection {hex} of {ip} closed after {size} bytes",
    ],
    "payment": [
        "{time} {host} pay: ERROR order {hex} of {user}: {bank}, from {ip}, retry {n}, client {agent}",
        "{time} {host} pay: ERROR chargeback on order {hex} of {user}, {bank}, from {ip}, client {agent}",
    ],
    "batch": [
        "{time} {host} batch/{job}: ERROR step {n} failed after {ms} ms: {trouble}, worker {ip}",
        "{time} {host} batch/{job}: ERROR giving up after {n} attempts: {trouble}, {size} bytes lost, worker {ip}",
    ],
}

USERS = [f"{a}{b}{n}" for a in ("an", "bo", "cle", "da", "el") for b in ("na", "ri", "mo", "to") for n in range(1, 40)]

PEOPLE = [
    f"{browser}/{major}.0 ({system}) {engine}/{build}"
    for browser, engine in (("Lantern", "Wick"), ("Fjordview", "Keel"), ("Marble", "Slate"))
    for major in (17, 18, 19)
    for system in ("Linux x86_64", "Macintosh; arm64", "Windows NT 10.0; Win64", "Android 16; Mobile")
    for build in (604, 537)
]

BOTS = [
    "LinkBeetle-Crawler/2.1 (+about-us)", "pricespider 4.0", "scrapekit/0.9 python-requests", "curl/8.9.1",
    "HeadlessLantern/19.0 (Linux x86_64)", "uptime-monitor/3", "seo-bot/1.4 (compatible)", "mass-scanner/7",
]  # fmt: skip

INSIDE = [f"10.{a}.{b}.{c}" for a in (4, 20) for b in (0, 7) for c in range(2, 200)]
OUTSIDE = [f"{net}.{n}" for net in ("192.0.2", "198.51.100", "203.0.113") for n in range(1, 255)]
