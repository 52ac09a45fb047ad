// Numbers and times in the reader's locale and time zone. Pure: locale and zone are set once, tests set their own.

let locale;
let zone;
const kept = new Map();

/** Without arguments: what the browser says. */
export function setRegion(nextLocale = globalThis.navigator?.language, nextZone = Intl.DateTimeFormat().resolvedOptions().timeZone) {
  [locale, zone] = [nextLocale, nextZone];
  kept.clear();
}
setRegion();

export const timeZone = () => zone;

function formatter(kind, options) {
  const name = kind.name + JSON.stringify(options);
  if (!kept.has(name)) kept.set(name, new kind(locale, options));
  return kept.get(name);
}

const MINUS = "\u2212";
export const NONE = "\u2013";

export function number(value, options = {}) {
  return value === null || value === undefined ? NONE : formatter(Intl.NumberFormat, options).format(value);
}

/** Short: 1,234 stays, 12,345 becomes 12K. */
export const compact = (value) =>
  Math.abs(value ?? 0) < 10_000 ? number(value) : number(value, { notation: "compact", maximumFractionDigits: 1 });

export const percent = (share, digits = 0) =>
  number(share, { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits });

/** A sentiment or a difference, always with its sign: +0.12, −0.30, 0.00. */
export function signed(value, digits = 2) {
  if (value === null || value === undefined) return NONE;
  const rounded = Number(Math.abs(value).toFixed(digits));
  const text = number(rounded, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  if (!rounded) return text;
  return (value > 0 ? "+" : MINUS) + text;
}

export function signedCount(value) {
  if (value === null || value === undefined) return NONE;
  return value ? (value > 0 ? "+" : MINUS) + number(Math.abs(value)) : number(0);
}

export function signedPercent(share) {
  if (share === null || share === undefined) return NONE;
  return share ? (share > 0 ? "+" : MINUS) + percent(Math.abs(share)) : percent(0);
}

const DATE = { year: "numeric", month: "short", day: "numeric" };
const SHORT_DAY = { month: "short", day: "numeric" };
const CLOCK = { hour: "2-digit", minute: "2-digit" };

/** A moment is a Date, milliseconds, or a text in ISO 8601. */
export const dateOf = (moment) => (moment instanceof Date ? moment : new Date(moment));

function moment(value, options) {
  if (value === null || value === undefined) return NONE;
  const date = dateOf(value);
  return Number.isNaN(date.getTime()) ? NONE : formatter(Intl.DateTimeFormat, { timeZone: zone, ...options }).format(date);
}

export const day = (value) => moment(value, DATE);
export const shortDay = (value) => moment(value, SHORT_DAY);
export const month = (value) => moment(value, { year: "numeric", month: "short" });
export const clock = (value) => moment(value, CLOCK);
export const dayAndClock = (value) => moment(value, { ...SHORT_DAY, ...CLOCK });
export const full = (value) => moment(value, { ...DATE, ...CLOCK, timeZoneName: "short" });
/** A day that the API names, such as 2026-02-21: a UTC day, whatever the reader's zone. */
export const utcDay = (value) => formatter(Intl.DateTimeFormat, { timeZone: "UTC", ...DATE }).format(new Date(`${value}T00:00:00Z`));

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];

/** How long ago, or until then: "5 minutes ago". */
export function relative(value, now = Date.now()) {
  if (value === null || value === undefined) return NONE;
  const seconds = (dateOf(value).getTime() - now) / 1000;
  const [unit, length] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? UNITS[UNITS.length - 1];
  const style = { numeric: "auto", style: "narrow" };
  return formatter(Intl.RelativeTimeFormat, style).format(Math.trunc(seconds / length), unit);
}

/** A length of time: 42 s, 3 min, 2 h, 5 d. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  const [unit, length] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? UNITS[UNITS.length - 1];
  const value = seconds / length;
  return number(value, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: value < 10 && length > 1 ? 1 : 0 });
}

export function bytes(count) {
  if (count === null || count === undefined) return NONE;
  const [unit, size] = count >= 1e6 ? ["megabyte", 1e6] : count >= 1e3 ? ["kilobyte", 1e3] : ["byte", 1];
  return number(count / size, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: 1 });
}

/** The name of a language tag in the reader's language; the tag if there is none. */
export function languageName(tag) {
  if (!tag || tag === "und") return null;
  try {
    return new Intl.DisplayNames(locale, { type: "language" }).of(tag);
  } catch {
    return tag;
  }
}

/** A URL to show as a link: http and https only, else null. No feed's text becomes a `javascript:` link. */
export function webUrl(text) {
  try {
    const url = new URL(text);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}

export const hostOf = (text) => (webUrl(text) ? new URL(text).hostname.replace(/^www\./, "") : null);
