"""How the parameters of a command read what was typed, and what they are called in messages and the help."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperArgument, TyperOption

from tm2tfr.base.errors import UsageError

_MARKUP = re.compile(r"(?=\[[a-z#/@])")
"""What Rich would take for markup."""


def escaped(text: str) -> str:
    """Return a text of the help as Rich prints it unchanged."""
    return _MARKUP.sub(r"\\", text)


def read(param: TyperArgument | TyperOption, context: Any, value: Any) -> Any:
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

    def process_value(self, ctx: Any, value: Any) -> Any:
        """Return the value."""
        return read(self, ctx, value)

    def display_type(self, ctx: Any) -> str:
        """Return its type for the help: none, where it takes no value."""
        return "" if self.is_flag else super().display_type(ctx)


class Argument(TyperArgument):
    """An argument that `read` reads."""

    def process_value(self, ctx: Any, value: Any) -> Any:
        """Return the value."""
        return read(self, ctx, value)

    def display_type(self, ctx: Any) -> str:
        """Return nothing: its name says what it is."""
        return ""
