"""What is refused by the parts of a transformer, word by word."""

from __future__ import annotations

from pathlib import Path

from tests.golden import Golden

GOLDEN = Golden(Path(__file__).with_name("messages.txt"))
test_messages = GOLDEN.test()
