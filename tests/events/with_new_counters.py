"""The package with new counters: fields that only this program adds to parts, and loops that count in them.

Run as a program, because the classes must be there before anything imports them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

NEW = {
    "class ChainCounts(Counts):": "slices: int = total()\n    longest_slice: int = largest()",
    "class StreamCounts(Counts):": "odd: int = total()\n    longest_batch: int = largest()",
    "class MatchCounts(Counts):": 'halves: list[int] = total(by="others")',
}
"""The fields that are added, by class."""


class WithNewFields(SourceFileLoader):
    """Loads the parts with the new fields, after those that they have."""

    def get_code(self, fullname: str) -> CodeType:
        text = Path(self.path).read_text()
        for begin, lines in NEW.items():
            first = text.index(begin)
            ends = (text.find(word, first) for word in ("\n\n    def ", "\n\n    @", "\n\n\n"))
            place = min(at for at in ends if at > 0)
            text = f"{text[:place]}\n    {lines}{text[place:]}"
        return compile(text, self.path, "exec")


class Finder(PathFinder):
    """Finds these parts instead of those of the package."""

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = super().find_spec(fullname, path, target) if fullname == "thalweg.events.parts" else None
        if spec is not None and spec.origin is not None:
            spec.loader = WithNewFields(fullname, spec.origin)
        return spec


def main(folder: Path) -> None:
    sys.meta_path.insert(0, Finder)
    import pyarrow as pa

    import thalweg as tw
    from tests.runtime.joins.test_join_record import loop_that_worked
    from thalweg.errors import ThalwegError
    from thalweg.events import JoinObserved, Origin, from_json, read, to_json
    from thalweg.report import JoinTally, fold
    from thalweg.runtime.filters.loop_ledger import LoopLedger
    from thalweg.runtime.joins.join_intake import JoinIntake
    from thalweg.runtime.joins.join_loop import JoinLoop
    from thalweg.runtime.joins.join_record import decode, encode, take_counters

    count, in_time, process = LoopLedger.count, JoinIntake.in_time, JoinLoop.process

    def counted(self: Any, done: Any, rows: int, *more: Any, **named: Any) -> None:
        self.work.chain.slices += rows
        self.work.chain.longest_slice = max(self.work.chain.longest_slice, rows)
        count(self, done, rows, *more, **named)

    def entered(self: Any, alias: str, batch: Any) -> Any:
        self.counts[alias].stream.odd += batch.num_rows
        return in_time(self, alias, batch)

    def processed(self: Any, alias: str, batch: Any) -> Iterator[Any]:
        self.counts[alias].matches.halves[0] += batch.num_rows // 2
        return process(self, alias, batch)

    LoopLedger.count, JoinIntake.in_time, JoinLoop.process = counted, entered, processed  # type: ignore[method-assign]
    told: dict[str, Any] = {}

    keep = tw.filters(tw.predicate(str.isdigit, "code"), slice_rows=700, events=folder / "filters.jsonl")
    codes = ["7", "x7", "8"] * 1_000
    list(keep.over(pa.table({"code": codes})))
    shown = keep.report().to_dict()["sections"][0]
    again = fold(read(folder / "filters.jsonl")).to_dict()["sections"][0]
    told["filters"] = {
        "counted": shown["slices"], "read": again["slices"], "longest": shown["longest_slice"],
        "longest read": again["longest_slice"],
    }  # fmt: skip

    rows = pa.table({"k": [n % 50 for n in range(600)], "t": range(600)})
    join = tw.join(on="a.k = b.k AND b.k = c.k", window=10, time="t", events=folder / "join.jsonl", lateness=0)
    list(join.over(a=rows, b=rows, c=rows))
    tally = JoinTally()
    for record in read(folder / "join.jsonl"):
        tally.add(record)
    a, read_a = (report.to_dict()["sections"][0]["streams"]["a"] for report in (join.report(), tally.report()))
    told["join"] = {"counted": a["odd"], "read": read_a["odd"], "others": a["halves"], "others read": read_a["halves"]}

    loop = loop_that_worked()
    rows_in = {alias: counts.stream.rows for alias, counts in loop.counts.items()}
    text = encode(take_counters(loop), worker="bucket 3")
    sent_back = [r for r in decode(text, policy="p", run="r", kind="stream", batch=0) if isinstance(r, JoinObserved)]
    told["as text"] = {r.alias: getattr(r.stream, "odd", None) == rows_in[r.alias] > 0 for r in sent_back}
    assert "odd" not in encode(take_counters(loop), worker="bucket 3"), "it began anew"

    told["wrong"] = []
    for file, part, wrong in (
        ("join", "stream", {"odd": -1}), ("filters", "chain", {"slices": 1.5}), ("join", "matches", {"halves": [1]}),
    ):  # fmt: skip
        lines = map(json.loads, (folder / f"{file}.jsonl").read_text().splitlines())
        line = next(each for each in lines if part in each)
        try:
            from_json(json.dumps({**line, part: line[part] | wrong}))
        except ThalwegError as error:
            told["wrong"].append(str(error).partition("(")[2].partition(")")[0])

    loop_records = [record for record in read(folder / "join.jsonl") if isinstance(record, JoinObserved)]
    one = next(record for record in loop_records if record.alias == "a")

    def report(start: str, batch: int, bucket: int, odd: int) -> JoinObserved:
        origin = Origin(f"q run {start} chain c", "stream", batch, f"bucket {bucket}", "auto", "q", start)
        stream: Any = replace(one.stream, odd=odd, longest_batch=odd)  # type: ignore[call-arg]
        return replace(one, origin=origin, stream=stream)

    tally = JoinTally()
    sent = [report("1", batch, bucket, 1 + batch) for batch in range(2) for bucket in range(2)]
    sent += [report("1", 2, bucket, 4) for bucket in range(2)]
    sent += [report("2", 2, bucket, 9) for bucket in range(2)]
    (folder / "replayed.jsonl").write_text("".join(to_json(record) + "\n" for record in sent))
    for record in sent:
        tally.add(record)
    found = [section["streams"]["a"] for section in tally.report().to_dict()["sections"]]
    from_file = JoinTally()
    for record in read(folder / "replayed.jsonl"):
        from_file.add(record)
    streams = [section["streams"]["a"] for section in from_file.report().to_dict()["sections"]]
    told["replayed"] = {
        "sections": len(found), "odd": [each["odd"] for each in found],
        "longest": [each["longest_batch"] for each in found],
        "again": [(each["odd"], each["longest_batch"]) for each in streams]
        == [(each["odd"], each["longest_batch"]) for each in found],
    }  # fmt: skip
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
