"""`python -m thalweg`: the same as the command `thalweg`."""

from __future__ import annotations

from thalweg.cli import app

if __name__ == "__main__":
    app()
