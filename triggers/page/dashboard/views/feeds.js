// All feeds with their condition: what is wrong with each, when it is fetched, when it publishes; and changing many.
import { html, useEffect, useMemo, useRef, useState } from "../lib/dom.js";
import { download } from "../lib/download.js";
import { number, relative } from "../lib/format.js";
import { choice, kept } from "../lib/kept.js";
import { refresh, useLive } from "../lib/live.js";
import { OPML, gravity, hostName, localHours, operations } from "../lib/operations.js";
import { href } from "../lib/router.js";
import { known, t } from "../i18n/index.js";
import { Badge } from "../components/badge.js";
import { Segments } from "../components/choice.js";
import { ask, managed } from "../components/dialog.js";
import { Icon } from "../components/icons.js";
import { Since } from "../components/since.js";
import { Empty, Live, Skeleton } from "../components/states.js";
import { Table, sorted } from "../components/table.js";
import { note } from "../components/toast.js";
import { AddFeed } from "./feeds-add.js";

export const DEFAULTS = { sort: "condition", show: "all", text: "" };

export const verdictOf = (feed) => known(`feed.verdict.${feed.verdict}`, feed.verdict ?? "–");

export const FeedVerdict = ({ feed }) => {
  const { tone } = gravity(feed.verdict);
  const icon = tone === "good" ? "check" : tone === "plain" ? undefined : "warning";
  return html`<${Badge} tone=${tone} icon=${icon} title=${feed.verdict_reason}>${verdictOf(feed)}<//>`;
};

/** When a feed publishes, as a strip of 24 cells: the darker, the more. */
export function Rhythm({ feed, large = false }) {
  const hours = localHours(feed.hourly_distribution ?? []);
  const most = Math.max(...hours.map((each) => each.share));
  if (!most) return html`<span class="quiet small">${t("feed.rhythm.none")}</span>`;
  const busiest = hours.reduce((best, each) => (each.share > best.share ? each : best));
  const label = t("feed.rhythm.label", { hour: hourName(busiest.hour) });
  if (!large) return html`<${Strip} hours=${hours} most=${most} label=${label} />`;
  return html`
    <span class="rhythm-large" role="img" aria-label=${label}>
      ${hours.map(
        ({ hour, share }) => html`<span key=${hour} class="rhythm-hour" style=${{ opacity: 0.08 + 0.92 * (share / most) }} title=${`${hourName(hour)} · ${number(share, { style: "percent" })}`}></span>`,
      )}
    </span>
  `;
}

const hourName = (hour) => `${String(hour).padStart(2, "0")}:00`;
const SHADES = 4;

/** The same in few elements, for a table: all cells of one shade are one path. */
function Strip({ hours, most, label }) {
  const paths = Array.from({ length: SHADES + 1 }, () => "");
  for (const { hour, share } of hours) paths[Math.ceil((SHADES * share) / most)] += `M${hour * 5} 0h4v16h-4z`;
  return html`
    <svg class="rhythm" viewBox="0 0 119 16" role="img" aria-label=${label}>
      ${paths.map((path, shade) => path !== "" && html`<path key=${shade} d=${path} opacity=${0.08 + (0.92 * shade) / SHADES} />`)}
    </svg>
  `;
}

const failed = (error) => note(error.detail || error.title || error.message, { tone: "bad" });

const SHOWN = {
  all: () => true,
  ill: (feed) => gravity(feed.verdict).tone === "bad",
  attention: (feed) => gravity(feed.verdict).tone === "warning",
  well: (feed) => gravity(feed.verdict).tone === "good",
  off: (feed) => !feed.enabled,
};

function matches(feed, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return true;
  return [feed.source_name, feed.title, feed.url, feed.feed_id, ...(feed.tags ?? [])].some((each) => each?.toLowerCase().includes(wanted));
}

const columnsOf = (chosen) => [
  {
    id: "chosen", name: t("feed.choose"), hideName: true, isControl: true, className: "narrow",
    cell: (feed) => html`<${Pick} feed=${feed} chosen=${chosen} />`,
  },
  {
    id: "name", name: t("feed.name"), hideName: true, className: "whole name", value: (feed) => feed.source_name.toLowerCase(),
    cell: (feed) => html`<span class="named"><a class="clip-lines" href=${href(["feeds", feed.feed_id])}>${feed.source_name}</a><span class="quiet small clip">${hostName(feed.url) ?? feed.kind}</span></span>`,
  },
  {
    id: "condition", name: t("feed.condition"), hideName: true, className: "whole condition", value: (feed) => gravity(feed.verdict).rank,
    cell: (feed) => html`<span class="named"><${FeedVerdict} feed=${feed} />${gravity(feed.verdict).tone !== "good" && feed.verdict_reason && html`<span class="quiet small reason" title=${feed.verdict_reason}>${feed.verdict_reason}</span>`}</span>`,
  },
  {
    id: "last", name: t("feed.last"), numeric: true, first: "down", value: (feed) => (feed.last_fetch_time ? Date.parse(feed.last_fetch_time) : null),
    cell: (feed) => html`<${Since} at=${feed.last_fetch_time} />`,
  },
  {
    id: "next", name: t("feed.next"), numeric: true, first: "up", value: (feed) => (feed.enabled ? Date.parse(feed.next_fetch_time) : null),
    cell: (feed) => (feed.enabled ? html`<${Since} at=${feed.next_fetch_time} say=${soon} />` : html`<span class="quiet">${t("feed.off")}</span>`),
  },
  {
    id: "volume", name: t("feed.total"), numeric: true, value: (feed) => feed.total_articles_fetched,
    cell: (feed) => number(feed.total_articles_fetched),
  },
  { id: "rhythm", name: t("feed.rhythm"), cell: (feed) => html`<${Rhythm} feed=${feed} />` },
  {
    id: "errors", name: t("feed.errors"), numeric: true, value: (feed) => feed.consecutive_errors,
    cell: (feed) => html`<span class=${feed.consecutive_errors ? "bad-text" : "quiet"}>${number(feed.consecutive_errors)}</span>`,
  },
];

const keyOf = (feed) => feed.feed_id;

/** Draws again when the choice says something else to `look`. */
function useChoice(chosen, look) {
  const [, redraw] = useState(0);
  const last = useRef();
  last.current = look();
  useEffect(() => chosen.listen(() => look() !== last.current && redraw((count) => count + 1)), [chosen]);
  return last.current;
}

function Pick({ feed, chosen }) {
  const isChosen = useChoice(chosen, () => chosen.has(feed.feed_id));
  return html`<label class="check"><input type="checkbox" aria-label=${t("feed.choose.one", { name: feed.source_name })} checked=${isChosen} onChange=${(event) => chosen.toggle(feed.feed_id, event.currentTarget.checked)} /></label>`;
}

/** Rows that have not changed since they were read before are the same objects: they are not drawn again. */
function useKept(rows) {
  const last = useRef([]);
  return useMemo(() => (rows ? (last.current = kept(last.current, rows, keyOf)) : rows), [rows]);
}

async function exportAll() {
  try {
    download("feeds.opml", await operations.exportOpml(), OPML);
  } catch (error) {
    failed(error);
  }
}

export default function Feeds({ query, setQuery }) {
  const feeds = useLive("feeds", operations.feeds, 15);
  const every = useKept(feeds.data);
  const [chosen] = useState(choice);
  const columns = useMemo(() => columnsOf(chosen), [chosen]);
  useEffect(() => every && chosen.keep(new Set(every.map(keyOf))), [every]);
  const add = () => ask(t("feed.add"), (close) => html`<${AddFeed} close=${close} />`);
  return html`
    <div class="stack">
      <div class="toolbar">
        <h1>${t("nav.feeds")}</h1>
        <span class="row push">
          ${every?.length > 0 && html`<button type="button" class="button" title=${t("feed.export.title")} onClick=${exportAll}><${Icon} name="down" />${t("feed.export")}</button>`}
          <button type="button" class="button button-primary" onClick=${add}><${Icon} name="plus" />${t("feed.add")}</button>
        </span>
      </div>
      <${Live} of=${feeds} skeleton=${html`<${Skeleton} lines=${12} height="2.25rem" />`}>
        ${() => (every.length ? html`<${List} every=${every} columns=${columns} chosen=${chosen} query=${query} setQuery=${setQuery} />` : html`<${NoFeeds} add=${add} />`)}
      <//>
    </div>
  `;
}

function NoFeeds({ add }) {
  const next = html`<button type="button" class="button button-primary" onClick=${add}><${Icon} name="plus" />${t("feed.add")}</button>`;
  return html`<${Empty} title=${t("feed.none")} action=${next}>${t("feed.none.text")}<//>`;
}

function List({ every, columns, chosen, query, setQuery }) {
  const named = useMemo(() => every.filter((feed) => matches(feed, query.text)), [every, query.text]);
  const rows = useMemo(() => sorted(named.filter(SHOWN[query.show] ?? SHOWN.all), columns, query.sort), [named, query.show, query.sort]);
  const count = (name) => number(named.filter(SHOWN[name]).length);
  return html`
    <div class="toolbar">
      <${Segments} label=${t("feed.show")} value=${query.show} onChange=${(show) => setQuery({ show })}
        options=${Object.keys(SHOWN).map((each) => [each, `${t(`feed.show.${each}`)} ${count(each)}`])} />
      <input type="search" class="input" aria-label=${t("feed.search")} placeholder=${t("feed.search")} value=${query.text}
        onInput=${(event) => setQuery({ text: event.currentTarget.value }, { replace: true })} />
    </div>
    <${Bulk} chosen=${chosen} rows=${rows} />
    ${rows.length
      ? html`<div class="card flush"><${Table} caption=${t("nav.feeds")} className="cards feeds-table" columns=${columns} rows=${rows} keyOf=${keyOf} sort=${query.sort} onSort=${(sort) => setQuery({ sort }, { replace: true })} /></div>`
      : html`<${Empty} title=${t("feed.none.match")} action=${html`<button type="button" class="button" onClick=${() => setQuery({ show: "", text: "" })}>${t("feed.show.everything")}</button>`} />`}
  `;
}

/** A time that is due: "now" once it has come, since the next tick takes it. */
export const soon = (at, now) => (Date.parse(at) <= now ? t("feed.due") : relative(at, now));

const ACTIONS = ["fetch", "enable", "disable", "tag", "untag"];

function Bulk({ chosen, rows }) {
  const ids = useChoice(chosen, chosen.all);
  const everything = rows.length > 0 && rows.every((feed) => chosen.has(feed.feed_id));
  return html`
    <div class="bulk" role="group" aria-label=${t("feed.bulk")}>
      <label class="row"><span class="check"><input type="checkbox" checked=${everything} onChange=${(event) => chosen.set(event.currentTarget.checked ? rows.map(keyOf) : [])} /></span>${ids.length ? t("feed.chosen", { count: ids.length, n: number(ids.length) }) : t("feed.choose.all")}</label>
      ${ACTIONS.map((action) => html`<button key=${action} type="button" class="button button-small" disabled=${!ids.length} onClick=${() => act(action, ids, () => chosen.set([]))}>${t(`feed.action.${action}`)}</button>`)}
    </div>
  `;
}

async function act(action, ids, done) {
  let tags;
  if (action === "tag" || action === "untag") {
    const given = await ask(t(`feed.action.${action}`), (close) => html`<${Tags} action=${action} close=${close} />`);
    if (!given) return;
    tags = given.split(",").map((each) => each.trim()).filter(Boolean);
  }
  const more = tags ? { tags } : {};
  try {
    const trial = await managed(() => operations.bulk(action, ids, { ...more, dry_run: true }));
    const changed = trial.items.filter((each) => each.outcome === "changed").length;
    const refused = trial.items.filter((each) => each.outcome === "refused");
    const sure = await ask(t(`feed.action.${action}`), (close) => html`
      <p>${t(`feed.effect.${action}`, { count: changed, n: number(changed), tags: tags?.join(", ") })}</p>
      ${trial.items.length > changed && html`<p class="quiet">${t("feed.effect.others", { count: trial.items.length - changed, n: number(trial.items.length - changed) })}</p>`}
      ${refused.length > 0 && html`<ul class="plain-list">${refused.slice(0, 8).map((each) => html`<li key=${each.feed_id}><strong>${each.feed_id}</strong>: ${each.reason}</li>`)}</ul>`}
      <div class="row end">
        <button type="button" class="button" onClick=${() => close(null)}>${t("key.cancel")}</button>
        <button type="button" class="button button-primary" disabled=${!changed} onClick=${() => close(true)}>${t(`feed.action.${action}`)}</button>
      </div>
    `);
    if (!sure) return;
    const report = await managed(() => operations.bulk(action, ids, more));
    const count = report.items.filter((each) => each.outcome === "changed").length;
    const inverse = { enable: "disable", disable: "enable", tag: "untag", untag: "tag" }[action];
    const touched = report.items.filter((each) => each.outcome === "changed").map((each) => each.feed_id);
    const undo = inverse && touched.length ? { actionName: t("word.undo"), action: () => operations.bulk(inverse, touched, more).then(() => refresh("feed"), failed) } : {};
    note(t(`feed.done.${action}`, { count, n: number(count) }), undo);
    done();
    await refresh("feed");
  } catch (error) {
    if (error.kind !== "management") failed(error);
  }
}

function Tags({ action, close }) {
  const [text, setText] = useState("");
  return html`
    <form class="stack tight" onSubmit=${(event) => { event.preventDefault(); close(text.trim() || null); }}>
      <label for="bulk-tags">${t("feed.tags.label")}</label>
      <input id="bulk-tags" class="input" autofocus value=${text} onInput=${(event) => setText(event.currentTarget.value)} />
      <div class="row end"><button type="submit" class="button button-primary" disabled=${!text.trim()}>${t(`feed.action.${action}`)}</button></div>
    </form>
  `;
}
