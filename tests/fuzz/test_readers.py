"""Every reader with its example, with damaged examples, and with any bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capra.errors import InputError
from tests.fuzz.readers import EXAMPLES, READERS, attempt

NOISE = [
    b"\0",
    b"=",
    b"'",
    b'"',
    b"#",
    b"\n",
    b"{",
    b"[",
    b"(",
    b"nan",
    b"-1",
    b"1e999",
    b"9" * 400,
    b"\xff",
    b"\xef\xbb\xbf",
    b"[" * 2000,
]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_is_read(name: str) -> None:
    READERS[name][0](EXAMPLES[name]())


@pytest.mark.parametrize("name", EXAMPLES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_damaged_examples_are_read_or_refused(name: str, data: st.DataObject) -> None:
    text = EXAMPLES[name]()
    for _ in range(data.draw(st.integers(1, 4))):
        at, cut = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 5))
        text = text[:at] + data.draw(st.binary(max_size=4) | st.sampled_from(NOISE)) + text[at + cut :]
    attempt(name, text)


@pytest.mark.parametrize("name", EXAMPLES)
@settings(max_examples=10, deadline=None)
@given(data=st.binary(max_size=100))
def test_any_bytes_are_read_or_refused(name: str, data: bytes) -> None:
    attempt(name, data)


@pytest.mark.parametrize("document", ["0", "null", '["codes"]', '"json"'])
def test_rules_that_are_no_table(document: str) -> None:
    with pytest.raises(InputError, match="expected a table"):
        READERS["output"][0](document.encode())
