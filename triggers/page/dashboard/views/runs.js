// Runs: work that was accepted and is done by messages, with its progress while it goes on.
import { html } from "../lib/dom.js";
import { full, number, relative } from "../lib/format.js";
import { useLive, useNow } from "../lib/live.js";
import { isOpen, operations, progressOf, took } from "../lib/operations.js";
import { href } from "../lib/router.js";
import { known, t } from "../i18n/index.js";
import { Segments } from "../components/choice.js";
import { Empty, Live, Skeleton } from "../components/states.js";
import { Table } from "../components/table.js";
import { Status } from "./feed.js";

export const DEFAULTS = { show: "all" };
const SHOWN = ["all", "RUNNING", "QUEUED", "PARTIAL", "FAILED"];

export const workflow = (name) => known(`workflow.${name}`, name);

/** What a run works on: a feed, a tool or an article by id, or all that a word says. */
export const subjectOf = (run) => known(`run.subject.${run.subject}`, run.subject);

/** How long a run has taken, in seconds; until now while it is open. */
export const secondsOf = (run, now) => (run.running_since ? ((run.ended_at ? (run.ended_ms ?? Date.parse(run.ended_at)) : now) - (run.began_ms ?? Date.parse(run.running_since))) / 1000 : null);

export function Progress({ run }) {
  const { done, of } = progressOf(run);
  if (!isOpen(run)) return html`<span class="figure">${number(done)}</span>`;
  const text = of ? t("run.progress.of", { done: number(done), of: number(of) }) : t("run.progress", { done: number(done) });
  return html`<span class="named"><progress max=${of || 1} value=${of ? Math.min(done, of) : undefined} aria-label=${text}></progress><span class="small quiet">${text}</span></span>`;
}

export default function Runs({ query, setQuery }) {
  const status = query.show === "all" ? undefined : query.show;
  const runs = useLive(`runs ${query.show}`, () => operations.runs({ status }), 4);
  const now = useNow(2);
  const columns = [
    { id: "work", name: t("run.work"), hideName: true, className: "whole", cell: (run) => html`<span class="named"><a href=${href(["runs", run.run_id])}>${workflow(run.workflow_name)}</a><span class="quiet small clip">${subjectOf(run)}</span></span>` },
    { id: "status", name: t("run.status"), hideName: true, cell: (run) => html`<${Status} status=${run.status} />` },
    { id: "progress", name: t("run.done"), numeric: true, cell: (run) => html`<${Progress} run=${run} />` },
    { id: "started", name: t("run.started"), numeric: true, cell: (run) => html`<time datetime=${run.started_at} title=${full(run.started_at)}>${relative(run.started_at, now)}</time>` },
    { id: "took", name: t("run.took"), numeric: true, cell: (run) => took(secondsOf(run, now)) },
    { id: "errors", name: t("feed.errors"), numeric: true, cell: (run) => html`<span class=${run.errors?.length ? "bad-text" : "quiet"}>${number(run.errors?.length ?? 0)}</span>` },
  ];
  return html`
    <div class="stack">
      <div class="toolbar">
        <h1>${t("nav.runs")}</h1>
        <${Segments} label=${t("run.show")} value=${query.show} onChange=${(show) => setQuery({ show })} options=${SHOWN.map((each) => [each, each === "all" ? t("run.show.all") : known(`status.${each}`, each)])} />
      </div>
      <p class="quiet lead">${t("run.about")}</p>
      <${Live} of=${runs} skeleton=${html`<${Skeleton} lines=${12} height="2.25rem" />`}>
        ${({ items }) =>
          items.length
            ? html`<div class="card flush"><${Table} caption=${t("nav.runs")} className="cards" columns=${columns} rows=${items} keyOf=${(run) => run.run_id} /></div>`
            : html`<${Empty} title=${t("run.none")}>${t("run.none.text")}<//>`}
      <//>
    </div>
  `;
}
