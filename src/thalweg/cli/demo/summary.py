"""The end of the demo: one table, and whether both sides kept the same rows."""

from __future__ import annotations

import shutil

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from thalweg.cli.demo.live_view import PLAIN, THALWEG
from thalweg.cli.demo.predicates import PAID
from thalweg.cli.demo.race import Race
from thalweg.cli.demo.stream_files import FILES
from thalweg.cli.demo.wording import number, percent
from thalweg.errors import ThalwegError


def same_rows(race: Race) -> None:
    """Adapting never changes the answer: anything else is a bug of ours."""
    if race.plain_kept is None or race.plain_kept != race.thalweg_kept:
        raise ThalwegError(
            f"the two sides kept different rows, which is a bug in Thalweg: plain Spark {race.plain_kept}, "
            f"Thalweg {race.thalweg_kept}"
        )


def summary(race: Race) -> Group:
    """Of a race that is over."""
    same_rows(race)
    section, kept = race.chain.section, race.thalweg_kept
    assert section is not None
    assert kept is not None
    plain, ours = race.plain, race.thalweg
    paid = section.evaluated[section.names.index(PAID)]
    of_all = section.evaluations_of_all
    table = Table(box=box.ROUNDED, title_justify="left", border_style="bright_black")
    table.add_column("")
    table.add_column("plain Spark", justify="right", style=PLAIN)
    table.add_column("Thalweg", justify="right", style=THALWEG)
    table.add_column("gain", justify="right", style="bold green")
    table.add_row("rows read", number(plain.rows), number(ours.rows))
    table.add_row("rows kept", number(kept.rows), number(kept.rows), "the same rows ✓")
    table.add_row("seconds", f"{plain.seconds:.1f}", f"{ours.seconds:.1f}", f"{race.speed_up or 0.0:.1f} × faster")
    table.add_row("rows a second", number(plain.rate), number(ours.rate))
    table.add_row(
        "predicate evaluations",
        number(of_all),
        number(section.evaluations),
        f"{percent(1 - section.evaluations / of_all)} saved",
    )
    table.add_row(
        "  of them paid look-ups", number(section.rows), number(paid), f"{percent(1 - paid / section.rows)} saved"
    )
    table.add_row("changes of order", "-", number(section.switch_count))
    same = Text.assemble(
        ("✓ ", "bold green"),
        f"Both kept exactly the same {number(kept.rows)} rows (checksum {kept.checksum}); "
        f"the order changed what it cost, not the answer.",
    )
    fewer = "Fewer lines than usual were used, so that it ends in time: this machine is slow or busy. "
    control: list[str | tuple[str, str]] = []
    if race.policy != "static":
        control += [(_command("--policy static"), "bold"), ", which stops at the first false but keeps the order you "]
        control += ["wrote; or "]
    follow = Text.assemble(
        fewer if race.shape.files_a_batch < FILES else "", "Try next: ", *control, "your own predicates: ",
        ("df.transform(tw.filters(...))", "bold"), ".",
    )  # fmt: skip
    return Group(table, same, follow)


def _command(options: str) -> str:
    """The demo again, as it can be typed: `make demo` does not put thalweg on the path."""
    return f"thalweg demo {options}" if shutil.which("thalweg") else f'make demo ARGS="{options}"'
