"""Names with options, as they are written on the command line and stored with runs: "sls:hold=5", "small-cnn:size=48".

The options of a name have defaults, and are values of the defaults' kinds. An option with its default is never written,
so that a name stays the same when it gains an option.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from votewise._checks import check_choice, check_kind, first_few
from votewise._errors import InputError

OptionValue: TypeAlias = "bool | int | float | str"
Options: TypeAlias = Mapping[str, OptionValue]


def split_label(text: str) -> tuple[str, dict[str, OptionValue]]:
    """A name and the options written behind it, as texts that nobody has checked.

    >>> split_label("name:one=1,two=b")
    ('name', {'one': '1', 'two': 'b'})
    """
    check_kind("a name with options", text, str, "Write it as name:option=value")
    name, _, listed = text.strip().partition(":")
    parts = [part.partition("=") for part in listed.split(",") if part.strip()]
    return name.strip(), {key.strip(): value.strip() for key, _, value in parts}


def join_label(name: str, options: Options) -> str:
    """A name with options as one writes it.

    >>> join_label("name", {"two": "b", "one": 1})
    'name:one=1,two=b'
    """
    return f"{name}:{','.join(f'{key}={options[key]}' for key in sorted(options))}" if options else name


def chosen_options(name: str, defaults: Options, options: Options) -> dict[str, OptionValue]:
    """Options as values of the kinds of their defaults, without those that have their default.

    Args:
        name: name that has these options.
        defaults: every option it knows.
        options: values, or texts that are read as values.
    """
    if not defaults and options:
        raise InputError(f"{name} has no options", f"got {first_few(list(options))}", "Leave them out")
    checked = {check_choice(f"an option of {name}", key, tuple(defaults)): options[key] for key in options}
    values = {key: _as_kind_of(defaults[key], value, f"{name}:{key}") for key, value in checked.items()}
    return {key: values[key] for key in sorted(values) if values[key] != defaults[key]}


def _as_kind_of(default: OptionValue, value: OptionValue, option: str) -> OptionValue:
    """A value of the kind of the default; a text, as the command line gives it, is read as one."""
    kind = type(default)
    try:
        if kind is bool:
            value = {"true": True, "false": False}.get(str(value).lower(), value)
        elif type(value) is str or (kind is float and type(value) is int):
            value = kind(value)
    except ValueError:
        pass
    if type(value) is not kind or value != value:
        words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}[kind]
        raise InputError(f"{option} must be {words}", f"got {value!r}", f"The default is {default!r}")
    return value
