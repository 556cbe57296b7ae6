"""How a configuration becomes command-line arguments.

A *template* is text with placeholders: ``{name}`` and ``{value}`` of the parameter it renders, or the name of any other
parameter for that one's value. It is split at blanks **before** anything is filled in, so a value with blanks stays one
argument. One style serves all parameters; single parameters may have their own template, or one template per value::

    style = "--{name}={value}"
    [arguments]
    verbose = ""                                          # rendered by nobody
    restarts = "--restarts={value},{r_n}"
    preprocess = { yes = "--preprocess", no = "--no-preprocess" }
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache

from capra.errors import InputError, did_you_mean
from capra.runs import Value
from capra.space.parameters import Discrete
from capra.space.space import Space

__all__ = ["Arguments", "value_text"]

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")

Template = str | Mapping[str, str]


def value_text(value: Value) -> str:
    """A value as an argument: shortest decimal form for numbers, true and false in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@lru_cache(maxsize=10_000)
def _tokens(template: str) -> list[list[str]]:
    """A template's arguments; of each the text and the placeholders in it, in turn."""
    return [_PLACEHOLDER.split(token) for token in template.split()]


def _irace_text(value: Value) -> str:
    """irace writes numbers without an exponent."""
    return format(Decimal(repr(value)), "f") if isinstance(value, float) else value_text(value)


@dataclass(frozen=True)
class Arguments:
    """Renders configurations of one space. ``switches`` are prefixes joined with the value (irace)."""

    style: str = "--{name}={value}"
    templates: Mapping[str, Template] = field(default_factory=dict)
    switches: Mapping[str, str] = field(default_factory=dict)

    def tokens(self, config: Mapping[str, Value]) -> list[str]:
        """The arguments of a configuration, in its order."""
        texts = {name: value_text(value) for name, value in config.items()}
        return [token for name in texts for token in self._render(name, texts)]

    def pasted(self, config: Mapping[str, Value]) -> list[str]:
        """The arguments as irace makes them: switch and value pasted together, then split at blanks.

        So a value may be no argument, or several. Quotes in it are characters like any other.
        """
        return [word for name, value in config.items() for word in (self._switch(name) + _irace_text(value)).split()]

    def _switch(self, name: str) -> str:
        return self.switches.get(name, f"--{name}=")

    def _render(self, name: str, texts: Mapping[str, str]) -> list[str]:
        template = self._template(name, texts[name])
        filled = []
        for token in _tokens(template):
            parts = list(token)
            for i in range(1, len(parts), 2):
                if (word := parts[i]) not in ("name", "value") and word not in texts:
                    raise InputError(f"the template {template!r} of {name} uses {word}, which is inactive here")
                parts[i] = name if word == "name" else texts[name if word == "value" else word]
            filled.append("".join(parts))
        return filled

    def _template(self, name: str, value: str) -> str:
        if name in self.templates:
            template = self.templates[name]
            return template if isinstance(template, str) else template[value]
        return self.switches[name] + "{value}" if name in self.switches else self.style

    def check(self, space: Space) -> None:
        """InputError for templates of unknown parameters or values, and for unknown placeholders."""
        for name in self.templates:
            if name not in space.parameters:
                raise InputError(f"a template for an unknown parameter {name!r}", hint=did_you_mean(name, space.names))
        for name in space.names:
            self._check_values(name, space)
            for template in self._all_templates(name):
                _check_placeholders(name, template, space)

    def _all_templates(self, name: str) -> Iterator[str]:
        template = self.templates.get(name)
        if isinstance(template, Mapping):
            yield from template.values()
        else:
            yield self._template(name, "")

    def _check_values(self, name: str, space: Space) -> None:
        template = self.templates.get(name)
        if not isinstance(template, Mapping):
            return
        parameter = space[name]
        if not isinstance(parameter, Discrete):
            raise InputError(f"{name} is a number: it takes one template, not one per value")
        values = {value_text(choice) for choice in parameter.choices}
        if missing := values - set(template):
            raise InputError(f"no template for the value {min(missing)!r} of {name}")
        if extra := set(template) - values:
            word = min(extra)
            raise InputError(f"a template for {word!r}, no value of {name}", hint=did_you_mean(word, values))


def _check_placeholders(name: str, template: str, space: Space) -> None:
    known = {"name", "value", *space.names}
    for word in _PLACEHOLDER.findall(template):
        if word not in known:
            raise InputError(f"unknown placeholder {{{word}}} in the template of {name}", hint=did_you_mean(word, known))
