"""Puts the site's pages together: `stage.py TARGET RONDE` writes them, and the configuration of MkDocs, below TARGET.

The pages are the README and what it leads to, at the paths they have in the repository, so that their links hold; the reference
of C is read from the headers, that of Python from the package, and the gallery is made by commands.
"""
from __future__ import annotations

import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import c_reference  # noqa: E402
import gallery  # noqa: E402
import python_reference  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Links in text, not in code.
LINK = re.compile(r"(?<!`)(!?\[[^\]\n]*\]\()([^)\s#]+)(#[^)\s]*)?(\))")
FENCE = re.compile(r"^```(\w+) .*$", re.MULTILINE)


def target_of(page: pathlib.Path, link: str) -> pathlib.Path:
    """What a link leads to, relative to the root; a folder's page is its README."""
    path = (ROOT / page.parent / link).resolve()
    if not path.exists():
        raise SystemExit(f"{page}: a link to {link}, which is not there")
    if path.is_dir():
        path /= "README.md"
    return path.relative_to(ROOT)


def staged(page: pathlib.Path, text: str, found: list[pathlib.Path]) -> str:
    """The page as MkDocs takes it; what it links to is added to `found`."""
    def link(match: re.Match[str]) -> str:
        before, address, anchor, after = match[1], match[2], match[3] or "", match[4]
        if re.match(r"[a-z]+:", address):
            return match[0]
        target = target_of(page, address)
        found.append(target)
        return f"{before}{pathlib.Path(*['..'] * len(page.parent.parts)) / target}{anchor}{after}"
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [LINK.sub(link, part) for part in parts[::2]]
    return FENCE.sub(r"```\1", "".join(parts))


def stage_pages(folder: pathlib.Path) -> list[pathlib.Path]:
    """The README and everything that can be reached from it."""
    waiting, done = [pathlib.Path("README.md"), *sorted(path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md"))], []
    while waiting:
        page = waiting.pop()
        if page in done:
            continue
        done.append(page)
        copy = folder / page
        copy.parent.mkdir(parents=True, exist_ok=True)
        if page.suffix == ".md":
            copy.write_text(staged(page, (ROOT / page).read_text(encoding="utf-8"), waiting), encoding="utf-8")
        else:
            shutil.copyfile(ROOT / page, copy)
    return sorted(page for page in done if page.suffix == ".md")


def navigation(template: str, pages: list[pathlib.Path], headers: list[str]) -> str:
    """The configuration, with lists of pages for its marks."""
    named = ("README.md", "docs/guide/tour.md", "docs/guide/python.md")
    rest = [str(page) for page in pages if str(page) not in named]
    folders = {"GUIDE": "docs/guide/", "REFERENCE": "docs/reference/", "RESULTS": "docs/results/"}
    lists = {mark: [page for page in rest if page.startswith(folder)] for mark, folder in folders.items()}
    lists["C"] = headers
    lists["INSIDE"] = [page for page in rest if not any(page.startswith(folder) for folder in folders.values())]
    for mark, entries in lists.items():
        template = template.replace(f" !{mark}", "".join(f"\n      - {entry}" for entry in entries))
    return template


def main(target: str, ronde: str) -> None:
    folder = pathlib.Path(target).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pages = stage_pages(folder)
    headers = c_reference.write(ROOT, folder)
    python_reference.write(ROOT / "bindings/python/ronde", folder / "python.md")
    gallery.write(ROOT, folder, ronde)
    configuration = (pathlib.Path(__file__).with_name("mkdocs.yml")).read_text(encoding="utf-8")
    configuration = configuration.replace("../../build/site-pages", str(folder)).replace("../../build/site", str(folder.parent / "site"))
    (folder.parent / "site.yml").write_text(navigation(configuration, pages, headers), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
