"""Texts that a terminal would obey or that are invisible, and names that must stay as they are."""

from __future__ import annotations

import unicodedata

from hypothesis import strategies as st

READABLE = [
    "plain_name", "Größe", "Gro\u0308ße", "naïve café", "大きさ", "크기", "размер", "μέγεθος", "حجم", "आकार", "📏", "❤️",
    "1️⃣", "🇩🇪", "👍🏽", "👩‍🚀", "🏳️‍🌈", "👨‍👩‍👧", "葛\U000e0100", "\ue0b0", "a\xa0b", "back\\slash",
]  # fmt: skip
"""Accents, composed or not, right-to-left and East Asian letters, emoji, and a private character."""

HOSTILE = [
    "\x1b[31m", "\x1b]0;title\x07", "\x1b[2J", "\x9b2J", "\x00", "\x08\x08", "\r", "\nforged: kept 100 %", "\t", "\x7f",
    "\x85", "\u202egnp.exe", "\u2066", "\u2069", "\u200b", "\u200d", "\u200e", "\ufeff", "\u2028", "\u2029", "\xad",
    "\U000e0041\U000e0042", "\ufe0f\ufe0f\ufe0e", "\ufffe", "\u3164",
]  # fmt: skip
"""Escape sequences, control characters, line breaks, reversed and invisible text, and no characters at all."""

hostile_texts = st.lists(
    st.sampled_from([*HOSTILE, "大", "é", "x", " "]) | st.characters(codec="utf-8"), max_size=6
).map("".join)


def hidden(text: str) -> list[str]:
    """The characters of a text that a terminal would obey or not show. Line breaks are not among them."""
    return [each for each in text if each != "\n" and unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
