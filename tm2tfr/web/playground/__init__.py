"""The playground: sources edited in the browser, with complaints and the run as one types.

`answer` and `exported` are pure functions of a `Query`: they read and write no files, know no server, and need neither
Numba nor the program Graphviz, nor safetensors but for weights. Around them, `server` is a local web application:

``POST /api/answer``
    ``{"source": text, "format": name|null, "input": text|null, "options": {"max_steps": 300, "left_boundary": …},
    "name": text}``, of which all but ``source`` may be left out → what `tm2tfr.web.playground.answer.answer` returns.
    An
    aborted request is abandoned: while somebody types, only the newest request is computed.
``GET /api/shipped``
    → ``[{"kind", "name", "format", "description"}]``; ``GET /api/shipped/NAME`` → the text.
``POST /api/export``
    the same as for an answer, with ``"what": "weights"|"latex"|"csv"|"page"|"source"`` and for a source ``"to": format`` →
    the file; or status 422 with ``{"error": text, "diagnostics": […]}``.

Each of them takes the token of the page's address in the header ``X-Tm2tfr-Token``; what is refused is ``{"error": text}``.
"""
