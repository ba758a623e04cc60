"""Groups of options: a command's parameter that is a dataclass becomes one option for each field of it.

A field is an option if it is annotated with one, ``Annotated[str | None, typer.Option("--input")]``, and a group again if
it is annotated with a dataclass; other fields are not asked for, nor are those that a group inherits from a class of the
library. Two names have a meaning: ``command`` is the words of the command, ``tm2tfr check``, and ``typed`` the parameters
that were typed. What a command changes of a group stands beside it::

    def check(*, asked: Annotated[Asked, But(seed=typer.Option("--seed"), compare=None)]) -> None: ...

An option takes the place of the group's own; any other value is the field's, and nothing is asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo, ParameterInfo

MEANT = ("command", "typed")
"""The names of parameters and fields that are not options, and get a value all the same."""


class But(dict[str, Any]):
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


def options_in(name: str, hint: Any, default: Any, changes: Mapping[str, Any] | None = None) -> Iterator[inspect.Parameter]:
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


def value(name: str, hint: Any, default: Any, given: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> Any:
    """Return what a parameter, or a field, gets, by the values of all options."""
    kind, own = group(hint)
    if kind is not None:
        inner = {**(changes or {}), **own}
        return kind(**{field: value(field, of, each, given, inner) for field, (of, each) in _fields(kind).items()})
    changed = (changes or {}).get(name, MISSING)
    if changed is not MISSING and not isinstance(changed, ParameterInfo):
        return changed
    return given.get(name, default) if is_option(hint) or name in MEANT else default


def group(hint: Any) -> tuple[Any, Mapping[str, Any]]:
    """Return the dataclass that is annotated, and what is changed of it; None for what is no group."""
    kind, *more = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if not is_dataclass(kind):
        return None, {}
    return kind, {name: value for each in more if isinstance(each, But) for name, value in each.items()}


def is_option(hint: Any) -> bool:
    """Return whether an annotation has an option."""
    return get_origin(hint) is Annotated and any(isinstance(each, ParameterInfo) for each in get_args(hint))


@cache
def _fields(kind: Any) -> dict[str, tuple[Any, Any]]:
    """Return the fields of a group by name, each with its annotation and its default; None: one that the library has."""
    hints: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith(__package__):
            hints |= inspect.get_annotations(base, locals={}, eval_str=True)
    defaults = {
        each.name: each.default if each.default_factory is MISSING else each.default_factory() for each in fields(kind)
    }
    return {name: (hints.get(name), default) for name, default in defaults.items()}
