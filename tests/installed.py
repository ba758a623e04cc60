"""What some tests need besides Python: each is skipped where that is missing, and says how to install it."""

from __future__ import annotations

import shutil

import pytest

NO_DOT = "Graphviz's program 'dot' is not installed: apt-get install graphviz"
NO_LATEX = "LaTeX is not installed: apt-get install texlive-latex-recommended texlive-pictures"
needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason=NO_DOT)
