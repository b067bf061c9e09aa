"""Looks at a built site: `check_links.py SITE` names each link that leads nowhere in it, and whatever a page would load from elsewhere."""
from __future__ import annotations

import html.parser
import pathlib
import sys
import urllib.parse

# Links to other sites are the reader's choice; these are fetched with the page.
LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("object", "data")}
# A link that only names where else a page is.
NAMES = {"canonical", "alternate", "edit"}


class Page(html.parser.HTMLParser):
    """The places that a page has, and where it leads."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__()
        self.places: set[str] = {""}
        self.links: list[tuple[str, bool]] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = dict(attrs)
        self.places.update(value for name in ("id", "name") if (value := has.get(name)))
        if has.get("rel") in NAMES:
            return
        self.links += [(value, (tag, name) in LOADED) for name, value in attrs if value and name in ("href", "src", "data")]


def troubles(site: pathlib.Path) -> list[str]:
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for link, is_loaded in page.links:
            to = urllib.parse.urlsplit(link)
            if to.scheme or to.netloc:
                if is_loaded and to.scheme != "data":
                    found.append(f"{path.relative_to(site)}: loads {link}")
                continue
            if to.path.startswith("/"):
                # The page for missing addresses is served at any depth.
                target = site / to.path.lstrip("/")
            else:
                target = (path.parent / urllib.parse.unquote(to.path)).resolve() if to.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{path.relative_to(site)}: {link} is not there")
            elif target in pages and urllib.parse.unquote(to.fragment) not in pages[target].places:
                found.append(f"{path.relative_to(site)}: {link} names no place of that page")
    return found


def main(folder: str) -> None:
    site = pathlib.Path(folder).resolve()
    if not (site / "index.html").exists() or not list(site.rglob("search_index.json")):
        raise SystemExit(f"{folder}: no site with a search is there")
    found = troubles(site)
    if found:
        raise SystemExit("\n".join(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
