// Every tool with what is said of it over a period.
import { html } from "../lib/dom.js";
import { api } from "../lib/api.js";
import { useLive } from "../lib/live.js";
import { t } from "../i18n/index.js";
import { Limits, Sentiment } from "../components/badge.js";
import { Segments } from "../components/choice.js";
import { Live } from "../components/states.js";
import { Table, sorted } from "../components/table.js";
import { number } from "../lib/format.js";

export const DEFAULTS = { period: "DAY_7", sort: "-mentions" };
const PERIODS = ["HOUR_24", "DAY_7", "DAY_30"];

export default function Overview({ query, setQuery }) {
  const latest = useLive(`latest ${query.period}`, () => api.latest(query.period));
  const columns = [
    { id: "tool", name: t("word.tool"), value: (row) => row.tool.toLowerCase(), cell: (row) => row.tool },
    { id: "sentiment", name: t("word.sentiment"), numeric: true, value: (row) => row.average_sentiment, cell: (row) => html`<${Sentiment} value=${row.average_sentiment} />` },
    { id: "mentions", name: t("word.mentions"), numeric: true, value: (row) => row.total_mentions, cell: (row) => number(row.total_mentions) },
    { id: "verdict", name: t("word.verdict"), cell: (row) => html`<${Limits} figure=${row} />` },
  ];
  return html`
    <div class="stack">
      <div class="toolbar">
        <h1>${t("nav.overview")}</h1>
        <${Segments} label=${t("period.label")} options=${PERIODS.map((each) => [each, t(`period.${each}`)])} value=${query.period} onChange=${(period) => setQuery({ period })} />
      </div>
      <${Live} of=${latest}>
        ${(rows) => html`<div class="card flush"><${Table} caption=${t("nav.overview")} columns=${columns} rows=${sorted(rows, columns, query.sort)} keyOf=${(row) => row.tool_id} sort=${query.sort} onSort=${(sort) => setQuery({ sort }, { replace: true })} /></div>`}
      <//>
    </div>
  `;
}
