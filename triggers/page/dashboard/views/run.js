// One run with its attempts: what was done, what failed and why. It is read again every two seconds while it is open.
import { html, useEffect } from "../lib/dom.js";
import { full, number, relative } from "../lib/format.js";
import { useLive, useNow } from "../lib/live.js";
import { isOpen, operations, took } from "../lib/operations.js";
import { href } from "../lib/router.js";
import { known, t } from "../i18n/index.js";
import { Icon } from "../components/icons.js";
import { Message, Live, Skeleton } from "../components/states.js";
import { Table } from "../components/table.js";
import { Status, Tile } from "./feed.js";
import { Progress, secondsOf, subjectOf, workflow } from "./runs.js";

export default function RunView({ params }) {
  const run = useLive(`run ${params.run}`, () => operations.run(params.run), 2);
  useEffect(() => {
    if (run.data) document.title = `${workflow(run.data.workflow_name)} · toolpulse`;
  }, [run.data?.workflow_name]);
  return html`
    <div class="stack">
      <p><a class="small back" href=${href(["runs"])}><${Icon} name="left" />${t("run.back")}</a></p>
      ${!run.data && html`<h1>${t("run.one")}</h1>`}
      <${Live} of=${run} skeleton=${html`<${Skeleton} lines=${8} height="2rem" />`}>${(data) => html`<${Run} run=${data} />`}<//>
    </div>
  `;
}

const isFeedWork = (row) => row.task_name === "fetch_feed";

function Run({ run }) {
  const now = useNow(1);
  const counts = Object.entries(run.metrics ?? {}).filter(([, value]) => typeof value === "number" && value);
  const columns = [
    { id: "subject", name: t("run.subject"), hideName: true, className: "whole", cell: (row) => (isFeedWork(row) ? html`<a href=${href(["feeds", row.subject])}>${row.subject}</a>` : html`<span class="mono">${row.subject}</span>`) },
    { id: "task", name: t("run.task"), cell: (row) => known(`workflow.${row.task_name}`, row.task_name) },
    { id: "status", name: t("run.status"), hideName: true, cell: (row) => html`<${Status} status=${row.status} />` },
    { id: "new", name: t("run.done"), numeric: true, cell: (row) => number(isFeedWork(row) ? row.articles_new : row.progress) },
    { id: "time", name: t("run.took"), numeric: true, cell: (row) => (row.duration_ms == null ? "–" : took(row.duration_ms / 1000)) },
    { id: "error", name: t("feed.error"), className: "whole reason-cell", cell: (row) => row.error_message && html`<span class="small reason" title=${row.error_message}>${row.error_message}</span>` },
  ];
  return html`
    <div class="toolbar"><h1>${workflow(run.workflow_name)}</h1><${Status} status=${run.status} /><span class="mono small quiet">${run.run_id}</span></div>
    ${run.errors?.length > 0 && html`<${Message} title=${t("run.errors", { count: run.errors.length, n: number(run.errors.length) })} icon="warning" tone="bad">
      <ul class="plain-list">${run.errors.slice(0, 10).map((each, index) => html`<li key=${index}>${each}</li>`)}</ul>
    <//>`}
    <div class="tiles">
      <${Tile} name=${t("run.subject")} value=${run.subject ? subjectOf(run) : "–"} />
      <${Tile} name=${t("run.done")} value=${html`<${Progress} run=${run} />`} text=${isOpen(run) ? t("run.live") : ""} />
      <${Tile} name=${t("run.started")} value=${relative(run.started_at, now)} text=${full(run.started_at)} />
      <${Tile} name=${t("run.took")} value=${took(secondsOf(run, now))} text=${run.ended_at ? t("run.ended", { when: full(run.ended_at) }) : ""} />
    </div>
    <div class=${counts.length ? "columns wide-first" : "columns"}>
      <section class="card flush" aria-label=${t("run.attempts")}>
        <div class="card-head"><h2>${t("run.attempts")}</h2></div>
        ${run.attempts?.length
          ? html`<${Table} caption=${t("run.attempts")} className="cards" columns=${columns} rows=${run.attempts} keyOf=${(row) => `${row.task_name} ${row.subject} ${row.attempt_no} ${row.started_at}`} />`
          : html`<p class="quiet padded">${t("run.attempts.none")}</p>`}
      </section>
      ${counts.length > 0 && html`<section class="card stack tight" aria-label=${t("run.counts")}>
        <h2>${t("run.counts")}</h2>
        <dl class="facts">${counts.map(([name, value]) => html`<dt key=${name}>${name.replaceAll("_", " ")}</dt><dd class="figure">${number(value)}</dd>`)}</dl>
      </section>`}
    </div>
  `;
}
