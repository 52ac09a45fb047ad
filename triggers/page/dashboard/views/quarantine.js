// What waits for a person: batches that look like floods, and full texts that look wrong, with the effect of each choice.
import { html, useState } from "../lib/dom.js";
import { day, full, number, relative } from "../lib/format.js";
import { refresh, useLive } from "../lib/live.js";
import { operations } from "../lib/operations.js";
import { href, navigate } from "../lib/router.js";
import { known, t } from "../i18n/index.js";
import { Badge } from "../components/badge.js";
import { Segments } from "../components/choice.js";
import { ask, managed } from "../components/dialog.js";
import { Icon } from "../components/icons.js";
import { Empty, Failure, Live, Skeleton } from "../components/states.js";
import { note } from "../components/toast.js";

export const DEFAULTS = { status: "PENDING" };
const STATUSES = ["PENDING", "CLEARED_RETRY_APPROVED", "CLEARED_TERMINAL"];
const OF_DOCUMENTS = ["CLEARED_RETRY_APPROVED", "CLEARED_TERMINAL"];

export default function Quarantine({ query, setQuery }) {
  const items = useLive(`quarantine ${query.status}`, () => operations.quarantine(query.status), 20);
  const feeds = useLive("feeds", operations.feeds, 60);
  const names = new Map((feeds.data ?? []).map((feed) => [feed.feed_id, feed.source_name]));
  return html`
    <div class="stack">
      <div class="toolbar">
        <h1>${t("nav.quarantine")}</h1>
        <${Segments} label=${t("quarantine.status")} value=${query.status} onChange=${(status) => setQuery({ status })} options=${STATUSES.map((each) => [each, t(`quarantine.${each}`)])} />
      </div>
      <p class="quiet lead">${t("quarantine.about")}</p>
      <${Live} of=${items} skeleton=${html`<${Skeleton} lines=${3} height="9rem" />`}>
        ${({ items: found }) =>
          found.length
            ? found.map((item) => html`<${Item} key=${item.quarantine_id} item=${item} name=${names.get(item.subject) ?? item.payload?.headline ?? item.subject} />`)
            : html`<${Empty} title=${t(`quarantine.none.${query.status === "PENDING" ? "pending" : "other"}`)}>${t("quarantine.none.text")}<//>`}
      <//>
    </div>
  `;
}

function Item({ item, name }) {
  const isBatch = item.kind === "BATCH";
  const waits = item.manual_review_status === "PENDING";
  const where = isBatch ? href(["feeds", item.subject]) : null;
  const samples = item.payload?.samples ?? [];
  return html`
    <article class="card stack" aria-label=${name}>
      <div class="row">
        <h2>${where ? html`<a href=${where}>${name}</a>` : name}</h2>
        <${Badge} tone=${waits ? "warning" : "plain"} icon=${waits ? "warning" : "check"}>${known(`quarantine.reason.${item.reason_code}`, item.reason_code)}<//>
        <span class="quiet small push" title=${full(item.created_at)}>${relative(item.created_at)}</span>
      </div>
      <p>${item.reason}</p>
      ${!isBatch && waits && html`<${PageText} item=${item} />`}
      ${samples.length > 0 && html`
        <details>
          <summary>${t("quarantine.samples", { count: item.item_count ?? samples.length, n: number(item.item_count ?? samples.length), shown: number(samples.length) })}</summary>
          <ul class="samples">${samples.map((each, index) => html`<li key=${index}><span class="clip-lines">${each.headline}</span></li>`)}</ul>
        </details>
      `}
      ${waits ? (isBatch ? html`<${Effects} item=${item} name=${name} />` : html`<div class="row">${OF_DOCUMENTS.map((each) => html`<button key=${each} type="button" class="button" onClick=${() => decide(item, name, each, null)}>${t(`quarantine.decision.${each}`)}</button>`)}</div>`) : html`<${Decided} item=${item} />`}
    </article>
  `;
}

const Decided = ({ item }) => html`
  <p class="quiet">${t("quarantine.decided", { decision: known(`quarantine.decision.${item.decision}`, item.decision ?? item.manual_review_status), by: item.reviewed_by ?? "?", when: item.reviewed_at ? day(item.reviewed_at) : "?" })} ${item.review_note}</p>
`;

/** What stands on the page that waits, as the archive has it. It is a text of a stranger, and shown as text. */
function PageText({ item }) {
  const [open, setOpen] = useState(false);
  return html`
    <details open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
      <summary>${t("quarantine.text")}</summary>
      ${open && html`<${Found} item=${item} />`}
    </details>
  `;
}

function Found({ item }) {
  const page = useLive(`effects ${item.quarantine_id}`, () => operations.effects(item.quarantine_id), 0);
  return html`
    <${Live} of=${page} skeleton=${html`<${Skeleton} lines=${3} height="9rem" />`}>
      ${({ finding, text }) => html`<p class="quiet small">${finding}</p><pre class="held" tabindex="0" aria-label=${t("quarantine.text")}>${text}</pre>`}
    <//>
  `;
}

/** What each decision would do, side by side, from the preview of the API. */
function Effects({ item, name }) {
  // Not under "quarantine": what is decided has no effects to be read again.
  const effects = useLive(`effects ${item.quarantine_id}`, () => operations.effects(item.quarantine_id), 0);
  if (effects.error && !effects.data) return html`<${Failure} error=${effects.error} retry=${effects.reload} what=${t("quarantine.effects.failed")} />`;
  if (!effects.data) return html`<${Skeleton} lines=${1} height="11rem" label=${t("quarantine.effects.loading")} />`;
  const { effects: found, complete, entries_looked_at: looked, entries } = effects.data;
  return html`
    ${!complete && html`<p class="quiet small">${t("quarantine.partial", { looked: number(looked), entries: number(entries) })}</p>`}
    <div class="choices">
      ${Object.entries(found).map(([decision, effect]) => html`<${Choice} key=${decision} item=${item} name=${name} decision=${decision} effect=${effect} />`)}
    </div>
  `;
}

function Choice({ item, name, decision, effect }) {
  const [open, setOpen] = useState(false);
  const counts = ["new_articles", "changed_articles", "ids_added", "left_out"].filter((name) => effect[name]);
  return html`
    <section class="choice-card" aria-label=${t(`quarantine.decision.${decision}`)}>
      <h3>${t(`quarantine.decision.${decision}`)}</h3>
      <p class="quiet small">${t(`quarantine.meaning.${decision}`)}</p>
      <ul class="outcome">
        ${counts.map((name) => html`<li key=${name}>${t(`quarantine.effect.${name}`, { count: effect[name], n: number(effect[name]) })}</li>`)}
        <li>${effect.mentions_added ? t("quarantine.effect.mentions", { count: effect.tools_changed, added: number(effect.mentions_added), tools: number(effect.tools_changed) }) : t("quarantine.effect.none")}</li>
      </ul>
      ${effect.tools?.length > 0 && html`
        <details open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
          <summary>${t("quarantine.figures")}</summary>
          ${open && html`<${ByTool} tools=${effect.tools} />`}
        </details>
      `}
      <button type="button" class="button" onClick=${() => decide(item, name, decision, effect)}>${t("quarantine.choose")}<span class="visually-hidden">: ${t(`quarantine.decision.${decision}`)}</span></button>
    </section>
  `;
}

/** The tools that would get most mentions. */
const ByTool = ({ tools }) => html`
  <table class="table"><caption class="visually-hidden">${t("quarantine.figures")}</caption>
    <thead><tr><th scope="col">${t("word.tool")}</th><th scope="col" class="numeric">${t("word.mentions")}</th></tr></thead>
    <tbody>${tools.slice(0, 8).map((each) => html`<tr key=${each.tool_id}><td>${each.tool}</td><td class="numeric">+${number(each.mentions_added)}</td></tr>`)}</tbody>
  </table>
`;

async function decide(item, name, decision, effect) {
  const given = await ask(t(`quarantine.decision.${decision}`), (close) => html`<${Sign} decision=${decision} effect=${effect} close=${close} />`);
  if (!given) return;
  try {
    const { run_id: run } = await managed(() => operations.review(item.quarantine_id, { decision, ...given }));
    note(t("quarantine.done", { subject: name }), run ? { actionName: t("run.open"), action: () => navigate(href(["runs", run])) } : {});
    await refresh("quarantine");
  } catch (error) {
    if (error.kind !== "management") note(error.detail || error.title, { tone: "bad" });
  }
}

function Sign({ decision, effect, close }) {
  const [author, setAuthor] = useState("");
  const [reason, setReason] = useState("");
  const submit = (event) => {
    event.preventDefault();
    close({ author: author.trim(), ...(reason.trim() ? { reason: reason.trim() } : {}) });
  };
  return html`
    <form class="stack tight" onSubmit=${submit}>
      <p>${t(`quarantine.meaning.${decision}`)} ${effect && t("quarantine.effect.total", { articles: number(effect.new_articles), mentions: number(effect.mentions_added) })}</p>
      <p class="quiet small"><${Icon} name="warning" /> ${t("quarantine.once")}</p>
      <label for="review-author">${t("quarantine.author")}</label>
      <input id="review-author" class="input" autocomplete="name" autofocus value=${author} onInput=${(event) => setAuthor(event.currentTarget.value)} />
      <label for="review-reason">${t("quarantine.why")}</label>
      <input id="review-reason" class="input" value=${reason} onInput=${(event) => setReason(event.currentTarget.value)} />
      <div class="row end">
        <button type="button" class="button" onClick=${() => close(null)}>${t("key.cancel")}</button>
        <button type="submit" class="button button-primary" disabled=${!author.trim()}>${t("quarantine.decide")}</button>
      </div>
    </form>
  `;
}
