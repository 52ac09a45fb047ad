// What can be edited of a feed: its fields as the texts of a form, and the change that a form asks for. Pure.

export const FULL_TEXT = ["never", "short", "always"];

const number = (text) => (text.trim() && Number.isFinite(Number(text)) ? Number(text) : text);
const tagsOf = (text) => text.split(",").map((each) => each.trim()).filter(Boolean);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/**
 * How a field is shown as text, and read from it. What is no number is sent as it is, so that the app says what is
 * allowed. The address of a news API is not changed here: its settings say it.
 */
export const FIELDS = {
  source_name: { text: (value) => value, read: (text) => text.trim() },
  url: { text: (value) => value, read: (text) => text.trim(), onlyFeeds: true },
  tags: { text: (value) => (value ?? []).join(", "), read: tagsOf },
  priority: { text: String, read: number, isNumber: true },
  source_priority: { text: String, read: number, isNumber: true },
  daily_limit: { text: (value) => (value === null || value === undefined ? "" : String(value)), read: (text) => (text.trim() ? number(text) : null), isNumber: true },
  full_text: { text: (value) => value, read: (text) => text, choices: FULL_TEXT },
};

export const fieldsOf = (feed) => Object.keys(FIELDS).filter((name) => feed.kind === "feed" || !FIELDS[name].onlyFeeds);

/** The form of a feed: the text of each field. */
export const formOf = (feed) => Object.fromEntries(fieldsOf(feed).map((name) => [name, FIELDS[name].text(feed[name])]));

/** What the form changes of the feed: {fields, back}, where `back` is what undoes it; null if nothing. */
export function changeOf(feed, form) {
  const [fields, back] = [{}, {}];
  for (const [name, text] of Object.entries(form)) {
    if (text === FIELDS[name].text(feed[name])) continue;
    const value = FIELDS[name].read(text);
    if (same(value, feed[name] ?? null)) continue;
    fields[name] = value;
    back[name] = feed[name] ?? null;
  }
  return Object.keys(fields).length ? { fields, back } : null;
}
