"""A bucket that throttles, read and written: named in every verdict, and no other bucket is. benches/objects does it 20 times."""

import sys

import pytest
from conftest import BINARY, ROOT

sys.path.append(str(ROOT / "benches/objects"))
from throttled import WAYS, verdicts  # noqa: E402


@pytest.mark.parametrize("way", WAYS)
def test_throttling_is_named(tmp_path, way):
    assert verdicts(BINARY, tmp_path, way, turns=1, objects=12, repeat=2) == (1, 0)
