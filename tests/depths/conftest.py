import pytest


@pytest.fixture(scope="package")
def package():
    """The multivariate depths of the `data-depth` package."""
    return pytest.importorskip("depth.model.multivariate", reason="`make test` installs data-depth where it can")
