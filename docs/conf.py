"""Sphinx's settings: `make docs` builds the site into docs/_build/html."""

import os
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]
os.environ.setdefault("OMP_NUM_THREADS", "1")

from centrality import __version__  # noqa: E402

project = "centrality"
author = "The centrality developers"
project_copyright = author
version = release = __version__
URLS = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_nb",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_sitemap",
    "api_pages",
    "cli_pages",
    "live_page",
    "search_words",
]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "jupyter_execute", "**.ipynb_checkpoints"]
suppress_warnings = ["myst.strikethrough", "config.cache"]
nitpicky = False

# Pages with code cells are executed when the site is built; what has not changed is taken from the cache.
nb_execution_mode = "cache"
# These pages read files that no package brings: without them they are shown without outputs.
FILES_OF_PAGES = {
    "tutorials/adult.md": "extra/adult_train.parquet",
    "tutorials/ag_news.md": "extra/ag_news_test.csv.gz",
}
DATA = Path(os.environ.get("CENTRALITY_DATA", "nowhere"))
nb_execution_excludepatterns = [page for page, file in FILES_OF_PAGES.items() if not (DATA / file).is_file()]
nb_execution_cache_path = str(HERE / "_build" / "jupyter_cache")
nb_execution_timeout = 600  # seconds a cell; all take less than 30 on a quiet machine
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_number_source_lines = False
nb_mime_priority_overrides = [("html", "text/html", 1), ("html", "image/png", 2)]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline", "attrs_block"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": False}
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
add_module_names = False
python_use_unqualified_type_names = True

html_theme = "pydata_sphinx_theme"
html_title = "centrality"
html_baseurl = URLS["Documentation"]
html_static_path = ["_static"]
html_extra_path = ["_extra", "_build/live"]  # the second one is written by _ext/live_page.py
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
sitemap_url_scheme = "{link}"
sitemap_show_lastmod = False
html_theme_options = {
    "logo": {"text": "centrality", "image_light": "_static/favicon.svg", "image_dark": "_static/favicon.svg"},
    "icon_links": [{"name": "Source", "url": URLS["Source"], "icon": "fa-solid fa-code-branch"}],
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": [
        "theme-switcher",
        "navbar-icon-links",
        *(["version-switcher"] if os.environ.get("CENTRALITY_DOCS_VERSIONS") else []),
    ],
    # CENTRALITY_DOCS_VERSIONS is the address of a JSON file that lists every version of the site with its address.
    **(
        {"switcher": {"json_url": os.environ["CENTRALITY_DOCS_VERSIONS"], "version_match": version}}
        if os.environ.get("CENTRALITY_DOCS_VERSIONS")
        else {}
    ),
    "check_switcher": False,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
}
html_context = {"default_mode": "auto"}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
html_meta = {}
myst_html_meta = {
    "description lang=en": "How typical is this data point? One trained model, one dial from global to local.",
    "property=og:title": "centrality: how typical is this data point?",
    "property=og:type": "website",
    "property=og:image": f"{URLS['Documentation']}_static/social_card.png",
}


def spread_out(app: object, env: object, docnames: list[str]) -> None:
    """Reorder the pages: Sphinx gives each process a run of neighbours, and the slow ones are neighbours."""
    docnames[:] = [name for start in range(8) for name in docnames[start::8]]


def setup(app: Any) -> None:
    app.connect("env-before-read-docs", spread_out)
