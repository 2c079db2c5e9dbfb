"""scripts/find-java, with executables that only pretend: it sees a PATH and a root made for each test."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "find-java"
VECTOR = "jdk.incubator.vector"


class Machine:
    """A machine in a folder: a PATH with the tools the script uses and no Java, and a file system root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = root / "bin"
        self.bin.mkdir()
        for tool in ("sh", "env", "sed", "grep", "id", "cat", "mkdir", "mv"):
            found = shutil.which(tool)
            assert found, f"these tests need {tool}"
            (self.bin / tool).symlink_to(found)

    def command(self, name: str, script: str) -> None:
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def java(self, home: str, version: str = "17", modules: str = VECTOR) -> Path:
        """Put a Java there that answers as the real one does: its properties to stderr, its modules to stdout."""
        path = self.root / home
        (path / "bin").mkdir(parents=True)
        java = path / "bin" / "java"
        properties = f"Property settings:\n    java.home = {path}\n    java.specification.version = {version}\n"
        java.write_text(
            f"#!/bin/sh\ncase $1 in\n"
            f"--list-modules) printf 'java.base@{version}\\n{modules}@{version}\\n' ;;\n"
            f"*) cat >&2 <<'END'\n{properties}END\n;;\nesac\n"
        )
        java.chmod(0o755)
        return path

    def find(self, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [SCRIPT],
            env={"PATH": str(self.bin), "FIND_JAVA_ROOT": str(self.root), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
        )

    def finds(self, home: Path, **environment: str) -> bool:
        done = self.find(**environment)
        return (done.returncode, done.stdout) == (0, f"{home}\n")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_java_home_comes_first(machine: Machine) -> None:
    machine.java("usr/lib/jvm/java-21", "21")
    chosen = machine.java("opt/my java")
    assert machine.finds(chosen, JAVA_HOME=str(chosen))


def test_java_on_path_is_followed_through_links(machine: Machine) -> None:
    home = machine.java("opt/java-25", "25")
    (machine.root / "alternatives").symlink_to(home / "bin" / "java")
    (machine.bin / "java").symlink_to(machine.root / "alternatives")
    assert machine.finds(home)


@pytest.mark.parametrize(("version", "modules"), [("1.8", VECTOR), ("11", VECTOR), ("17", "jdk.zipfs")])
def test_a_java_that_spark_cannot_use_is_passed_over(machine: Machine, version: str, modules: str) -> None:
    unfit = machine.java("usr/lib/jvm/a-first", version, modules)
    (machine.bin / "java").symlink_to(unfit / "bin" / "java")
    good = machine.java("usr/lib/jvm/b-second")
    assert machine.finds(good)
    done = machine.find(JAVA_HOME=str(unfit))
    assert done.stdout == f"{good}\n"
    assert str(unfit) in done.stderr  # the user named it, so the error shows it


def test_macos_register(machine: Machine) -> None:
    home = machine.java("Library/Java/17/Contents/Home")
    (machine.root / "usr" / "libexec").mkdir(parents=True)
    machine.command("register", f"echo '{home}'")
    (machine.bin / "register").rename(machine.root / "usr" / "libexec" / "java_home")
    assert machine.finds(home)


def test_nothing_there_and_nothing_allowed_asks_in_one_line(machine: Machine) -> None:
    done = machine.find()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "openjdk-17-jre-headless" in done.stderr


class Debian(Machine):
    """A machine whose apt-get notes what it is asked and, for the packages it has, reveals a hidden Java."""

    def __init__(self, root: Path, default: str, packages: tuple[str, ...], user: int = 0) -> None:
        super().__init__(root)
        self.log = root / "apt.log"
        self.home = self.root / "usr/lib/jvm/java-17"
        hidden = self.java("hidden/java-17")
        java = hidden / "bin" / "java"
        java.write_text(java.read_text().replace(str(hidden), str(self.home)))
        self.command("id", f"echo {user}")
        self.command("apt-cache", f"echo '  Candidate: {default}'")
        self.command(
            "apt-get",
            f'echo "$*" >> {self.log}\n'
            f"for package; do case $package in\n"
            f"update) exit 0 ;;\n"
            f"{'|'.join(packages)}) mkdir -p {self.home.parent} && mv {hidden} {self.home}; exit 0 ;;\n"
            f"esac; done\nexit 100",
        )

    def asked(self) -> list[str]:
        return [line.split()[-1] for line in self.log.read_text().splitlines()] if self.log.exists() else []


def test_debian_default_is_installed_when_new_enough(tmp_path: Path) -> None:
    debian = Debian(tmp_path, "2:1.17-74", ("default-jre-headless",))
    assert debian.finds(debian.home)
    assert debian.asked() == ["update", "default-jre-headless"]


def test_debian_default_that_is_too_old_is_not_installed(tmp_path: Path) -> None:
    debian = Debian(tmp_path, "2:1.11-72", ("default-jre-headless", "openjdk-17-jre-headless"))
    assert debian.finds(debian.home)
    assert debian.asked() == ["update", "openjdk-21-jre-headless", "openjdk-17-jre-headless"]


def test_debian_without_any_package_says_what_is_missing(tmp_path: Path) -> None:
    done = Debian(tmp_path, "(none)", ("nothing",)).find()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1].startswith("find-java: Spark needs a Java runtime")


@pytest.mark.parametrize("allowed", [True, False])
def test_sudo_is_used_only_without_a_password(tmp_path: Path, allowed: bool) -> None:
    debian = Debian(tmp_path, "2:1.17-74", ("default-jre-headless",), user=1000)
    debian.command("sudo", '[ "$1" = -n ] || exit 9; shift; exec "$@"' if allowed else "exit 1")
    debian.command("true", "exit 0")
    assert debian.finds(debian.home) is allowed
    assert bool(debian.asked()) is allowed


def test_an_installed_java_keeps_apt_out(tmp_path: Path) -> None:
    debian = Debian(tmp_path, "2:1.17-74", ("default-jre-headless",))
    home = debian.java("usr/lib/jvm/java-21", "21")
    assert debian.finds(home)
    assert debian.asked() == []


def test_script_is_executable() -> None:
    assert os.access(SCRIPT, os.X_OK)
