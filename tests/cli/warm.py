"""The command `tm2tfr` by a process that has imported everything already: each call is run in a copy of that process.

Most of a short command's time goes into imports, and the documentation shows some two hundred commands. What stands in
the search path as ``tm2tfr`` hands its arguments, folder, environment and the three standard streams over, and exits as
the copy does. That the installed program starts by itself is tested in `tests.cli.test_process`.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CLIENT = """#!{python} -IS
import json, os, socket, sys

with socket.socket(socket.AF_UNIX) as served:
    served.connect({address!r})
    socket.send_fds(served, [b"-"], [0, 1, 2])
    served.sendall(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode() + b"\\n")
    os._exit(int(served.makefile().readline() or 70))
"""
SERVER = "import sys; from tests.cli.warm import serve; sys.argv[0] = 'tm2tfr'; serve(sys.argv[1])"


@contextmanager
def commands(folder: Path) -> Iterator[Path]:
    """Yield a folder with a program ``tm2tfr`` that runs in copies of one process, which lives as long as this context."""
    address, program = folder / "socket", folder / "bin" / "tm2tfr"
    program.parent.mkdir()
    program.write_text(CLIENT.format(python=sys.executable, address=str(address)), encoding="utf-8")
    program.chmod(0o755)
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root)}
    started = [sys.executable, "-c", SERVER, str(address)]
    with subprocess.Popen(started, cwd=root, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield program.parent
        server.stdin.close()


def serve(address: str) -> None:
    """Run each command that is handed over at `address` in a copy of this process, until standard input ends."""
    import tm2tfr.cli
    from tm2tfr.engines.fast import available

    assert tm2tfr.check("chapter", "11", engine="fast" if available() else "dense").agrees
    assert all(
        tm2tfr.check(name, word).agrees for name, word in (("full-adder", "101"), ("reverse", "ab"), ("since-b", "ab"))
    )
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        os.write(1, b"ready\n")
        while listener in select.select([listener, 0], [], [])[0]:
            client, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _run(client)
            client.close()
            with suppress(ChildProcessError):  # there is none
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _run(client: socket.socket) -> None:
    """Run one command in this process, which is a copy, and end it."""
    code = 70
    try:
        _, streams, _, _ = socket.recv_fds(client, 1, 3)
        arguments, folder, environment = json.loads(client.makefile("rb").readline())
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(number, mode, encoding="utf-8", closefd=False) for number, mode in enumerate(("r", "w", "w"))
        )
        sys.argv[1:] = arguments
        code = _exit_code()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        client.sendall(f"{code}\n".encode())
        os._exit(code)


def _exit_code() -> int:
    from tm2tfr.cli import main

    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0
