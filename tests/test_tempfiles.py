"""What a killed process leaves beside its target is removed by the next one, and nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tm2tfr.base import tempfiles
from tm2tfr.base.files import write_text
from tm2tfr.sources.turing.drawing import save
from tm2tfr.sources.turing.library import load

ROOT = Path(__file__).parents[1]
HALF = """
import os, signal, sys
from pathlib import Path
from tm2tfr.base.files import write_whole
def half(file):
    file.write(b"half"); file.flush()
    print("writing", flush=True)
    signal.pause()
write_whole(Path(sys.argv[1]), half)
"""


@pytest.fixture(autouse=True)
def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins as a new process does."""
    monkeypatch.setattr(tempfiles, "_swept", set())


@pytest.fixture
def host() -> str:
    """The identifier of this host, which a host may lack."""
    found = tempfiles._host()
    if found is None:
        pytest.skip("nothing tells this host from others: run the tests on Linux")
    return found


def writing(path: Path) -> subprocess.Popen[str]:
    """Return a process in the middle of writing `path`."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", HALF, str(path)], env=env, stdout=subprocess.PIPE, encoding="utf-8")
    assert process.stdout is not None
    with process.stdout as told:
        assert told.readline() == "writing\n"
    return process


def dead() -> int:
    """Return the number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="no POSIX signals here: run the tests on Linux or macOS")
def test_a_killed_process_is_cleaned_up_after_and_a_living_one_is_not(tmp_path: Path, host: str) -> None:
    killed, alive = writing(tmp_path / "a.txt"), writing(tmp_path / "b.txt")
    try:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert len(left(tmp_path)) == 2
        write_text(tmp_path / "a.txt", "whole")
        (other, name) = left(tmp_path)
        assert other.startswith(f".tm2tfr-{host}-{alive.pid}-")
        assert (name, (tmp_path / "a.txt").read_text(encoding="utf-8")) == ("a.txt", "whole")
    finally:
        alive.kill()
        alive.wait()
    tempfiles.remove_abandoned(tmp_path)
    assert left(tmp_path) == ["a.txt"]


def test_a_folder_is_removed_with_what_is_in_it(tmp_path: Path, host: str) -> None:
    half = tmp_path / f".tm2tfr-{host}-{dead()}-{'0' * 16}.tmp"
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"half")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x", encoding="utf-8")
    (tmp_path / f".tm2tfr-{host}-{dead()}-{'1' * 16}.tmp").symlink_to(outside)
    save(load("chapter"), tmp_path / "chapter.dot")
    assert left(tmp_path) == ["chapter.dot", "outside"]
    assert left(outside) == ["kept"]


def test_what_is_not_ours_or_not_known_to_be_abandoned_stays(tmp_path: Path, host: str) -> None:
    number = dead()
    stay = [
        f".tm2tfr-{host}-{os.getpid()}-{'0' * 16}.tmp",  # of a process that lives: this one
        f".tm2tfr-{'f' * 8}-{number}-{'0' * 16}.tmp",  # of another host
        f".tm2tfr-{'0' * 16}.tmp",  # of an earlier version, which did not say whose it is
        f".tm2tfr-{host}-{number}-{'0' * 16}.tmp.txt",
        f"x.tm2tfr-{host}-{number}-{'0' * 16}.tmp",
        f".tm2tfr-{host}-{number}.tmp",
        ".tm2tfr-mine.tmp",
        "half.tmp",
    ]
    for name in stay:
        (tmp_path / name).write_text("x", encoding="utf-8")
    write_text(tmp_path / "a.txt", "whole")
    assert left(tmp_path) == sorted([*stay, "a.txt"])
    for name in stay:
        long_ago = time.time() - tempfiles.OLD - 60
        os.utime(tmp_path / name, (long_ago, long_ago))
    tempfiles.remove_abandoned(tmp_path)
    assert left(tmp_path) == sorted([*stay[3:], "a.txt"])


def test_a_folder_is_looked_through_once(tmp_path: Path, host: str) -> None:
    write_text(tmp_path / "a.txt", "whole")
    half = tmp_path / f".tm2tfr-{host}-{dead()}-{'0' * 16}.tmp"
    half.write_text("half", encoding="utf-8")
    write_text(tmp_path / "b.txt", "whole")
    assert half.exists()


def test_a_folder_that_is_not_there_is_no_error_of_its_own(tmp_path: Path) -> None:
    tempfiles.remove_abandoned(tmp_path / "nowhere")


def test_hosts_of_one_name_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their names and the numbers of their namespaces are those of this host, and they write to the same folder."""
    identity, host = tmp_path / "boot_id", tempfiles._host.__wrapped__
    monkeypatch.setattr(tempfiles, "IDENTITIES", (tmp_path / "missing", identity))
    found = []
    for text in ("3b2b6f0e-0f5d-4c1c-9e2b-0c7f4f1d2a11\n", "9d1f6c52-7f61-4b3f-8a53-5a1f0a7c3e22\n"):
        identity.write_text(text, encoding="utf-8")
        found += [host(), host()]
    assert None not in found
    assert (found[0], found[2]) == (found[1], found[3])
    assert found[0] != found[2]
    identity.write_text("uninitialized\n", encoding="utf-8")
    assert host() is None


def test_without_an_identity_of_the_host_only_time_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfiles, "_host", lambda: None)
    name = tempfiles.beside(tmp_path / "a.txt")
    half = [name, tmp_path / f".tm2tfr-{'f' * 8}-{dead()}-{'0' * 16}.tmp"]
    for path in half:
        path.write_text("half", encoding="utf-8")
    tempfiles.remove_abandoned(tmp_path)
    assert left(tmp_path) == sorted(path.name for path in half)
    for path in half:
        os.utime(path, (time.time() - tempfiles.OLD - 60,) * 2)
    tempfiles.remove_abandoned(tmp_path)
    assert left(tmp_path) == []
