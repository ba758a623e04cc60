"""Object files that are linked without LLVM: what LLVM's linker makes of them, or nothing."""

from __future__ import annotations

import ctypes
from importlib.util import find_spec
from struct import pack_into

import pytest

from tm2tfr.base.native import linking
from tm2tfr.base.native.linking import linked

if find_spec("llvmlite") is None:
    pytest.skip("objects are made by LLVM: install tm2tfr[fast]", allow_module_level=True)
if not linking._HERE:
    pytest.skip("objects are linked by LLVM here: run it on Linux, x86-64", allow_module_level=True)

RETURNED = """
{around}
define i32 @whole(ptr %result, ptr %error, i64 %address) nounwind {{
  %where = inttoptr i64 %address to ptr
  %x = load double, ptr %where
  {lines}
  %whole = fptosi double %y to i64
  store i64 %whole, ptr %result
  ret i32 {code}
}}
"""
ROUNDED = ("declare double @rint(double)", "%z = fmul double %x, 1.7\n  %y = call double @rint(double %z)")
TABLE = "@table = {kind} [4 x double] [double 3.0, double 5.0, double 7.0, double 11.0]"
READ = "%at = fptosi double %x to i64\n  %there = getelementptr double, ptr @table, i64 %at\n  %y = load double, ptr %there"
CASES = {"constants and rint": (*ROUNDED, 8.0), "a table": (TABLE.format(kind="internal constant"), READ, 2.0)}


def made(around: str, lines: str, *, code: int = 0, model: str = "large", triple: str = "x86_64-linux-gnu") -> bytes:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(RETURNED.format(around=around, lines=lines, code=code))
    machine = llvm.Target.from_triple(triple).create_target_machine(codemodel=model, reloc="static")
    return bytes(machine.emit_object(module))


def called(code: linking.MachineCode, number: float) -> int:
    given = ctypes.c_double(number)
    return code(ctypes.addressof(given))


@pytest.mark.parametrize("case", CASES)
def test_linked_as_llvm_links_it(case: str) -> None:
    from tm2tfr.base.native import loading

    around, lines, number = CASES[case]
    content = made(around, lines)
    code = linked("whole", content)
    assert code is not None
    assert called(code, number) == called(loading.linked("whole", content), number) == {8.0: 14, 2.0: 7}[number]


def test_code_that_fails() -> None:
    code = linked("whole", made(*ROUNDED, code=1))
    assert code is not None
    with pytest.raises(RuntimeError, match="compiled code has failed"):
        called(code, 1.0)


@pytest.mark.parametrize(
    "content",
    [
        made(*ROUNDED, model="small"),
        made(*ROUNDED, triple="aarch64-linux-gnu"),
        made(TABLE.format(kind="internal global"), READ),
        made(TABLE.format(kind="thread_local global"), READ),
        made(ROUNDED[0].replace("rint", "no_such_function"), ROUNDED[1].replace("rint", "no_such_function")),
    ],
    ids=["near", "another processor", "written to", "for each thread", "unknown"],
)
def test_what_is_left_to_llvm(content: bytes) -> None:
    assert linked("whole", content) is None


def test_what_is_not_such_a_file() -> None:
    content = made(*ROUNDED)
    assert linked("half", content) is None
    assert not [n for n in range(0, len(content), 7) if linked("whole", content[:n])]
    moved = bytearray(content)
    sections = int.from_bytes(content[40:48], "little")
    for n in range(8):  # relocations beyond the end of their section
        kind, at = (int.from_bytes(content[sections + 64 * n + k :][:w], "little") for k, w in ((4, 4), (24, 8)))
        if kind == linking._ADDENDS:
            pack_into("<Q", moved, at, 2**40)
    assert moved != content
    assert linked("whole", bytes(moved)) is None


def test_elsewhere_it_is_left_to_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "_HERE", False)
    assert linked("whole", made(*ROUNDED)) is None
    assert linking.processor.__wrapped__() is None
