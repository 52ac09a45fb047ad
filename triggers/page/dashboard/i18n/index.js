// Texts by name. A language is one file in this folder, named by its tag: the server lists the files in the page.

let messages = {};
let plural = new Intl.PluralRules("en");

/** Chooses the first of the reader's languages that has a file; English else. */
export async function loadLanguage(wanted = navigator.languages) {
  const there = (document.querySelector('meta[name="languages"]')?.content ?? "en").split(" ");
  const tags = wanted.map((tag) => tag.toLowerCase().split("-")[0]);
  const chosen = tags.find((tag) => there.includes(tag)) ?? "en";
  const english = (await import("./en.js")).default;
  const own = chosen === "en" ? {} : (await import(`./${chosen}.js`)).default;
  setMessages(chosen, { ...english, ...own });
  document.documentElement.lang = chosen;
}

export function setMessages(tag, all) {
  messages = all;
  plural = new Intl.PluralRules(tag);
}

/**
 * The text of a name, with {values} filled in. A text by number is an object of plural categories, chosen by `count`.
 * An unknown name is shown as it is, so that a missing text is seen.
 */
export function t(name, values = {}) {
  let text = messages[name];
  if (text === undefined) return name;
  if (typeof text === "object") text = text[plural.select(values.count ?? 0)] ?? text.other;
  if (!text.includes("{")) return text;
  return text.replace(/\{(\w+)\}/g, (whole, key) => (key in values ? String(values[key]) : whole));
}

/** The text of a name that may have none, such as a code of the API: `fallback` then. */
export const known = (name, fallback) => (name in messages ? t(name) : fallback);
