"""How Java runs in tests, where it rarely lives for minutes: no time for the second compiler, and for threads of
garbage collection, to pay off; on two cores they take theirs from what is tested."""

from __future__ import annotations

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
