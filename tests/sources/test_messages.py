"""Messages of the sources, word by word: errors, warnings, and notes about what a conversion changes."""

from __future__ import annotations

from pathlib import Path

from tests.golden import Golden

GOLDEN = Golden(Path(__file__).parent / "messages")
test_messages = GOLDEN.test()
