"""The names of the package, and what importing it costs."""

import subprocess
import sys

import pytest


def test_every_name_that_dir_tells_can_be_had():
    import centrality
    from centrality import representations

    for module, some in ((centrality, {"FUSE", "load", "depths"}), (representations, {"Table", "Text"})):
        assert some <= set(dir(module))
        assert all(getattr(module, name) is not None for name in dir(module))
        with pytest.raises(AttributeError, match="no attribute 'FUES'"):
            module.FUES  # noqa: B018


@pytest.mark.slow
def test_importing_the_package_imports_nothing_heavy():
    script = "import centrality, sys; print(sorted({'torch', 'sklearn', 'pyarrow', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
