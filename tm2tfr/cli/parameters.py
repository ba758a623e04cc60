"""The parameters of a command: how they read what was typed, and groups of them.

A command's parameter that is a dataclass becomes one option for each field of it. A field is an option if it is annotated
with one, ``Annotated[str | None, typer.Option("--input")]``, and a group again if it is annotated with a dataclass; other
fields are not asked for, nor are those that a group inherits from a class of the library. Two names have a meaning:
``command`` is the words of the command, ``tm2tfr check``, and ``typed`` the parameters that were typed. What a command
changes of a group stands beside it::

    def check(*, asked: Annotated[Asked, But(seed=typer.Option("--seed"), compare=None)]) -> None: ...

An option takes the place of the group's own; any other value is the field's, and nothing is asked for.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

import typer
from typer._click import core
from typer.core import TyperArgument, TyperOption
from typer.models import OptionInfo, ParameterInfo

from tm2tfr.base.errors import UsageError

if TYPE_CHECKING:
    from tm2tfr.contract.shown import PlainData

LineContext: TypeAlias = core.Context
"""Typer's context of a command line; `typer.Context` extends it."""

_MARKUP = re.compile(r"(?=\[[a-z#/@])")
"""What Rich would take for markup."""


def escaped(text: str) -> str:
    """Return a text of the help as Rich prints it unchanged."""
    return _MARKUP.sub(r"\\", text)


def read(param: TyperArgument | TyperOption, context: LineContext, value: Any) -> Any:
    """Return the value of a parameter, as its own parser reads what was typed.

    Typer has Pydantic read every value, text and words as well, whose import and adapters take longer than a short run; and
    Pydantic's errors do not say what to write instead.

    Raises:
        UsageError: if a value is missing, or the parser refuses it.
    """
    parser = param.type_descriptor.parameter_info.parser
    try:
        if parser is not None and isinstance(value, str):
            value = parser(value)
        elif parser is not None and isinstance(value, list | tuple):
            value = [parser(each) for each in value]
    except ValueError as error:
        raise UsageError(f"{context.command_path}: {called(param)}: {error}") from error
    if param.required and param.value_is_missing(value):
        missing = f"{called(param)} {param.metavar}" if isinstance(param, TyperOption) else called(param)
        where = context.command_path
        raise UsageError(f"{where}: {called(param)} is missing: add {missing}, see '{where} --help'")
    return value if param.callback is None else param.callback(context, param, value)


def called(param: TyperArgument | TyperOption) -> str:
    """Return the name of a parameter in messages: the long name of an option."""
    return next((name for name in param.opts if name.startswith("--")), param.metavar or param.opts[0])


class Option(TyperOption):
    """An option that `read` reads."""

    def process_value(self, ctx: LineContext, value: Any) -> Any:
        """Return the value."""
        return read(self, ctx, value)

    def display_type(self, ctx: LineContext) -> str:
        """Return its type for the help: none, where it takes no value."""
        return "" if self.is_flag else super().display_type(ctx)


class Argument(TyperArgument):
    """An argument that `read` reads."""

    def process_value(self, ctx: LineContext, value: Any) -> Any:
        """Return the value."""
        return read(self, ctx, value)

    def display_type(self, ctx: LineContext) -> str:
        """Return no type: the name of an argument says it."""
        return ""


# ── groups of options ───────────────────────────────────────────────────────────────────────────────────────
MEANT = ("command", "typed")
"""The names of parameters and fields that are not options, and get a value all the same."""


class But(dict[str, object]):
    """What a command changes of a group: by the name of a field, another option, or its value."""


def expanded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that takes the options of its groups one by one, for Typer to read from its signature."""
    hints = get_type_hints(command, include_extras=True)
    parameters = {name: (hints[name], each.default) for name, each in inspect.signature(command).parameters.items()}

    def called(context: typer.Context, **given: Any) -> Any:
        sources = {name: context.get_parameter_source(name) for name in given}
        typed = frozenset(name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE")
        given |= {"command": context.command_path, "typed": typed}
        return command(**{name: value(name, hint, default, given) for name, (hint, default) in parameters.items()})

    options = [option for name, (hint, default) in parameters.items() for option in options_in(name, hint, default)]
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    vars(called)["__signature__"] = inspect.Signature([context, *options])
    called.__name__, called.__doc__ = command.__name__, command.__doc__
    return called


def options_in(
    name: str, hint: object, default: object, changes: Mapping[str, object] | None = None
) -> Iterator[inspect.Parameter]:
    """Yield the options that a parameter, or a field, stands for."""
    kind, own = group(hint)
    if kind is not None:
        for field, (inner, value) in _fields(kind).items():
            yield from options_in(field, inner, value, {**(changes or {}), **own})
        return
    changed = (changes or {}).get(name, MISSING)
    if not is_option(hint) or (changed is not MISSING and not isinstance(changed, ParameterInfo)):
        return
    kind, *more = get_args(hint)
    option = next(each for each in more if isinstance(each, ParameterInfo)) if changed is MISSING else changed
    annotation = Annotated[kind, _with_long_name(option, name)]  # type: ignore[valid-type]
    yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _with_long_name(option: ParameterInfo, name: str) -> ParameterInfo:
    """Return an option with a long name, if it has none that of its parameter."""
    if not isinstance(option, OptionInfo):
        return option
    first = () if option.default is ... else (option.default,)  # there Typer keeps the first name
    names = (*first, *(option.param_decls or ()))
    if not any(each.startswith("--") for each in names):
        names = (f"--{name.rstrip('_').replace('_', '-')}", *names)
    option = copy(option)
    option.default, option.param_decls = ..., names
    return option


def value(
    name: str, hint: object, default: object, given: Mapping[str, object], changes: Mapping[str, object] | None = None
) -> Any:
    """Return the value of a parameter, or of a field, from the values of all options."""
    kind, own = group(hint)
    if kind is not None:
        inner = {**(changes or {}), **own}
        return kind(**{field: value(field, of, each, given, inner) for field, (of, each) in _fields(kind).items()})
    changed = (changes or {}).get(name, MISSING)
    if changed is not MISSING and not isinstance(changed, ParameterInfo):
        return changed
    return given.get(name, default) if is_option(hint) or name in MEANT else default


def group(hint: object) -> tuple[Any, Mapping[str, object]]:
    """Return the annotated dataclass and the changes to its fields; None if the annotation is not a group."""
    kind, *more = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if not is_dataclass(kind):
        return None, {}
    return kind, {name: value for each in more if isinstance(each, But) for name, value in each.items()}


def is_option(hint: object) -> bool:
    """Return whether an annotation has an option."""
    return get_origin(hint) is Annotated and any(isinstance(each, ParameterInfo) for each in get_args(hint))


@cache
def _fields(kind: Any) -> dict[str, tuple[object, object]]:
    """Return the fields of a group by name, each with its annotation and its default; None: one that the library has."""
    hints: PlainData = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith(__package__):
            hints |= inspect.get_annotations(base, locals={}, eval_str=True)
    defaults = {
        each.name: each.default if each.default_factory is MISSING else each.default_factory() for each in fields(kind)
    }
    return {name: (hints.get(name), default) for name, default in defaults.items()}
