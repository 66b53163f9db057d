"""The packages inside a package do not need each other in a circle. The contracts of import-linter
check this for an app. The tests here check every package, at any depth."""

from __future__ import annotations

import pytest

from tests.architecture import imports

pytestmark = pytest.mark.once


def test_no_packages_need_each_other() -> None:
    knotted = [each for each in imports.packages() if imports.knots(imports.inside(each))]

    assert knotted == []
