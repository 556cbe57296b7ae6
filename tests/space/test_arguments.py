"""Configurations as command-line arguments."""

from __future__ import annotations

import pytest

from capra.errors import InputError
from capra.space import Categorical, Integer, Real, Space, equals
from capra.space.arguments import Arguments, value_text

SPACE = Space(
    [
        Categorical("pre", ("yes", "no"), "yes"),
        Categorical("on", (True, False), True),
        Integer("n", 1, 100, 10),
        Real("r", 0.0, 1.0, 0.5),
    ],
    {"r": equals("pre", "yes")},
)


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (False, "false"), (1, "1"), (0.1, "0.1"), (1e-5, "1e-05"), ("a b", "a b")]
)
def test_value_text(value: object, text: str) -> None:
    assert value_text(value) == text


def test_the_style_serves_all() -> None:
    config = {"pre": "yes", "on": False, "n": 3, "r": 0.25}
    assert Arguments().tokens(config) == ["--pre=yes", "--on=false", "--n=3", "--r=0.25"]
    assert Arguments("-{name} {value}").tokens({"n": 3}) == ["-n", "3"]


def test_values_with_blanks_and_shell_signs_stay_one_argument() -> None:
    assert Arguments("-{name} {value}").tokens({"c": "a b; rm -rf $HOME {n}"}) == ["-c", "a b; rm -rf $HOME {n}"]


def test_own_templates() -> None:
    arguments = Arguments(templates={"pre": {"yes": "--pre", "no": "--no-pre"}, "on": "", "n": "--restarts={value},{r}"})
    arguments.check(SPACE)
    assert arguments.tokens({"pre": "yes", "on": True, "n": 3, "r": 0.5}) == ["--pre", "--restarts=3,0.5", "--r=0.5"]


def test_a_template_that_needs_an_inactive_parameter() -> None:
    arguments = Arguments(templates={"n": "--restarts={value},{r}"})
    with pytest.raises(InputError, match="uses r, which is inactive"):
        arguments.tokens({"pre": "no", "n": 3})


def test_switches_join_their_value() -> None:
    arguments = Arguments(switches={"pre": "--", "n": "--ants "})
    assert arguments.tokens({"pre": "yes", "n": 5}) == ["--yes", "--ants", "5"]


def test_pasted_values_are_split_and_rendered_ones_are_not() -> None:
    arguments = Arguments(switches={"pre": "", "n": "--ants "})
    config = {"pre": "--ls 1", "n": 5, "r": 1e-7}
    assert arguments.pasted(config) == ["--ls", "1", "--ants", "5", "--r=0.0000001"]
    assert arguments.tokens(config) == ["--ls 1", "--ants", "5", "--r=1e-07"]
    assert arguments.pasted({"pre": " "}) == []


@pytest.mark.parametrize(
    ("templates", "words", "hint"),
    [
        ({"pree": ""}, "unknown parameter 'pree'", "did you mean 'pre'?"),
        ({"pre": "--{valeu}"}, "unknown placeholder {valeu}", "did you mean 'value'?"),
        ({"pre": {"yes": "--pre"}}, "no template for the value 'no'", None),
        ({"pre": {"yes": "a", "no": "b", "yess": "c"}}, "'yess', no value of pre", "did you mean 'yes'?"),
        ({"n": {"1": "--one"}}, "one template, not one per value", None),
        ({"on": {"True": "", "False": ""}}, "no template for the value 'false'", None),
    ],
)
def test_bad_templates_are_found_before_they_are_used(templates: dict, words: str, hint: str | None) -> None:
    with pytest.raises(InputError, match=words) as caught:
        Arguments(templates=templates).check(SPACE)
    assert caught.value.hint == hint


def test_a_bad_style_is_found() -> None:
    with pytest.raises(InputError, match="unknown placeholder"):
        Arguments("--{nmae}={value}").check(SPACE)
