// All feeds with their condition: what is wrong with each, when it is fetched, when it publishes; and changing many.
import { html, useEffect, useState } from "../lib/dom.js";
import { full, number, relative } from "../lib/format.js";
import { refresh, useLive, useNow } from "../lib/live.js";
import { gravity, hostName, localHours, operations } from "../lib/operations.js";
import { href } from "../lib/router.js";
import { known, t } from "../i18n/index.js";
import { Badge } from "../components/badge.js";
import { Segments } from "../components/choice.js";
import { ask, managed } from "../components/dialog.js";
import { Icon } from "../components/icons.js";
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
  const clock = (hour) => `${String(hour).padStart(2, "0")}:00`;
  return html`
    <span class=${`rhythm ${large ? "rhythm-large" : ""}`} role="img" aria-label=${t("feed.rhythm.label", { hour: clock(busiest.hour) })}>
      ${hours.map(
        ({ hour, share }) => html`<span key=${hour} class="rhythm-hour" style=${{ opacity: 0.08 + 0.92 * (share / most) }} title=${`${clock(hour)} · ${number(share, { style: "percent" })}`}></span>`,
      )}
    </span>
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

export default function Feeds({ query, setQuery }) {
  const feeds = useLive("feeds", operations.feeds, 15);
  const [chosen, choose] = useState(() => new Set());
  const now = useNow(10);
  useEffect(() => {
    if (!feeds.data) return;
    const there = new Set(feeds.data.map((feed) => feed.feed_id));
    const left = [...chosen].filter((id) => there.has(id));
    if (left.length < chosen.size) choose(new Set(left));
  }, [feeds.data]);
  const toggle = (id, on) => {
    const next = new Set(chosen);
    if (on) next.add(id);
    else next.delete(id);
    choose(next);
  };
  const columns = [
    {
      id: "chosen", name: t("feed.choose"), hideName: true, className: "narrow",
      cell: (feed) => html`<label class="check"><input type="checkbox" aria-label=${t("feed.choose.one", { name: feed.source_name })} checked=${chosen.has(feed.feed_id)} onChange=${(event) => toggle(feed.feed_id, event.currentTarget.checked)} /></label>`,
    },
    {
      id: "name", name: t("feed.name"), hideName: true, className: "whole", value: (feed) => feed.source_name.toLowerCase(),
      cell: (feed) => html`<span class="named"><a class="clip-lines" href=${href(["feeds", feed.feed_id])}>${feed.source_name}</a><span class="quiet small clip">${hostName(feed.url) ?? feed.kind}</span></span>`,
    },
    {
      id: "condition", name: t("feed.condition"), hideName: true, className: "whole condition", value: (feed) => gravity(feed.verdict).rank,
      cell: (feed) => html`<span class="named"><${FeedVerdict} feed=${feed} />${gravity(feed.verdict).tone !== "good" && feed.verdict_reason && html`<span class="quiet small reason" title=${feed.verdict_reason}>${feed.verdict_reason}</span>`}</span>`,
    },
    {
      id: "last", name: t("feed.last"), numeric: true, first: "down", value: (feed) => (feed.last_fetch_time ? Date.parse(feed.last_fetch_time) : null),
      cell: (feed) => html`<time title=${full(feed.last_fetch_time)} datetime=${feed.last_fetch_time}>${relative(feed.last_fetch_time, now)}</time>`,
    },
    {
      id: "next", name: t("feed.next"), numeric: true, first: "up", value: (feed) => (feed.enabled ? Date.parse(feed.next_fetch_time) : null),
      cell: (feed) => (feed.enabled ? html`<time title=${full(feed.next_fetch_time)} datetime=${feed.next_fetch_time}>${soon(feed.next_fetch_time, now)}</time>` : html`<span class="quiet">${t("feed.off")}</span>`),
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
  const add = () => ask(t("feed.add"), (close) => html`<${AddFeed} close=${close} />`);
  return html`
    <div class="stack">
      <div class="toolbar">
        <h1>${t("nav.feeds")}</h1>
        <span class="row push"><button type="button" class="button button-primary" onClick=${add}><${Icon} name="plus" />${t("feed.add")}</button></span>
      </div>
      <${Live} of=${feeds} skeleton=${html`<${Skeleton} lines=${12} height="2.25rem" />`}>
        ${(all) => {
          if (!all.length) {
            const next = html`<button type="button" class="button button-primary" onClick=${add}><${Icon} name="plus" />${t("feed.add")}</button>`;
            return html`<${Empty} title=${t("feed.none")} action=${next}>${t("feed.none.text")}<//>`;
          }
          const named = all.filter((feed) => matches(feed, query.text));
          const rows = sorted(named.filter(SHOWN[query.show] ?? SHOWN.all), columns, query.sort);
          const count = (name) => number(named.filter(SHOWN[name]).length);
          return html`
            <div class="toolbar">
              <${Segments} label=${t("feed.show")} value=${query.show} onChange=${(show) => setQuery({ show })}
                options=${Object.keys(SHOWN).map((each) => [each, `${t(`feed.show.${each}`)} ${count(each)}`])} />
              <input type="search" class="input" aria-label=${t("feed.search")} placeholder=${t("feed.search")} value=${query.text}
                onInput=${(event) => setQuery({ text: event.currentTarget.value }, { replace: true })} />
            </div>
            <${Bulk} chosen=${chosen} choose=${choose} rows=${rows} />
            ${rows.length
              ? html`<div class="card flush"><${Table} caption=${t("nav.feeds")} className="cards feeds-table" columns=${columns} rows=${rows} keyOf=${(feed) => feed.feed_id} sort=${query.sort} onSort=${(sort) => setQuery({ sort }, { replace: true })} /></div>`
              : html`<${Empty} title=${t("feed.none.match")} action=${html`<button type="button" class="button" onClick=${() => setQuery({ show: "", text: "" })}>${t("feed.show.everything")}</button>`} />`}
          `;
        }}
      <//>
    </div>
  `;
}

/** A time that is due: "now" once it has come, since the next tick takes it. */
const soon = (at, now) => (Date.parse(at) <= now ? t("feed.due") : relative(at, now));

const ACTIONS = ["fetch", "enable", "disable", "tag", "untag"];

function Bulk({ chosen, choose, rows }) {
  const everything = rows.length > 0 && rows.every((feed) => chosen.has(feed.feed_id));
  const all = (on) => choose(on ? new Set(rows.map((feed) => feed.feed_id)) : new Set());
  return html`
    <div class="bulk" role="group" aria-label=${t("feed.bulk")}>
      <label class="row"><span class="check"><input type="checkbox" checked=${everything} onChange=${(event) => all(event.currentTarget.checked)} /></span>${chosen.size ? t("feed.chosen", { count: chosen.size, n: number(chosen.size) }) : t("feed.choose.all")}</label>
      ${ACTIONS.map((action) => html`<button key=${action} type="button" class="button button-small" disabled=${!chosen.size} onClick=${() => act(action, [...chosen], () => choose(new Set()))}>${t(`feed.action.${action}`)}</button>`)}
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
