"""One browser for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.report.html.browser import Browser


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    made = Browser(tmp_path_factory.mktemp("downloads"))
    yield made
    made.driver.quit()
