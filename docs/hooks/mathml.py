"""Formulas become MathML while the site is built, so a reader's browser needs no script and no network.

`pymdownx.arithmatex` (generic) leaves `\\(…\\)` in a span and `\\[…\\]` in a div; MkDocs hands every page's HTML to
`on_page_content`, and latex2mathml writes the rest. A formula that cannot be read stops the build, with its page.
"""

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

FORMULA = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', re.DOTALL)


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """The page with every formula written as MathML."""

    def replace(found: re.Match[str]) -> str:
        latex = html.unescape(found[2]).strip()[2:-2].strip()
        display = "block" if found[1] == "div" else "inline"
        try:
            formula = convert(latex, display=display)
        except Exception as error:  # latex2mathml has many error classes and no common one
            raise PluginError(f"{page.file.src_uri}: cannot read the formula {latex!r}: {error!r}") from error
        return f'<div class="formula" tabindex="0">{formula}</div>' if display == "block" else formula

    return FORMULA.sub(replace, content)
