"""Hostile input: refused with a line number, quickly, and never run."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from capra.errors import FormatError
from capra.formats.text import LONGEST_LINE, numbered_lines
from capra.space import Space
from capra.space.files import SPACE_FORMATS, read_space
from capra.space.irace import parse_irace
from capra.space.json import parse_json
from capra.space.pcs import parse_pcs

SHARED = Path(__file__).parents[3] / "shared" / "data"

OLD = """\
# a small solver
@1:heuristic {Berkmin,Vmtf,Vsids}[Vsids]
decay [70,99][95]i
restart-inc [1.1,4][1.5]l # factor
size [1,512][64]il
freq {0,0.001,0.05}[0]
Conditionals:
decay | @1:heuristic in {Vsids}
size | @1:heuristic in {Berkmin, Vmtf}
size | freq in {0.001,0.05}
Forbidden:
{@1:heuristic=Vsids,freq=0.05}
{decay=70,freq=0.001}
"""
NEW = """\
heuristic categorical {Berkmin, Vmtf, Vsids} [Vsids]
decay integer [70, 99] [95]
inc real [1.1, 4] [1.5] log
level ordinal {low, mid, high} [mid]
size integer [1, 512] [64] log
decay | heuristic == Vsids && level > low || inc < 2
size | heuristic in {Berkmin, Vmtf}
{heuristic=Berkmin, level=high}
{inc^2 + abs(size - 8) / 4 > 60 && heuristic != 'Vsids'}
"""
JSON = json.dumps(
    {
        "name": "solver",
        "hyperparameters": [
            {"type": "categorical", "name": "heur", "choices": ["a", "b", 3], "weights": None, "default_value": "a"},
            {"type": "uniform_int", "name": "size", "lower": 1, "upper": 64, "default_value": 8, "log": True},
            {"type": "uniform_float", "name": "rate", "lower": 0.0, "upper": 1.0, "default_value": 0.5, "log": False},
            {"type": "ordinal", "name": "level", "sequence": ["low", "high"], "default_value": "low", "meta": None},
            {"type": "constant", "name": "k", "value": True},
        ],
        "conditions": [
            {"type": "EQ", "child": "size", "parent": "heur", "value": "b"},
            {
                "type": "OR",
                "child": "rate",
                "conditions": [
                    {"type": "GT", "child": "rate", "parent": "size", "value": 3},
                    {"type": "IN", "child": "rate", "parent": "heur", "values": ["a", 3]},
                ],
            },
        ],
        "forbiddens": [
            {
                "type": "AND",
                "clauses": [
                    {"type": "EQUALS", "name": "heur", "value": 3},
                    {"type": "IN", "name": "level", "values": ["high"]},
                ],
            },
            {"type": "RELATION_LT", "left": "size", "right": "rate"},
        ],
        "format_version": 0.4,
    },
    indent=1,
)
IRACE = """\
# name   switch      type   values     conditions
algo     "--"        c      (as, mmas, acs)
ants     "--ants "   i,log  (5, 100)
q0       "--q0 "     r      (0.0, 1.0) | algo == "acs" & ants %in% c(5, 10)
rank     '--rank '   i      (1, 50)    | !(algo == "as") | q0^2 + 1 > 1.5
level    "-l"        o      (low, "very high")
[forbidden]
(q0 == 0.0) & (ants >= 50)
rank %% 7 == 3
[global]
digits = 4
"""
SAMPLES = {"old": (parse_pcs, OLD), "new": (parse_pcs, NEW), "json": (parse_json, JSON), "irace": (parse_irace, IRACE)}
HUGE = "9" * 5000

Reader = Callable[[str], Space]


def test_the_samples_are_sound() -> None:
    for parse, text in SAMPLES.values():
        assert len(parse(text)) >= 5


# --- one hostile thing at a time ---


def entry(**changes: object) -> str:
    plain = {"type": "categorical", "name": "a", "choices": ["x", "y"], "default_value": "x"}
    return json.dumps({"hyperparameters": [{**plain, **changes}]})


def integer(**changes: object) -> str:
    return entry(type="uniform_int", **{"lower": 0, "upper": 9, "default_value": 1, **changes})


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        # trailing garbage, code
        (parse_pcs, "a {x,y}[x] garbage\n"),
        (parse_pcs, "a {x,y}[x]; import os\n"),
        (parse_pcs, "a {x,y}[x]\nb {u,v}[u]\nb | a in {x}; import os\n"),
        (parse_pcs, "a {x,y}[x]\n{a=y}; import os\n"),
        (parse_pcs, "a real [0,1] [0] log; import os\n"),
        (parse_pcs, "a real [0,1] [0]\n{__import__('os').system('touch owned') == 1}\n"),
        (parse_pcs, "a [0,__import__('os')][0]\n"),
        (parse_pcs, "a real [0,1] [0]\n{a == 1} # fine\n{(lambda: 1)() == 1}\n"),
        (parse_irace, 'a "" c (x,y) garbage\n'),
        (parse_irace, 'a "" c (x,y); import os\n'),
        (parse_irace, 'a "" c (x,y)\nb "" c (u,v) | system("touch owned") == 0\n'),
        (parse_irace, 'a "" c (x,y)\nb "" c (u,v) | a == "x"; q()\n'),
        (parse_irace, 'a "" i (0, system("touch owned"))\n'),
        (parse_irace, 'a "" c (x,y)\n[forbidden]\neval(parse(text="1")) == 1\n'),
        (parse_json, entry() + "; import os"),
        (parse_json, entry() + "garbage"),
        # duplicate names
        (parse_pcs, "a {x}[x]\na {x}[x]\n"),
        (parse_irace, 'a "" c (x)\na "" c (x)\n'),
        (parse_json, json.dumps({"hyperparameters": [json.loads(entry())["hyperparameters"][0]] * 2})),
        (parse_json, '{"hyperparameters": [{"name": "a", "name": "b"}]}'),
        # defaults
        (parse_pcs, "a {x,y}[z]\n"),
        (parse_pcs, "a [0,1][2]\n"),
        (parse_json, entry(default_value="z")),
        (parse_json, integer(default_value=10)),
        (parse_pcs, "a {x,y}[x]\n{a=x}\n"),
        (parse_pcs, "a real [0,1] [0]\n{a < 0.5}\n"),
        (parse_json, entry()[:-1] + ', "forbiddens": [{"type": "EQUALS", "name": "a", "value": "x"}]}'),
        # nothing is left
        (parse_pcs, "a {x,y}[x]\n{a=x}\n{a=y}\n"),
        (parse_pcs, "a integer [0,1000000] [0]\nb integer [0,1000000] [0]\n{a + b > 1}\n"),
        (parse_irace, 'a "" i (0,9)\n[forbidden]\na >= 0\n'),
        (parse_json, entry()[:-1] + ', "forbiddens": [{"type": "IN", "name": "a", "values": ["x", "y"]}]}'),
        # huge numbers
        (parse_pcs, f"a [0,{HUGE}][1]i\n"),
        (parse_pcs, f"a [0,{HUGE}][1]\n"),
        (parse_pcs, "a integer [0,1e400] [1]\n"),
        (parse_pcs, f"a integer [0,9] [1]\n{{a == {HUGE}}}\n"),
        (parse_pcs, f"a integer [0,9] [1]\n{{a + {HUGE} < 5}}\n"),
        (parse_pcs, f"a integer [0,9] [1]\nb real [0,1] [0]\nb | a < {HUGE}\n"),
        (parse_irace, f'a "" i (0,{HUGE})\n'),
        (parse_irace, 'a "" i,log (1e300,1.5e301)\n'),
        (parse_irace, 'a "" r (1e308,1.5e308)\n'),
        (parse_json, integer(upper=10**400)),
        (parse_json, integer().replace("9", HUGE)),
        (parse_json, entry(type="uniform_float", lower=0, upper=10**400, default_value=1)),
        (parse_json, entry(choices=["x", 10**400])),
        (parse_json, integer()[:-1] + f', "forbiddens": [{{"type": "EQUALS", "name": "a", "value": {10**400}}}]}}'),
        (parse_json, integer(upper=float("inf"))),
        # characters
        (parse_json, entry(choices=["x", "a\0b"])),
        (parse_json, entry(name="a\0b")),
        (parse_json, entry(name="")),
        (parse_json, entry(choices=["x", "\ud800"])),
        # size and depth
        (parse_pcs, "a {" + ",".join(map(str, range(150_000))) + "}[0]\n"),
        (parse_pcs, "a {" + ",".join(map(str, range(60_000))) + ",59999}[0]\n"),
        (parse_pcs, "a {x}[x]\na | " + "b" * 900_000 + " in {x}\n"),
        (parse_pcs, "b" * 900_000 + " {x}[x]\n"),
        (parse_pcs, "a {" + "x" * 400_000 + "}[" + "y" * 400_000 + "]\n"),
        (parse_pcs, "a {x}[x]" + " " * 900_000 + "z\n"),
        (parse_pcs, "a real [0,1] [0]\n{" + "(" * 9000 + "a > 1" + ")" * 9000 + "}\n"),
        (parse_pcs, "a real [0,1] [0]\n{" + "a+" * 9000 + "a > 1}\n"),
        (parse_pcs, "a real [0,1] [0]\n{a > " + "-" * 9000 + "1}\n"),
        (parse_irace, 'a "" r (0,1) | ' + "!" * 9000 + "(a > 1)\n"),
        (parse_irace, 'a "" r (0,1)\n[forbidden]\n' + "a > 1 & " * 90_000 + "a > 1\n"),
        (parse_json, '{"hyperparameters": ' + "[" * 400_000),
        (parse_json, '{"hyperparameters": ' + '{"a":' * 100_000),
        (parse_pcs, "\n".join(f"p{i} {{x}}[x]" for i in range(20_001))),
        # emptiness
        (parse_pcs, ""),
        (parse_irace, "\n\n# nothing\n"),
        (parse_json, "{}"),
        (parse_json, "null"),
        (parse_json, ""),
    ],
    ids=lambda value: getattr(value, "__name__", None) or re.sub(r"[^ -~]", "?", value[:40]),
)
def test_refused_with_a_line(parse: Reader, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    started = time.process_time()
    with pytest.raises(FormatError) as caught:
        parse(text)
    assert caught.value.line is not None
    assert 1 <= caught.value.line <= text.count("\n") + 1
    assert len(str(caught.value)) < 2500
    assert time.process_time() - started < 5.0
    assert not list(tmp_path.iterdir()), "something was run"


@pytest.mark.parametrize("kind", SAMPLES)
def test_endless_lines_are_refused(kind: str) -> None:
    parse, text = SAMPLES[kind]
    for filler in (" ", "a", "(", "{", '"'):
        lines = text.splitlines()
        lines[2] += filler * 10 * 1024 * 1024
        with pytest.raises(FormatError, match="characters, more than") as caught:
            parse("\n".join(lines))
        assert caught.value.line == 3


def test_the_longest_line_is_still_read() -> None:
    assert list(numbered_lines("x" * LONGEST_LINE, "f")) == [(1, "x" * LONGEST_LINE)]


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize(
    ("bad", "words"),
    [(b"\0", "NUL byte"), (b"\xff", "not UTF-8"), (b"\xc3\x28", "not UTF-8"), (b"\xed\xa0\x80", "not UTF-8")],
)
def test_bytes_that_are_no_text_are_refused(kind: str, bad: bytes, words: str, tmp_path: Path) -> None:
    lines = SAMPLES[kind][1].encode().split(b"\n")
    lines[3] = lines[3][:2] + bad + lines[3][2:]
    path = tmp_path / "file"
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(FormatError, match=words) as caught:
        read_space(path)
    assert (caught.value.line, caught.value.column) == (4, 3)


def test_recognising_a_format_takes_no_time(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for text in ("\n" * 300_000, " \n" * 300_000, "a '" * 200_000, "a\n" * 200_000 + "x", "{" * 500_000, "a " * 400_000):
        path.write_text(text)
        started = time.process_time()
        with pytest.raises(FormatError):
            read_space(path)
        assert time.process_time() - started < 5.0, text[:10]


def test_many_names_in_many_clauses_take_no_time() -> None:
    names = [f"parameter_{i}" for i in range(2000)]
    text = "\n".join(
        [*(f"{name} real [0,1] [0]" for name in names), *(f"{{{name} > 0.999 && {name} < 0.9991}}" for name in names)]
    )
    started = time.process_time()
    assert len(parse_pcs(text).forbidden) == 2000
    document = {"type": "uniform_int", "lower": 0, "upper": 9, "default_value": 1}
    entries = [{**document, "name": name} for name in names]
    assert len(parse_json(json.dumps({"hyperparameters": entries}, indent=1))) == 2000
    assert time.process_time() - started < 5.0


# --- fuzzing ---


fuzz = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])

TOKENS = (
    "[ ] { } ( ) , | || & && ! != = == < > <= >= # ' \" \\ : ; . - + * / ^ % %% %in% c( in log il i l NaN null true 0 1 -1 1e999 "
    "-0 0x1 9999999999999999999 \n \r \t \x0b \x85 \u2028 é \U0001f600 categorical real integer ordinal [forbidden] [global] "
    '"name" "type" "AND" "lower": "values":'
).split(" ")


@st.composite
def mutated(draw: st.DrawFn, text: str) -> str:
    """The text after a few cuts, copies, swaps and insertions."""
    for _ in range(draw(st.integers(1, 6))):
        a, b = sorted([draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))])
        b = min(b, a + draw(st.sampled_from([0, 1, 3, 20, 200])))
        match draw(st.sampled_from(["cut", "copy", "insert", "replace", "move", "word"])):
            case "cut":
                text = text[:a] + text[b:]
            case "copy":
                text = text[:b] + text[a:b] * draw(st.integers(1, 3)) + text[b:]
            case "insert":
                text = text[:a] + draw(st.text(max_size=5)) + text[a:]
            case "replace":
                text = text[:a] + draw(st.sampled_from(TOKENS)) + text[b:]
            case "move":
                text = text[:a] + text[b : b + 20] + text[a:b] + text[b + 20 :]
            case "word":
                text = _exchange_words(text, draw(st.integers(0, 2**32)))
    return text


def _exchange_words(text: str, seed: int) -> str:
    """One word of the file in the place of another: still words it knows, in places it does not expect."""
    words = list(re.finditer(r"[\w.]+", text))
    if len(words) < 2:
        return text
    rng = random.Random(seed)
    old, new = rng.choice(words), rng.choice(words)
    return text[: old.start()] + new[0] + text[old.end() :]


def reads_or_refuses(parse: Reader, text: str) -> None:
    started = time.process_time()
    try:
        space = parse(text)
        sound = space.configuration(space.default) == space.default
    except FormatError as error:
        sound = error.line is not None
    assert sound
    assert time.process_time() - started < 5.0


@pytest.mark.parametrize("kind", SAMPLES)
@fuzz
@given(st.data())
def test_mutated_files_are_read_or_refused(kind: str, data: st.DataObject) -> None:
    parse, text = SAMPLES[kind]
    reads_or_refuses(parse, data.draw(mutated(text)))


@pytest.mark.parametrize("kind", SPACE_FORMATS)
@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
@example("|")
@example("{")
@example("[forbidden]\n1")
@example("a {x}[x]\n{a=x,}")
@example('{"hyperparameters": [0]}')
def test_any_text_is_read_or_refused(kind: str, text: str) -> None:
    reads_or_refuses(SPACE_FORMATS[kind][0], text)


def real_files() -> list[Path]:
    return sorted([*SHARED.glob("aclib/*.pcs"), *SHARED.glob("irace/*parameters*.txt"), *SHARED.glob("solvers/*.pcs")])


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_mutated_real_files_are_read_or_refused(data: st.DataObject) -> None:
    files = real_files()
    if not files:
        pytest.skip(f"no real files: {SHARED} is not there")
    path = data.draw(st.sampled_from(files))
    parse = parse_irace if path.suffix == ".txt" else parse_pcs
    reads_or_refuses(parse, data.draw(mutated(path.read_text())))


def test_real_files_are_read() -> None:
    files = real_files()
    if not files:
        pytest.skip(f"no real files: {SHARED} is not there")
    sizes = {path.name: len(read_space(path)) for path in files}
    assert sizes["lingeling.pcs"] == 322
    assert sizes["clasp-3.1.4.pcs"] == 98
    assert sizes["leading_ones-100.pcs"] == 100
    assert sizes["Spear-parameters-mixed.txt"] == 26
    assert sizes["acotsp-parameters-acotsp.txt"] == 11
