"""The flow of a computation: whole texts, strange names, and what is too large to be read."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.installed import needs_dot
from tests.sources.rasp.headers import header, shipped
from tests.sources.rasp.running import read, shipped_program
from tm2tfr.errors import OutputError
from tm2tfr.sources.rasp.drawing.flow import flow
from tm2tfr.sources.rasp.drawing.graphs import render, save, to_dot, to_mermaid, to_networkx

SHIFT = 'before = select(indices, indices - 1, ==);\nshift = aggregate(before, tokens, "-");\n'
DOT = r"""digraph text {
	graph [fontname="Helvetica,Arial,sans-serif" fontsize=11 nodesep=0.3 rankdir=TB ranksep=0.45]
	node [fillcolor=white fontname="Helvetica,Arial,sans-serif" fontsize=11 height=0.3 shape=box style="filled,rounded"]
	edge [arrowsize=0.6 color="#7a7f87" fontname="Helvetica,Arial,sans-serif"]
"""
