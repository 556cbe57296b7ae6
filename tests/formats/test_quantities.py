from __future__ import annotations

import pytest

from capra.errors import InputError
from capra.formats.quantities import duration, size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("1h30m", 5400), ("20h", 72000), ("250ms", 0.25), ("2d", 172800), ("1.5h", 5400), ("15 min", 900), ("7", 7), (3600.0, 3600), (5, 5)],
)  # fmt: skip
def test_durations(text: object, seconds: float) -> None:
    assert duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "h",
        "1 hour",
        "-3s",
        "1h-2m",
        "nan",
        "inf",
        0,
        -1,
        True,
        None,
        float("inf"),
        "0s",
        "9" * 400,
        pytest.param(10**400, id="10**400"),
    ],
)
def test_no_durations(text: object) -> None:
    with pytest.raises(InputError):
        duration(text)


@pytest.mark.parametrize(
    ("text", "bytes_"), [("2GB", 2 * 1024**3), ("512M", 512 * 1024**2), ("512MiB", 512 * 1024**2), ("1k", 1024), ("100 B", 100), (3072, 3072 * 1024**2), ("64", 64 * 1024**2)]
)  # fmt: skip
def test_sizes(text: object, bytes_: int) -> None:
    assert size(text) == bytes_


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "2 gigs", 0, None, "nan", pytest.param(10**400, id="10**400"), 1e308])
def test_no_sizes(text: object) -> None:
    with pytest.raises(InputError):
        size(text)
