// The health of the app: its checks, the cache with its hit rate over time, and the queues with poison messages.
import { html } from "../lib/dom.js";
import { clock, full, number, percent, relative } from "../lib/format.js";
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
import { Tile } from "./feed.js";

const TONES = { healthy: "good", degraded: "warning", unhealthy: "bad" };
const ORDER = ["unhealthy", "degraded", "healthy"];

const Condition = ({ status }) => html`<${Badge} tone=${TONES[status] ?? "plain"} icon=${status === "healthy" ? "check" : "warning"}>${known(`health.${status}`, status)}<//>`;

const failed = (error) => error.kind !== "management" && note(error.detail || error.title || error.message, { tone: "bad" });

export default function Health() {
  const health = useLive("health", operations.health, 10);
  const cache = useLive("health cache", operations.cacheHealth, 10);
  const queues = useLive("health queues", operations.queues, 10);
  return html`
    <div class="stack">
      <div class="toolbar"><h1>${t("nav.health")}</h1>${health.data && html`<${Condition} status=${health.data.status} /><span class="quiet small">${t("health.version", { version: health.data.version })}</span>`}</div>
      <${Live} of=${cache} skeleton=${html`<${Skeleton} lines=${2} height="9rem" />`}>${(data) => html`<${Cache} data=${data} />`}<//>
      <div class="columns even">
        <section class="card flush" aria-label=${t("health.checks")}>
          <div class="card-head"><h2>${t("health.checks")}</h2></div>
          <${Live} of=${health} skeleton=${html`<${Skeleton} lines=${10} />`}>${(data) => html`<${Checks} checks=${data.checks} />`}<//>
        </section>
        <section class="card flush" aria-label=${t("health.queues")}>
          <div class="card-head"><h2>${t("health.queues")}</h2></div>
          <${Live} of=${queues} skeleton=${html`<${Skeleton} lines=${8} />`}>${(data) => html`<${Queues} queues=${data} />`}<//>
        </section>
      </div>
    </div>
  `;
}

function Checks({ checks }) {
  const rows = Object.entries(checks).map(([name, check]) => ({ name, ...check }));
  rows.sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status));
  const columns = [
    { id: "name", name: t("health.check"), hideName: true, cell: (row) => known(`health.check.${row.name}`, row.name) },
    { id: "status", name: t("run.status"), hideName: true, cell: (row) => html`<${Condition} status=${row.status} />` },
    { id: "detail", name: t("health.detail"), hideName: true, className: "whole", cell: (row) => html`<span class="small">${row.detail}</span>` },
  ];
  return html`<${Table} caption=${t("health.checks")} className="cards headless" columns=${columns} rows=${rows} keyOf=${(row) => row.name} />`;
}

async function refreshCache() {
  if (!(await confirm(t("cache.refresh"), t("cache.refresh.effect"), t("cache.refresh")))) return;
  try {
    const { run_id: run } = await managed(operations.refreshCache);
    note(t("cache.refreshing"), { actionName: t("run.open"), action: () => navigate(href(["runs", run])) });
    setTimeout(() => refresh("health"), 2000);
  } catch (error) {
    failed(error);
  }
}

function Cache({ data }) {
  const now = useNow(5);
  const reads = data.cache_hits_24h + data.cache_misses_24h;
  const last = data.last_refresh_ts ? data.last_refresh_ts * 1000 : null;
  return html`
    <section class="stack" aria-label=${t("cache.title")}>
      <div class="toolbar"><h2>${t("cache.title")}</h2><${Condition} status=${data.status} /><span class="quiet small">${data.detail}</span>
        <span class="row push"><button type="button" class="button" onClick=${refreshCache}><${Icon} name="refresh" />${t("cache.refresh")}</button></span></div>
      <div class="tiles">
        <${Tile} name=${t("cache.rate")} value=${reads ? percent(data.cache_hit_rate, 1) : "–"} text=${t("cache.reads", { count: reads, n: number(reads) })} />
        <${Tile} name=${t("cache.last")} value=${last ? relative(last, now) : t("cache.never")} text=${last ? t("cache.took", { time: took(data.last_refresh_duration_ms / 1000), count: data.tools_refreshed_count, n: number(data.tools_refreshed_count) }) : ""} />
        <${Tile} name=${t("cache.entries")} value=${number(data.total_entries)} text=${t("cache.entries.text", { stale: number(data.stale_count), missing: number(data.missing_count) })} />
        <${Tile} name=${t("cache.incomplete")} value=${number((data.pending_articles ?? 0) + (data.failed_articles ?? 0))} text=${t("cache.incomplete.text", { pending: number(data.pending_articles), failed: number(data.failed_articles), tools: number(data.dirty_tools_count) })} />
        <${Tile} name=${t("cache.errors")} value=${number(data.error_count_24h)} text=${data.failed_tools_count ? t("cache.failed", { count: data.failed_tools_count, n: number(data.failed_tools_count) }) : t("cache.failed.none")} />
      </div>
      ${data.reads_by_hour && html`<div class="card stack tight"><h3>${t("cache.hours")}</h3>${reads ? html`<${Hours} hours=${data.reads_by_hour} />` : html`<p class="quiet small">${t("cache.hours.none")}</p>`}</div>`}
      ${data.last_run_errors?.length > 0 && html`<${Message} title=${t("cache.run.errors")} icon="warning" tone="bad"><ul class="plain-list">${data.last_run_errors.slice(0, 8).map((each, index) => html`<li key=${index}>${each}</li>`)}</ul><//>`}
      ${data.lacking?.length > 0 && html`<details class="card"><summary>${t("cache.lacking", { count: data.lacking.length, n: number(data.lacking.length) })}</summary>
        <ul class="plain-list">${data.lacking.map((each) => html`<li key=${`${each.tool_id} ${each.period}`}>${each.tool} · ${known(`period.${each.period}`, each.period)} · ${known(`cache.${each.state}`, each.state)}</li>`)}</ul></details>`}
    </section>
  `;
}

/** Reads of 24 hours as bars, hits below misses, with the same figures as a table for screen readers. */
function Hours({ hours }) {
  const most = Math.max(1, ...hours.map((each) => each.hits + each.misses));
  const share = (count) => `${(100 * count) / most}%`;
  const rate = (each) => (each.hits + each.misses ? percent(each.hits / (each.hits + each.misses)) : "–");
  return html`
    <div class="hours" aria-hidden="true">
      ${hours.map((each) => html`
        <span key=${each.hour} class="hour" title=${t("cache.hour", { hour: clock(each.hour), hits: number(each.hits), misses: number(each.misses), rate: rate(each) })}>
          <span class="hour-misses" style=${{ height: share(each.misses) }}></span><span class="hour-hits" style=${{ height: share(each.hits) }}></span>
        </span>`)}
    </div>
    <div class="row between quiet small" aria-hidden="true"><span>${clock(hours[0].hour)}</span><span class="legend"><span><i class="swatch swatch-hits"></i>${t("cache.hits")}</span><span><i class="swatch swatch-misses"></i>${t("cache.misses")}</span></span><span>${clock(hours[hours.length - 1].hour)}</span></div>
    <div class="visually-hidden"><table><caption>${t("cache.hours")}</caption>
      <thead><tr><th scope="col">${t("cache.hour.name")}</th><th scope="col">${t("cache.hits")}</th><th scope="col">${t("cache.misses")}</th><th scope="col">${t("cache.rate")}</th></tr></thead>
      <tbody>${hours.map((each) => html`<tr key=${each.hour}><th scope="row">${full(each.hour)}</th><td>${number(each.hits)}</td><td>${number(each.misses)}</td><td>${rate(each)}</td></tr>`)}</tbody>
    </table></div>
  `;
}

async function redrive(queue) {
  const values = { count: queue.poison, n: number(queue.poison), name: queue.name };
  if (!(await confirm(t("queue.redrive"), t("queue.redrive.effect", values), t("queue.redrive")))) return;
  try {
    const { moved } = await managed(() => operations.redrive(queue.name));
    note(t("queue.redriven", { count: moved, n: number(moved) }));
    await refresh("health");
  } catch (error) {
    failed(error);
  }
}

function Queues({ queues }) {
  const columns = [
    { id: "name", name: t("queue.name"), hideName: true, cell: (row) => html`<span class="mono">${row.name}</span>` },
    { id: "messages", name: t("queue.messages"), numeric: true, cell: (row) => number(row.messages) },
    { id: "poison", name: t("queue.poison"), numeric: true, cell: (row) => html`<span class=${row.poison ? "bad-text" : "quiet"}>${number(row.poison)}</span>` },
    {
      id: "redrive", name: t("queue.redrive"), hideName: true, isControl: true, className: "whole",
      cell: (row) => row.poison > 0 && html`<button type="button" class="button button-small" onClick=${() => redrive(row)}>${t("queue.redrive")}<span class="visually-hidden"> ${row.name}</span></button>`,
    },
  ];
  const samples = queues.flatMap((each) => (each.poison_messages ?? []).map((message) => [each.name, message]));
  return html`
    <${Table} caption=${t("health.queues")} className="cards" columns=${columns} rows=${queues} keyOf=${(row) => row.name} />
    ${samples.length > 0 && html`<details class="padded"><summary>${t("queue.samples")}</summary>
      <ul class="plain-list">${samples.map(([name, message], index) => html`<li key=${index} class="mono small">${name}: ${typeof message === "string" ? message : JSON.stringify(message)}</li>`)}</ul></details>`}
  `;
}
