import functools
import json
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.errors import fails
from tools.docs_site import add

DOCS = Path(__file__).resolve().parents[2] / "docs"
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)


def pages(folder: Path, *names: str) -> Path:
    """Make a version's pages, with the sidebar's choice as Sphinx fills it in."""
    shutil.rmtree(folder, ignore_errors=True)
    choice = (DOCS / "_templates/sidebar/versions.html").read_text(encoding="utf-8")
    script = (DOCS / "_static/versions.js").read_text(encoding="utf-8")
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        root = "../" * name.count("/") or "./"
        body = choice.replace("{{ content_root }}", root)
        path.write_text(f"<title>{name}</title>{body}<script>{script}</script>", encoding="utf-8")
    return folder


def listed(site: Path) -> list[str]:
    found: list[str] = json.loads((site / "versions.json").read_text(encoding="utf-8"))
    return found


def test_versions_stand_beside_each_other_the_newest_first(tmp_path: Path) -> None:
    built, site = tmp_path / "built", tmp_path / "site"
    for version in ("0.9.1", "main", "0.10.0", "0.9"):
        add(pages(built, "index.html", "a.html"), site, version)
    assert listed(site) == ["0.10.0", "0.9.1", "0.9", "main"]
    assert 'content="0; url=0.10.0/"' in (site / "index.html").read_text(encoding="utf-8")
    add(pages(built, "index.html"), site, "0.9.1")
    assert not (site / "0.9.1" / "a.html").exists()
    assert (site / "0.9" / "a.html").is_file()
    assert len(listed(site)) == 4


def test_what_is_no_version_is_an_error(tmp_path: Path) -> None:
    fails(r"has no index\.html: run 'make docs' first", add, tmp_path, tmp_path / "site", "1.0")
    built = pages(tmp_path / "built", "index.html")
    for name in ("", "..", "a/b"):
        fails("a version is a folder of the site, got ", add, built, tmp_path / "site", name)


class Site(ThreadingHTTPServer):
    """A server of a folder; it keeps what was asked."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
        self.address = f"http://127.0.0.1:{self.server_port}"


class Handler(SimpleHTTPRequestHandler):
    server: Site

    def log_message(self, format: str, *arguments: Any) -> None:
        self.server.asked.append(f"{self.command} {self.path}")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Site]:
    with Site(tmp_path / "site") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def browser(tmp_path: Path, *options: str) -> list[str]:
    own = f"--user-data-dir={tmp_path / 'profile'}"
    return [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", own, *options]


def dom(url: str, tmp_path: Path) -> str:
    line = browser(tmp_path, "--dump-dom", "--virtual-time-budget=5000", url)
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium on this machine")
def test_a_page_offers_its_other_versions(tmp_path: Path, server: Site) -> None:
    built, site = tmp_path / "built", tmp_path / "site"
    url = f"{server.address}/1.0/guides/a.html"
    add(pages(built, "index.html", "guides/a.html"), site, "1.0")
    assert '<div class="versions" hidden' in dom(url, tmp_path)
    add(pages(built, "index.html"), site, "2.0")
    # Another browser: this one keeps what a server says it has not changed within the second.
    shown = dom(url, tmp_path / "other")
    assert '<div class="versions">' in shown
    options = re.findall(r"<option value=\"([^\"]+)\"( selected)?", shown)
    assert options == [("2.0", ""), ("1.0", " selected")]


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium on this machine")
@pytest.mark.parametrize(("version", "goal"), [("1.1", "guides/a.html"), ("2.0", "")])
def test_a_choice_leads_to_the_same_page_or_else_the_first(
    tmp_path: Path, server: Site, version: str, goal: str
) -> None:
    built, site = tmp_path / "built", tmp_path / "site"
    for name in ("1.0", "1.1"):
        add(pages(built, "index.html", "guides/a.html"), site, name)
    add(pages(built, "index.html"), site, "2.0")
    choose = f"""<script>setTimeout(() => {{
        const select = document.getElementById("versions");
        select.value = "{version}";
        select.dispatchEvent(new Event("change"));
    }}, 1000)</script>"""
    with (site / "1.0" / "guides" / "a.html").open("a", encoding="utf-8") as page:
        page.write(choose)
    url = f"{server.address}/1.0/guides/a.html"
    running = subprocess.Popen(
        browser(tmp_path, "--remote-debugging-port=0", url),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + 60
        while f"GET /{version}/{goal}" not in server.asked and time.monotonic() < end:
            time.sleep(0.1)
    finally:
        running.terminate()
        running.wait(timeout=30)
    assert f"HEAD /{version}/guides/a.html" in server.asked
    assert f"GET /{version}/{goal}" in server.asked
