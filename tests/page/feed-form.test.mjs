// What the form of a feed asks the app to change.
import assert from "node:assert/strict";
import test from "node:test";

import { changeOf, fieldsOf, formOf } from "../../triggers/page/dashboard/lib/feed-form.js";

const FEED = {
  feed_id: "python-insider", kind: "feed", source_name: "Python Insider", url: "https://example.com/feed", tags: ["News", "News/World"],
  priority: 1, source_priority: 999, daily_limit: null, full_text: "never",
};

test("the form shows the feed, and changes nothing as it is", () => {
  const form = formOf(FEED);
  assert.deepEqual([form.tags, form.priority, form.daily_limit], ["News, News/World", "1", ""]);
  assert.equal(changeOf(FEED, form), null);
  assert.equal(changeOf(FEED, { ...form, tags: "News,News/World,", source_name: " Python Insider " }), null);
});

test("only what differs is sent, and back is what it was", () => {
  const form = { ...formOf(FEED), tags: "Python, ", priority: "2.5", daily_limit: "40" };
  assert.deepEqual(changeOf(FEED, form), {
    fields: { tags: ["Python"], priority: 2.5, daily_limit: 40 },
    back: { tags: ["News", "News/World"], priority: 1, daily_limit: null },
  });
  assert.deepEqual(changeOf({ ...FEED, daily_limit: 40 }, { ...form, daily_limit: "" }).fields.daily_limit, null);
});

test("what is no number goes to the app as it is, which says what is allowed", () => {
  const fields = (change) => changeOf(FEED, { ...formOf(FEED), ...change }).fields;
  assert.deepEqual(fields({ priority: "high" }), { priority: "high" });
  assert.deepEqual(fields({ priority: "" }), { priority: "" });
  assert.deepEqual(fields({ source_priority: "1.5" }), { source_priority: 1.5 });
});

test("the address of a news API is not in its form", () => {
  assert.equal(fieldsOf(FEED).includes("url"), true);
  assert.equal(fieldsOf({ ...FEED, kind: "finnhub" }).includes("url"), false);
});
