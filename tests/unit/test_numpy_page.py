"""The page `docs/numpy.md` is what `tests/numpy_page.py` writes, and every name on it has its state."""

from pathlib import Path

import pytest
from numpy_page import VERSION, page

PAGE = Path(__file__).parents[2] / "docs" / "numpy.md"


def test_the_page_is_up_to_date():
    text = PAGE.read_text()
    if f"NumPy {VERSION} " not in text:
        pytest.skip(f"the page is of another release of NumPy than {VERSION}")
    assert text == page()


def test_every_name_has_its_state():
    assert "not yet" not in page()
