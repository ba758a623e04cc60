"""What a prompt must be answered with, from its text alone: an interpreter that shares nothing with the package."""

from __future__ import annotations


def answers(prompt: str, most: int, tape: str | None = None) -> list[str]:
    """Return the canonical tokens that come after BOS: triples, until ACC, REJ or HALT, at most `most`.

    Args:
        prompt: canonical tokens with spaces between them, with BOS at the end.
        tape: that of the decoder; None: the first token says it.
    """
    *tokens, _ = prompt.split()
    tape = tape or tokens.pop(0)
    keys = [n for n, token in enumerate(tokens) if "," in token and not token.startswith("→")]
    rules = {tokens[n]: tokens[n + 1].removeprefix("→") for n in keys}
    cells = dict(enumerate(token for token in tokens if len(token) == 1))
    state, head, said = "q0", 0, [f"(q0,{cells.get(0, '0')},0)"]
    while len(said) < most:
        answer = rules.get(f"{state},{cells.get(head, '0')}", "HALT")
        if not answer.startswith("("):
            return [*said, answer]
        state, symbol, move = answer[1:-1].split(",")
        cells[head] = symbol
        if tape == "one-way" and head == 0 and move == "-1":
            move = "0"
        head += int(move)
        said.append(f"({state},{symbol},{move})")
    return said
