"""The dashboard is served as files of fixed names, under a policy that runs nothing but them."""

import gzip
import json
import posixpath
import re
import shutil
import subprocess
from pathlib import Path

import azure.functions as func
import pytest

from scripts import package, vendor
from tests.hosting import ROOT
from triggers.http_codec import accepts_gzip
from triggers.http_page import (
    ASKED_AGAIN,
    FOLDER,
    KEPT_FOR_GOOD,
    PageFiles,
    file_at,
    file_response,
    get_dashboard,
    modules_ahead,
    page_http,
    read_files,
)

MAX_BYTES = 200_000
"""All that a browser can load of the dashboard, compressed."""


@pytest.fixture(scope="module")
def files() -> PageFiles:
    return read_files(FOLDER)


def request(**headers: str) -> func.HttpRequest:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return func.HttpRequest("GET", "http://localhost/api/dashboard", headers=named, body=b"")


@pytest.mark.parametrize("path", ["", "tools/Nimbry", "no/such/view", "../host.json"])
def test_every_path_that_is_no_asset_gets_the_page_which_is_asked_for_again(files: PageFiles, path: str) -> None:
    assert file_at(files, path) == (files.page, ASKED_AGAIN)


def test_an_asset_is_kept_for_good_under_the_digest_of_all_files(files: PageFiles) -> None:
    asset = files.assets["dashboard/app.js"]
    assert file_at(files, f"assets/{files.digest}/dashboard/app.js") == (asset, KEPT_FOR_GOOD)
    assert file_at(files, "assets/earlier/dashboard/app.js") == (asset, ASKED_AGAIN)


@pytest.mark.parametrize(
    "path", ["assets/", "assets/x/", "assets/x/../../../host.json", "assets/x/dashboard/README.md"]
)
def test_only_files_that_were_read_are_served(files: PageFiles, path: str) -> None:
    assert file_at(files, path) is None


def loaded_by(files: PageFiles, name: str, seen: set[str]) -> set[str]:
    """The module and all that it imports at once."""
    if name not in seen:
        seen.add(name)
        for found in re.findall(r'from "(\.[^"]+)"', files.assets[name].content.decode()):
            loaded_by(files, posixpath.normpath(posixpath.join(posixpath.dirname(name), found)), seen)
    return seen


def test_the_page_of_a_tool_names_all_modules_of_its_view_ahead(files: PageFiles) -> None:
    begun = f"/api/dashboard/assets/{files.digest}/"
    ahead = set(re.findall(rf"<{begun}([^>]+)>; rel=modulepreload", modules_ahead(files, "tools/Nimbry")["Link"]))
    for_all = set(re.findall(rf'modulepreload" href="{begun}([^"]+)"', files.page.content.decode()))
    assert loaded_by(files, "dashboard/views/tool.js", set()) - for_all == ahead
    assert modules_ahead(files, "feeds") == {}


def test_the_digest_changes_with_any_file(tmp_path: Path) -> None:
    (tmp_path / "dashboard").mkdir()
    (tmp_path / "dashboard" / "index.html").write_text("{assets} {languages}")
    (tmp_path / "app.js").write_text("1")
    before = read_files(tmp_path)
    (tmp_path / "app.js").write_text("2")
    after = read_files(tmp_path)
    assert before.digest != after.digest
    assert after.page.content.decode() == f"{after.digest} "


def test_the_page_names_its_languages_and_assets(files: PageFiles) -> None:
    page = files.page.content.decode()
    assert re.search(r'name="languages" content="([a-z ]+)"', page)
    linked = re.findall(r'(?:src|href)="/api/dashboard/assets/(\w+)/([^"]+)"', page)
    assert linked
    assert all(digest == files.digest and name in files.assets for digest, name in linked)


def test_every_module_imports_files_that_are_there(files: PageFiles) -> None:
    for name, asset in files.assets.items():
        if name.endswith(".js"):
            for target in re.findall(r"""(?:from|import)\s*\(?["']([./][^"'$]+)["']""", asset.content.decode()):
                found = (FOLDER / name).parent.joinpath(target).resolve().relative_to(FOLDER).as_posix()
                assert found in files.assets, f"{name} imports {target}"


def test_a_browser_gets_gzip_and_another_client_the_bytes(files: PageFiles) -> None:
    zipped = file_response(request(Accept_Encoding="br, gzip"), files.page, ASKED_AGAIN)
    plain = file_response(request(), files.page, ASKED_AGAIN)
    assert zipped.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert gzip.decompress(zipped.get_body()) == plain.get_body() == files.page.content
    assert zipped.headers["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    ("header", "is_accepted"),
    [("gzip", True), ("*", True), ("br;q=1, gzip;q=0.5", True), ("gzip;q=0", False), ("br", False), ("", False)],
)
def test_gzip_is_sent_where_it_is_accepted(header: str, is_accepted: bool) -> None:
    assert accepts_gzip(header) is is_accepted


def test_a_known_etag_gets_304_without_a_body(files: PageFiles) -> None:
    for etag in (files.page.etag, f"W/{files.page.etag}"):
        answer = file_response(request(If_None_Match=etag), files.page, ASKED_AGAIN)
        assert (answer.status_code, answer.get_body()) == (304, b"")
    assert file_response(request(If_None_Match='"x"'), files.page, ASKED_AGAIN).status_code == 200


def test_the_policy_runs_no_inline_code_and_reaches_no_other_host(files: PageFiles) -> None:
    policy = file_response(request(), files.page, ASKED_AGAIN).headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert not re.search(r"unsafe|http|\*", policy)
    page = files.page.content.decode()
    assert not re.search(r"<script(?![^>]* src=)|<style| style=| on\w+=", page)


def test_no_file_names_another_host(files: PageFiles) -> None:
    for name, asset in files.assets.items():
        if name.startswith("dashboard/") and asset.media_type != "image/svg+xml":
            assert not re.search(r"(?:https?:)?//[a-z0-9-]+\.[a-z]", asset.content.decode()), name


def test_all_files_together_are_small(files: PageFiles) -> None:
    assert sum(len(each.zipped) for each in (files.page, *files.assets.values())) < MAX_BYTES


def test_the_page_needs_no_key_and_no_settings() -> None:
    app = func.FunctionApp()
    app.register_functions(page_http)
    triggers = [each.get_bindings()[0].get_dict_repr() for each in app.get_functions()]
    levels = {each["route"]: each["authLevel"].value for each in triggers}
    assert levels["dashboard/{*path}"] == "anonymous"


async def test_the_function_answers_the_page_an_asset_and_404() -> None:
    for path, status in (("", 200), ("assets/x/dashboard/app.js", 200), ("assets/x/none.js", 404)):
        req = func.HttpRequest("GET", "http://localhost/", route_params={"path": path}, body=b"")
        assert (await get_dashboard(req)).status_code == status


def test_the_package_has_the_page(files: PageFiles) -> None:
    packed = {file.as_posix() for file in package.app_files(ROOT)}
    assert {f"triggers/page/{name}" for name in files.assets} <= packed


def test_the_libraries_are_those_that_the_manifest_names() -> None:
    assert vendor.differences() == []


def test_a_vendored_module_imports_by_path_and_names_no_source_map() -> None:
    source = 'import{h}from"preact";export{h};\n//# sourceMappingURL=x.js.map\n'
    assert vendor.adapted(source) == 'import{h}from"./preact.js";export{h};\n'


def test_every_library_has_its_licence() -> None:
    names = {path.name for path in vendor.VENDOR.iterdir()}
    assert {f"{each.package}.LICENSE.txt" for each in vendor.LIBRARIES} <= names
    assert json.loads(vendor.MANIFEST.read_text())["libraries"] == {e.package: e.version for e in vendor.LIBRARIES}


TESTS = ROOT / "tests" / "page"
I18N = ROOT / "triggers" / "page" / "dashboard"


def test_the_modules_pass_their_tests() -> None:
    node = shutil.which("node")
    assert node is not None, "Node.js is needed, as for the Cosmos-compatible server"
    files = sorted(str(path) for path in TESTS.glob("*.test.mjs"))
    done = subprocess.run([node, "--test", *files], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_every_text_that_a_view_names_is_in_english() -> None:
    english = (I18N / "i18n" / "en.js").read_text("utf-8")
    known = set(re.findall(r'^  "([\w.]+)":', english, re.MULTILINE))
    used = set()
    for path in I18N.rglob("*.js"):
        used |= set(re.findall(r'\bt\("([\w.]+)"', path.read_text("utf-8")))
    assert used - known == set()
