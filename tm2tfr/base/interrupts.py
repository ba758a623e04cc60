"""Ctrl-C in a process of the command line: one line and exit code 130, from the first import to the end of the shutdown.

While modules load and while Python shuts down nothing is half written, and nothing would catch KeyboardInterrupt: the
process ends at once. While a command runs, KeyboardInterrupt is raised as everywhere, so that what it has begun is cleaned
up (`tm2tfr.cli.commands`). A program that imports the library keeps its own handler.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # built in, while `signal` loads others: Ctrl-C may come then
import atexit
import os
import sys

CODE = 130


class _State:
    """The state for a signal handler, which takes no further arguments."""

    raises = heard = False
    first = True  # whether nobody else is called at the end of the process after `_leave`
    code: int | None = None


def starts_command() -> bool:
    """Return whether this process is ``tm2tfr …`` or ``python -m tm2tfr …``, while the package is imported."""
    name = sys.argv[0] if sys.argv else ""
    if name == "-m":  # what it is called while Python looks for the module
        return sys.orig_argv[sys.orig_argv.index("-m") + 1 :][:1] == ["tm2tfr"] if "-m" in sys.orig_argv else False
    return os.path.basename(name).removesuffix(".exe") == "tm2tfr"  # not tm2tfr.py, which is somebody's script


def prepare() -> None:
    """Have Ctrl-C end this process, unless it is ignored, as in a shell's background jobs; and have it end quickly."""
    _State.first = not atexit._ncallbacks()  # nothing says this publicly; what measures coverage is registered before
    atexit.register(_leave)  # the first one is called last, when files are closed and threads have ended
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _hear)
        sys.unraisablehook = _lost


def raising(yes: bool) -> None:
    """Have Ctrl-C raise KeyboardInterrupt from now on, or end the process."""
    _State.raises = yes


def note() -> None:
    """Remember that there was a Ctrl-C."""
    _State.heard = True


def heard() -> bool:
    """Return whether there was a Ctrl-C: where it strikes while C code loads a module, another error can come of it."""
    return _State.heard


def finished(code: int) -> int:
    """Return the exit code of the command that is finished, with which this process will end."""
    _State.code = code
    return code


def _hear(*_: object) -> None:
    note()
    if _State.raises:
        raise KeyboardInterrupt
    os.write(2, b"interrupted\n")
    os._exit(CODE)


def _lost(unraisable: sys.UnraisableHookArgs) -> None:
    """Interrupt again where a KeyboardInterrupt was raised in a callback, as of a weak reference, and so was lost."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    from threading import Timer, main_thread  # noqa: PLC0415  (most processes do not need it)

    # A signal to the main thread ends what it waits for; `interrupt_main` would be noticed after that only.
    if hasattr(signal, "pthread_kill"):
        again = Timer(0.01, signal.pthread_kill, (main_thread().ident, signal.SIGINT))
    else:
        from _thread import interrupt_main  # noqa: PLC0415

        again = Timer(0.01, interrupt_main)
    again.start()  # not here: this is the callback


def _leave() -> None:
    """End with the command's exit code, without freeing every object first: that takes a tenth of a short command.

    Where Ctrl-C went through ``exec``, CPython would also kill itself, though it was caught.
    """
    if not _State.heard and (_State.code is None or not _State.first):  # no command has ended, or others want the end
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):  # closed, or nobody reads: Python itself knows what becomes of it
        return
    os._exit(CODE if _State.code is None else _State.code)
