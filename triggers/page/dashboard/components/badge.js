// Small words with a meaning: a sentiment with its sign, a change with its arrow, verdicts. Colour never says it alone.
import { html } from "../lib/dom.js";
import { NONE, percent, relative, signed } from "../lib/format.js";
import { known, t } from "../i18n/index.js";
import { Icon } from "./icons.js";

/** tone: "positive", "negative", "neutral", "warning", "bad", "good" or "plain". */
export const Badge = ({ tone = "plain", icon, title, children }) => html`
  <span class=${`badge badge-${tone}`} title=${title}>${icon && html`<${Icon} name=${icon} />`}${children}</span>
`;

/** Which side a value is on, once it is rounded as it is shown. */
export const toneOf = (value) => {
  if (value === null || value === undefined) return "none";
  const rounded = Math.round(value * 100);
  return rounded > 0 ? "positive" : rounded < 0 ? "negative" : "neutral";
};

/** A sentiment: its sign says the side, colour repeats it. */
export const Sentiment = ({ value, digits = 2 }) => html`<span class=${`figure tone-${toneOf(value)}`}>${signed(value, digits)}</span>`;

/** A difference with its arrow. */
export function Change({ value, text = signed(value), title }) {
  if (value === null || value === undefined) return html`<span class="quiet" title=${title}>${NONE}</span>`;
  const tone = toneOf(value);
  const icon = { positive: "up", negative: "down", neutral: "flat" }[tone];
  return html`<span class=${`change tone-${tone}`} title=${title}><${Icon} name=${icon} />${text}</span>`;
}

/** What limits a figure, as words: none if it can be relied on. The order is that of their weight. */
export function limitsOf(figure) {
  const found = [];
  if (figure.verdict !== "OK") {
    const code = figure.verdict ?? "NONE";
    found.push({ code, text: known(`verdict.${code}`, code), title: figure.verdict_text, tone: "warning" });
  }
  if (figure.coverage !== null && figure.coverage !== undefined && figure.coverage < 0.9) {
    const share = percent(Math.floor(figure.coverage * 100) / 100);
    const tone = figure.coverage < 0.5 ? "bad" : "warning";
    found.push({ code: "COVERAGE", text: t("verdict.coverage", { share }), title: t("verdict.coverage.title", { share }), tone });
  }
  if (figure.complete === false) {
    const values = { pending: figure.pending_articles ?? "?", failed: figure.failed_articles ?? "?" };
    found.push({ code: "INCOMPLETE", text: t("verdict.incomplete"), title: t("verdict.incomplete.title", values), tone: "plain" });
  }
  if (figure.is_stale) {
    const when = relative(figure.last_updated_ts * 1000);
    found.push({ code: "STALE", text: t("verdict.stale"), title: t("verdict.stale.title", { when }), tone: "plain" });
  }
  return found;
}

export function Limits({ figure, showOk = true }) {
  const limits = limitsOf(figure);
  if (!limits.length && showOk) {
    return html`<${Badge} tone="good" icon="check" title=${figure.verdict_text}>${t("verdict.OK")}<//>`;
  }
  return html`<span class="badges">
    ${limits.map(
      (each) => html`<${Badge} key=${each.code} tone=${each.tone} icon=${each.tone === "plain" ? undefined : "warning"} title=${each.title}>${each.text}<//>`,
    )}
  </span>`;
}
