"""The summary at the end of the demo: a table, and whether both sides kept the same rows."""

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
from thalweg.errors import ThalwegError
from thalweg.formatting import rounded_percent, whole_number


def same_rows(race: Race) -> None:
    """Raise an error if the sides kept different rows. Adapting never changes the result, so this would be a bug."""
    if race.plain_kept is None or race.plain_kept != race.thalweg_kept:
        raise ThalwegError(
            f"the two sides kept different rows, which is a bug in Thalweg: plain Spark {race.plain_kept}, "
            f"Thalweg {race.thalweg_kept}; please report it, with this message and the command's arguments"
        )


def summary(race: Race) -> Group:
    """Return the summary of a race that is over."""
    same_rows(race)
    section, kept = race.chain.section, race.thalweg_kept
    assert section is not None
    assert kept is not None
    plain, ours = race.plain, race.thalweg
    paid = section.chain.evaluated[section.names.index(PAID)]
    of_all = section.evaluations_of_all
    table = Table(box=box.ROUNDED, title_justify="left", border_style="bright_black")
    table.add_column("")
    table.add_column("plain Spark", justify="right", style=PLAIN)
    table.add_column("Thalweg", justify="right", style=THALWEG)
    table.add_column("gain", justify="right", style="bold green")
    table.add_row("rows read", whole_number(plain.rows), whole_number(ours.rows))
    table.add_row("rows kept", whole_number(kept.rows), whole_number(kept.rows), "the same rows ✓")
    table.add_row("time", f"{plain.seconds:.1f} s", f"{ours.seconds:.1f} s", f"{race.speed_up or 0.0:.1f} × as fast")
    table.add_row("rows per second", whole_number(plain.rate), whole_number(ours.rate))
    table.add_row(
        "predicate evaluations",
        whole_number(of_all),
        whole_number(section.evaluations),
        f"{rounded_percent(1 - section.evaluations / of_all)} saved",
    )
    table.add_row(
        f"  of {PAID} (paid API)",
        whole_number(section.rows),
        whole_number(paid),
        f"{rounded_percent(1 - paid / section.rows)} saved",
    )
    table.add_row("switches of the order", "-", whole_number(section.switch_count))
    same = Text.assemble(
        ("✓ ", "bold green"),
        f"Both kept the same {whole_number(kept.rows)} rows (checksum {kept.checksum}): "
        f"the order changes the cost, not the result.",
    )
    lines = [same]
    if race.shape.files_a_batch < FILES:
        lines.append(Text("This run used fewer lines than usual to finish in time: this machine is slow or busy."))
    if race.policy != "static":
        static = (_command("--policy static"), "bold")
        lines.append(Text.assemble("Try next: ", static, " (the written order), to see what reordering gains."))
    lines.append(Text.assemble("In your own job: ", ("df.transform(tw.filters(...))", "bold"), ", as in README.md."))
    return Group(table, *lines)


def _command(options: str) -> str:
    """Return a command that runs the demo again. `make demo` does not put thalweg on the path."""
    return f"thalweg demo {options}" if shutil.which("thalweg") else f'make demo ARGS="{options}"'
