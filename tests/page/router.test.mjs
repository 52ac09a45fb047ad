import assert from "node:assert/strict";
import { test } from "node:test";
import { changed, href, match, parse } from "../../triggers/page/dashboard/lib/router.js";
import { kindOf, path, urlOf } from "../../triggers/page/dashboard/lib/http.js";

test("a URL of a view is read back as it was made", () => {
  const url = new URL(href(["tools", "C/C++ & more"], { period: "DAY_7", q: "a b&c", none: "" }), "http://x");
  assert.deepEqual(parse(url.pathname, url.search), { segments: ["tools", "C/C++ & more"], query: { period: "DAY_7", q: "a b&c" } });
});

test("the overview is at the base, with or without a slash", () => {
  assert.deepEqual(parse("/api/dashboard", "").segments, []);
  assert.deepEqual(parse("/api/dashboard/", "").segments, []);
});

test("a malformed escape is taken as it is", () => {
  assert.deepEqual(parse("/api/dashboard/tools/%zz", "").segments, ["tools", "%zz"]);
});

test("a pattern gives its values, and matches whole paths only", () => {
  assert.deepEqual(match("tools/:tool", ["tools", "x"]), { tool: "x" });
  assert.equal(match("tools/:tool", ["tools"]), null);
  assert.deepEqual(match("", []), {});
  assert.equal(match("feeds", ["runs"]), null);
});

test("a query has no values that are the default", () => {
  assert.deepEqual(changed({ period: "DAY_7", sort: "x" }, { period: "HOUR_24", sort: "-m" }, { sort: "-m" }), { period: "HOUR_24" });
  assert.deepEqual(changed({ q: "x" }, { q: "" }), {});
});

test("a request has no empty parameters, and each part of its path is one segment", () => {
  assert.equal(urlOf(path("tools", "a/b", "history"), { days: 7, layer: "", tools: ["x", "y"], quiet: false }), "/api/v1/tools/a%2Fb/history?days=7&tools=x%2Cy");
});

test("each status has its meaning", () => {
  const kinds = [401, 403, 404, 409, 429, 500, 503].map((status) => kindOf(status, null));
  assert.deepEqual(kinds, ["key", "forbidden", "absent", "refused", "unavailable", "failed", "unavailable"]);
  assert.equal(kindOf(401, { title: "Not allowed" }), "management");
});
