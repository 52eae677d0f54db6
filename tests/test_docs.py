"""Every Python block of the documents runs; every link between them leads somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.md")])
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]


def blocks(path):
    """The Python blocks of a document, each as long as the text before it so that errors tell the right line."""
    text = path.read_text(encoding="utf-8")
    for match in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S):
        yield "\n" * (text[: match.start()].count("\n") + 1) + match[1]


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if any(blocks(path))], ids=lambda path: path.stem)
def test_python_blocks_run(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {"__name__": path.stem}
    for block in blocks(path):
        exec(compile(block, str(path), "exec"), names)


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            file, _, anchor = target.partition("#")
            linked = (path.parent / file) if file else path
            assert linked.exists(), target
            if anchor:
                headings = re.findall(r"^#+ (.+)$", linked.read_text(encoding="utf-8"), re.M)
                assert anchor in {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_every_page_is_listed():
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    for path in (ROOT / "docs").glob("*.md"):
        assert path.name == "index.md" or f"]({path.name})" in index, path.name
