import assert from "node:assert/strict";
import { test } from "node:test";
import { againstOf, chosenIn, presentHour, rangeOf } from "../../triggers/page/dashboard/lib/series.js";
import { DAY, HOUR } from "../../triggers/page/dashboard/lib/scale.js";
import { parse } from "../../triggers/page/dashboard/lib/router.js";
import { aggregate, firstOf, history, iso, mentions, movement, tool, trends } from "../../triggers/page/dashboard/lib/questions.js";

const ID = "59e0097e-e5fc-49d6-a50c-1eacdc8fe6bd";
const keys = (questions) => questions.map(([key]) => key);
const now = presentHour();
const asked = (path, search = "") => keys(firstOf(parse(`/api/dashboard${path}`, search), now));

test("the overview asks for its period, and for its default if the URL names none", () => {
  assert.deepEqual(asked(""), keys([trends("DAY_7")]));
  assert.deepEqual(asked("", "?period=DAY_30&q=x"), keys([trends("DAY_30")]));
  assert.deepEqual(asked("", "?period=HOUR_1"), keys([trends("DAY_7")]));
});

test("a tool's view asks by the id in the URL for all that it shows", () => {
  const range = rangeOf({ period: "DAY_7" }, now);
  const shown = [tool(ID), history(ID, range, now), aggregate(ID, "DAY_7"), movement(ID, range, "before"), mentions(ID, iso(range.from), iso(range.to), "")];
  assert.deepEqual(asked(`/tools/${ID}`), keys(shown));
  assert.deepEqual(asked(`/tools/${ID}`, "?show=stories"), keys(shown.slice(0, 4)));
  assert.deepEqual(asked(`/tools/${ID}`, "?period=DAY_365").length, 2);
});

test("a tool that is named by a name is asked for alone: its id is not known", () => {
  assert.deepEqual(asked("/tools/Quorvia"), keys([tool("Quorvia")]));
});

test("what is below the chart is asked for the chosen time", () => {
  const [since, until] = [now - 1 - 2 * DAY, now - 1 - DAY].map(iso);
  const found = asked(`/tools/${ID}`, `?since=${since}&until=${until}&sentiment=negative`);
  assert.deepEqual(found.slice(3), keys([movement(ID, { from: Date.parse(since), to: Date.parse(until) }, "before"), mentions(ID, since, until, "negative")]));
});

test("other views ask by themselves", () => {
  assert.deepEqual(asked("/feeds"), []);
  assert.deepEqual(asked("/tools/a/b"), []);
});

test("a chosen time counts only within the range", () => {
  const range = { from: 0, to: 10 * DAY };
  assert.deepEqual(chosenIn({ since: iso(DAY), until: iso(2 * DAY) }, range), { from: DAY, to: 2 * DAY });
  for (const [since, until] of [[2 * DAY, DAY], [DAY, DAY], [10 * DAY, 11 * DAY]]) assert.equal(chosenIn({ since: iso(since), until: iso(until) }, range), null);
  assert.equal(chosenIn({}, range), null);
});

test("a month is compared with the week before, shorter times with the time before, and all with what a person chose", () => {
  assert.deepEqual([20, 21].map((days) => againstOf({}, { from: 0, to: days * DAY })), ["before", "168"]);
  assert.equal(againstOf({ against: "24" }, { from: 0, to: HOUR }), "24");
});
