// One feed: its condition and what to do, when it is fetched and publishes, and what each fetch brought.
import { html, useEffect } from "../lib/dom.js";
import { dayAndClock, full, number, relative, webUrl } from "../lib/format.js";
import { refresh, useLive, useNow } from "../lib/live.js";
import { operations, took } from "../lib/operations.js";
import { href, navigate } from "../lib/router.js";
import { known, t } from "../i18n/index.js";
import { Badge } from "../components/badge.js";
import { confirm, managed } from "../components/dialog.js";
import { Icon } from "../components/icons.js";
import { Live, Message, Skeleton } from "../components/states.js";
import { Table } from "../components/table.js";
import { note } from "../components/toast.js";
import { editFeed } from "./feed-edit.js";
import { FeedVerdict, Rhythm, soon } from "./feeds.js";

const said = (error) => error.kind !== "management" && note(error.detail || error.title || error.message, { tone: "bad" });

export default function FeedView({ params }) {
  const feed = useLive(`feed ${params.feed}`, () => operations.feed(params.feed), 15);
  useEffect(() => {
    if (feed.data) document.title = `${feed.data.source_name} · toolpulse`;
  }, [feed.data?.source_name]);
  return html`
    <div class="stack">
      <p><a class="small back" href=${href(["feeds"])}><${Icon} name="left" />${t("feed.back")}</a></p>
      ${!feed.data && html`<h1>${params.feed}</h1>`}
      <${Live} of=${feed} skeleton=${html`<${Skeleton} lines=${10} height="2rem" />`}>${(data) => html`<${Feed} feed=${data} />`}<//>
    </div>
  `;
}

async function changed(feed, fields, told, back) {
  try {
    await managed(() => operations.changeFeed(feed.feed_id, fields));
    const undo = () => operations.changeFeed(feed.feed_id, back).then(() => refresh("feed"), said);
    note(told, { actionName: t("word.undo"), action: undo });
    await refresh("feed");
  } catch (error) {
    said(error);
  }
}

function Feed({ feed }) {
  const now = useNow(5);
  const attempts = useLive(`feed ${feed.feed_id} attempts`, () => operations.attempts(feed.feed_id), 15);
  const link = webUrl(feed.site_url);
  const name = { name: feed.source_name };
  const fetchNow = async () => {
    try {
      const { run_id: run } = await managed(() => operations.fetchFeed(feed.feed_id));
      note(t("feed.fetching", name), { actionName: t("run.open"), action: () => navigate(href(["runs", run])) });
      setTimeout(() => refresh("feed"), 2000);
    } catch (error) {
      said(error);
    }
  };
  const enable = (enabled) => changed(feed, { enabled }, t(enabled ? "feed.enabled" : "feed.disabled", name), { enabled: !enabled });
  const remove = async () => {
    if (!(await confirm(t("feed.remove"), t("feed.remove.effect", name), t("feed.remove.do")))) return;
    try {
      await managed(() => operations.removeFeed(feed.feed_id));
      note(t("feed.removed", name));
      navigate(href(["feeds"]));
      await refresh("feeds");
    } catch (error) {
      said(error);
    }
  };
  return html`
    <div class="toolbar">
      <h1>${feed.source_name}</h1><${FeedVerdict} feed=${feed} />
      <span class="row push">
        <button type="button" class="button" disabled=${!feed.enabled} onClick=${fetchNow}><${Icon} name="refresh" />${t("feed.action.fetch")}</button>
        <button type="button" class="button" onClick=${() => editFeed(feed)}>${t("feed.edit")}</button>
        <button type="button" class="button" onClick=${() => enable(!feed.enabled)}>${t(feed.enabled ? "feed.action.disable" : "feed.action.enable")}</button>
        ${feed.kind === "feed" && html`<button type="button" class="button" onClick=${remove}>${t("feed.remove")}</button>`}
      </span>
    </div>
    ${feed.verdict_reason && feed.verdict !== "ok" && html`<${Message} title=${feed.verdict_reason} icon="warning" tone="warning">
      ${feed.verdict_advice} ${feed.verdict_since && html`<span class="quiet">${t("feed.since", { when: full(feed.verdict_since) })}</span>`}
    <//>`}
    ${feed.quarantine_id && html`<${Message} title=${t("feed.held")} icon="warning" tone="warning" action=${html`<a class="button" href=${href(["quarantine"])}>${t("feed.held.open")}</a>`} />`}
    <div class="tiles">
      <${Tile} name=${t("feed.last")} value=${relative(feed.last_fetch_time, now)} text=${feed.last_status_code ? t("feed.status", { status: feed.last_status_code }) : ""} />
      <${Tile} name=${t("feed.next")} value=${feed.enabled ? soon(feed.next_fetch_time, now) : t("feed.off")} text=${feed.enabled ? "" : feed.disabled_reason} />
      <${Tile} name=${t("feed.total")} value=${number(feed.total_articles_fetched)} text=${t("feed.fetches", { count: feed.fetch_count, n: number(feed.fetch_count) })} />
      <${Tile} name=${t("feed.day")} value=${number(feed.articles_per_day, { maximumFractionDigits: 1 })} text=${t("feed.day.text")} />
      <${Tile} name=${t("feed.duration")} value=${feed.average_duration_ms == null ? "–" : took(feed.average_duration_ms / 1000)} text=${feed.last_duration_ms == null ? "" : t("feed.duration.last", { time: took(feed.last_duration_ms / 1000) })} />
    </div>
    <div class="columns wide-first">
      <section class="card flush" aria-label=${t("feed.history")}>
        <div class="card-head"><h2>${t("feed.history")}</h2></div>
        <${Live} of=${attempts}>${({ items }) => html`<${Attempts} items=${items} now=${now} />`}<//>
      </section>
      <div class="stack">
        <section class="card stack tight" aria-label=${t("feed.rhythm")}>
          <h2>${t("feed.rhythm")}</h2>
          <${Rhythm} feed=${feed} large />
          <div class="row between quiet small"><span>00:00</span><span>06:00</span><span>12:00</span><span>18:00</span><span>23:00</span></div>
        </section>
        <section class="card stack tight" aria-label=${t("feed.facts")}>
          <h2>${t("feed.facts")}</h2>
          <dl class="facts">
            <dt>${t("feed.field.url")}</dt><dd class="mono">${feed.url}</dd>
            ${feed.redirect_url && html`<dt>${t("feed.redirect")}</dt><dd class="mono">${feed.redirect_url}</dd>`}
            ${link && html`<dt>${t("feed.site")}</dt><dd><a href=${link} rel="noreferrer noopener" target="_blank">${link}<span class="visually-hidden"> (${t("word.new.tab")})</span></a></dd>`}
            <dt>${t("feed.id")}</dt><dd class="mono">${feed.feed_id}</dd>
            <dt>${t("feed.priority")}</dt><dd>${number(feed.priority)} · ${t("feed.priority.source", { n: number(feed.source_priority) })}</dd>
            ${feed.tags?.length > 0 && html`<dt>${t("feed.tags")}</dt><dd class="badges">${feed.tags.map((each) => html`<${Badge} key=${each}>${each}<//>`)}</dd>`}
            <dt>${t("feed.full")}</dt><dd>${known(`feed.full.${feed.full_text}`, feed.full_text)}</dd>
            ${Object.entries(feed.parse_warnings ?? {}).map(([kind, count]) => html`<dt key=${kind}>${t("feed.warning")}</dt><dd>${kind}: ${number(count)}</dd>`)}
            ${Object.entries(feed.entries_skipped ?? {}).map(([kind, count]) => html`<dt key=${kind}>${t("feed.skipped")}</dt><dd>${kind}: ${number(count)}</dd>`)}
            ${feed.last_error && html`<dt>${t("feed.error")}</dt><dd class="bad-text">${feed.last_error}</dd>`}
          </dl>
        </section>
      </div>
    </div>
  `;
}

export const Tile = ({ name, value, text }) => html`
  <div class="tile"><span class="tile-name">${name}</span><span class="tile-value figure">${value}</span>${text && html`<span class="tile-note">${text}</span>`}</div>
`;

const TONES = { SUCCEEDED: "good", FAILED: "bad", PARTIAL: "warning" };
const ICONS = { SUCCEEDED: "check", FAILED: "warning", PARTIAL: "warning" };

export const Status = ({ status }) => html`<${Badge} tone=${TONES[status] ?? "plain"} icon=${ICONS[status]}>${known(`status.${status}`, status)}<//>`;

function Attempts({ items }) {
  if (!items.length) return html`<p class="quiet padded">${t("feed.history.none")}</p>`;
  const columns = [
    { id: "at", name: t("run.started"), hideName: true, cell: (row) => html`<a href=${href(["runs", row.run_id])}>${dayAndClock(row.started_at)}</a>` },
    { id: "status", name: t("run.status"), hideName: true, cell: (row) => html`<${Status} status=${row.status} />` },
    { id: "new", name: t("feed.new"), numeric: true, cell: (row) => (row.status_code === 304 ? html`<span class="quiet">${t("feed.same")}</span>` : number(row.articles_new)) },
    { id: "held", name: t("feed.held.count"), numeric: true, cell: (row) => (row.articles_held ? number(row.articles_held) : html`<span class="quiet">0</span>`) },
    { id: "time", name: t("feed.duration"), numeric: true, cell: (row) => (row.duration_ms == null ? "–" : took(row.duration_ms / 1000)) },
    { id: "error", name: t("feed.error"), className: "whole reason-cell", cell: (row) => row.error_message && html`<span class="small reason" title=${row.error_message}>${row.error_message}</span>` },
  ];
  return html`<div class="table-low"><${Table} caption=${t("feed.history")} className="cards" columns=${columns} rows=${items} keyOf=${(row) => `${row.run_id} ${row.attempt_no} ${row.started_at}`} /></div>`;
}
