// Every tool with what is said of it over a period: one request, whatever their number.
import { html, useEffect, useMemo, useRef, useState } from "../lib/dom.js";
import { api } from "../lib/api.js";
import { number, percent, shortDay, dayAndClock, signed } from "../lib/format.js";
import { refresh, useLive } from "../lib/live.js";
import { OVERVIEW, PERIODS, periodOf, trends as trendsOf } from "../lib/questions.js";
import { href } from "../lib/router.js";
import { FILTERS, changeOf, grouped, matches, reachOf, shares, top } from "../lib/rows.js";
import { t } from "../i18n/index.js";
import { Change, Limits, Sentiment, limitsOf } from "../components/badge.js";
import { ChartOrTable, COLOURS, Legend, TimeChart } from "../components/chart.js";
import { Segments, Select } from "../components/choice.js";
import { managed } from "../components/dialog.js";
import { Icon } from "../components/icons.js";
import { Sparkline } from "../components/sparkline.js";
import { Empty, Live, Skeleton } from "../components/states.js";
import { Table, sorted } from "../components/table.js";
import { note } from "../components/toast.js";

export const DEFAULTS = OVERVIEW;
const MAX_COMPARED = 6;

const toolHref = (row, period) => href(["tools", row.tool_id], { period: period === "DAY_7" ? "" : period });

export default function Overview({ query, setQuery }) {
  const period = periodOf(query);
  const trends = useLive(...trendsOf(period));
  return html`
    <div class="stack">
      <div class="toolbar page-head">
        <h1>${t("overview.title")}</h1>
        <${Segments} label=${t("period.label")} options=${PERIODS.map((each) => [each, t(`period.${each}`)])} value=${period} onChange=${(each) => setQuery({ period: each })} />
      </div>
      <${Live} of=${trends} skeleton=${html`<${Waiting} />`}>
        ${(rows) => (rows.length ? html`<${Tools} rows=${rows} period=${period} query=${query} setQuery=${setQuery} />` : html`<${NoTools} />`)}
      <//>
    </div>
  `;
}

const Waiting = () => html`
  <div class="tiles">${[1, 2, 3, 4, 5].map((each) => html`<div key=${each} class="tile"><${Skeleton} lines=${3} height="1.1rem" label="" /></div>`)}</div>
  <div class="card"><${Skeleton} lines=${12} height="2.4rem" /></div>
`;

function Tools({ rows, period, query, setQuery }) {
  const chosen = query.compare.split(",").filter((id) => rows.some((row) => row.tool_id === id));
  const compare = (id, wanted) => setQuery({ compare: (wanted ? [...chosen, id] : chosen.filter((each) => each !== id)).join(",") }, { replace: true });
  const accept = FILTERS[query.show] ?? FILTERS.all;
  const reach = useMemo(() => reachOf(rows), [rows]);
  const columns = useMemo(() => columnsOf(period, reach, chosen, compare), [period, reach, query.compare, rows]);
  const shown = useMemo(() => sorted(rows.filter((row) => accept(row) && matches(row, query.q)), columns, query.sort), [rows, query.show, query.q, query.sort]);
  const groups = grouped(shown, query.group)?.map((each) => ({ ...each, name: t(groupText(query.group, each.id)) }));
  const all = () => setQuery({ q: "", show: "" }, { replace: true });
  return html`
    <${Tiles} rows=${rows} period=${period} />
    <div class="columns wide-first">
      <${Compared} rows=${rows} chosen=${chosen} clear=${() => setQuery({ compare: "" }, { replace: true })} period=${period} />
      <${Voice} rows=${shown} period=${period} />
    </div>
    <section class="card flush" aria-label=${t("overview.caption", { period: t(`period.${period}`) })}>
      <div class="card-head toolbar"><${Search} value=${query.q} onChange=${(q) => setQuery({ q }, { replace: true })} />
        <${Select} label=${t("overview.filter")} value=${query.show} onChange=${(show) => setQuery({ show }, { replace: true })} options=${Object.keys(FILTERS).map((each) => [each, t(`overview.filter.${each}`)])} />
        <${Select} label=${t("overview.group")} value=${query.group} onChange=${(group) => setQuery({ group }, { replace: true })} options=${["none", "side", "direction", "verdict"].map((each) => [each, t(`overview.group.${each}`)])} />
        <span class="quiet small" role="status">${t("word.tools.count", { count: shown.length, n: number(shown.length) })}</span>
      </div>
      ${shown.length
        ? html`<${Table}
            caption=${t("overview.caption", { period: t(`period.${period}`) })} className="cards tools" columns=${columns} rows=${shown} groups=${groups}
            keyOf=${(row) => row.tool_id} sort=${query.sort} onSort=${(sort) => setQuery({ sort }, { replace: true })}
          />`
        : html`<div class="inset"><${Empty} title=${t("overview.nothing")} action=${html`<button type="button" class="button" onClick=${all}>${t("overview.nothing.clear")}</button>`}>${t("overview.nothing.text")}<//></div>`}
    </section>
  `;
}

const groupText = (by, id) => (by === "verdict" ? `verdict.${id}` : `overview.${by}.${id}`);

function columnsOf(period, reach, chosen, compare) {
  return [
    {
      id: "compare",
      name: t("overview.compare"),
      hideName: true,
      isControl: true,
      className: "pick",
      cell: (row) => {
        const is = chosen.includes(row.tool_id);
        return html`<input type="checkbox" checked=${is} disabled=${!is && chosen.length >= MAX_COMPARED} aria-label=${t("overview.compare.tool", { tool: row.tool })} onChange=${(event) => compare(row.tool_id, event.currentTarget.checked)} />`;
      },
    },
    {
      id: "tool",
      name: t("word.tool"),
      hideName: false,
      className: "name whole",
      value: (row) => row.tool.toLowerCase(),
      cell: (row) => html`<span class="tool-name"><a href=${toolHref(row, period)}>${row.tool}</a>${row.tickers.length > 0 && html` <span class="quiet small">${row.tickers.join(" ")}</span>`}</span>`,
    },
    { id: "trend", name: t("overview.trend"), className: "trend whole", cell: (row) => html`<${Sparkline} points=${row.points} reach=${reach} label=${trendText(row)} />` },
    {
      id: "sentiment",
      name: t("word.sentiment"),
      numeric: true,
      value: (row) => row.average,
      cell: (row) => html`<span class=${row.verdict === "OK" ? "" : "uncertain"}><${Sentiment} value=${row.average} />${row.confidence_interval && html`<br /><span class="quiet tiny" title=${t("word.interval")}>${signed(row.confidence_interval[0])} … ${signed(row.confidence_interval[1])}</span>`}</span>`,
    },
    {
      id: "change",
      name: t("word.change"),
      numeric: true,
      value: changeOf,
      cell: (row) => html`<${Change} value=${changeOf(row)} title=${row.change ? t("overview.change.title", { before: signed(row.change.average_sentiment.previous) }) : t("overview.change.none")} />`,
    },
    {
      id: "mentions",
      name: t("word.mentions"),
      numeric: true,
      value: (row) => row.total_mentions,
      cell: (row) => html`<span class="volume"><span>${number(row.total_mentions)}</span><${Split} row=${row} /></span>`,
    },
    { id: "stories", name: t("word.stories"), numeric: true, value: (row) => row.stories, cell: (row) => number(row.stories) },
    { id: "publishers", name: t("word.publishers"), numeric: true, value: (row) => row.publishers, cell: (row) => number(row.publishers) },
    { id: "verdict", name: t("word.verdict"), className: "verdict whole", value: (row) => limitsOf(row).length, cell: (row) => html`<${Limits} figure=${row} />` },
  ];
}

function trendText(row) {
  const known = row.points.filter((point) => point.average !== null);
  if (!known.length) return t("overview.trend.none", { tool: row.tool });
  return t("overview.trend.label", { tool: row.tool, count: known.length, first: signed(known[0].average), last: signed(known.at(-1).average) });
}

/** The mentions by sentiment, as a bar; its text has the numbers. */
export function Split({ row }) {
  const kinds = ["positive", "neutral", "negative"];
  const title = kinds.map((kind) => `${number(row[`${kind}_count`])} ${t(`word.${kind}`)}`).join(", ");
  return html`
    <span class="split" role="img" aria-label=${title} title=${title}>
      ${kinds.map((kind) => row[`${kind}_count`] > 0 && html`<span key=${kind} class=${kind} style=${{ flexGrow: row[`${kind}_count`] }}></span>`)}
    </span>
  `;
}

function Tiles({ rows, period }) {
  const reliable = rows.filter((row) => row.verdict === "OK").length;
  const tiles = [
    ["most", top(rows, (row) => row.total_mentions), (row) => t("word.mentions.count", { count: row.total_mentions, n: number(row.total_mentions) })],
    ["best", top(rows, (row) => row.average, (value) => value > 0), (row) => html`<${Sentiment} value=${row.average} />`],
    ["worst", top(rows, (row) => -row.average, (value) => value > 0), (row) => html`<${Sentiment} value=${row.average} />`],
    ["rise", top(rows, changeOf, (value) => value > 0), (row) => html`<${Change} value=${changeOf(row)} />`],
    ["fall", top(rows, (row) => (changeOf(row) === null ? null : -changeOf(row)), (value) => value > 0), (row) => html`<${Change} value=${changeOf(row)} />`],
  ].filter(([id, row]) => row || !["rise", "fall"].includes(id) || rows.some((each) => changeOf(each) !== null));
  return html`
    <ul class="tiles">
      ${tiles.map(([id, row, value]) => html`
        <li key=${id} class="tile">
          <span class="tile-name">${t(`overview.tile.${id}`)}</span>
          ${row ? html`<a class="tile-value" href=${toolHref(row, period)}>${row.tool}</a><span class="tile-note">${value(row)}</span>` : html`<span class="tile-value quiet">${t("overview.tile.none")}</span>`}
        </li>
      `)}
      <li class="tile">
        <span class="tile-name">${t("overview.tile.reliable")}</span>
        <span class="tile-value">${t("overview.tile.of", { n: number(reliable), all: number(rows.length) })}</span>
        <span class="meter" aria-hidden="true"><span style=${{ width: `${(100 * reliable) / rows.length}%` }}></span></span>
      </li>
    </ul>
  `;
}

function Voice({ rows, period }) {
  const { total, parts, others } = shares(rows);
  if (!total) return null;
  const whole = [...parts.map((part) => part.share), ...(others ? [others.share] : [])];
  return html`
    <section class="card" aria-labelledby="voice">
      <div class="card-head"><h2 id="voice">${t("overview.voice")}</h2><span class="quiet small">${t("overview.voice.note", { n: number(total) })}</span></div>
      <div class="voice" aria-hidden="true">${whole.map((share, index) => html`<span key=${index} style=${{ flexGrow: share, background: parts[index] ? COLOURS[index] : "var(--line)" }}></span>`)}</div>
      <ol class="voice-list">
        ${parts.map(({ row, share }, index) => html`<li key=${row.tool_id}><span class="swatch" style=${{ background: COLOURS[index] }}></span><a class="clip" href=${toolHref(row, period)}>${row.tool}</a><span class="figure">${percent(share)}</span></li>`)}
        ${others && html`<li><span class="swatch" style=${{ background: "var(--line)" }}></span><span class="quiet">${t("overview.voice.others", { n: number(others.count) })}</span><span class="figure quiet">${percent(others.share)}</span></li>`}
      </ol>
    </section>
  `;
}

function Compared({ rows, chosen, clear, period }) {
  const compared = chosen.map((id) => rows.find((row) => row.tool_id === id));
  // Without a choice, the most mentioned ones show what this is for.
  const shown = compared.length ? compared : [...rows].filter((row) => row.verdict === "OK").sort((a, b) => b.total_mentions - a.total_mentions).slice(0, 3);
  if (!shown.length) return html`<section class="card"><h2>${t("overview.compare.title")}</h2><p class="quiet">${t("overview.compare.hint")}</p></section>`;
  const [first] = shown;
  const lines = shown.map((row) => ({ name: row.tool, points: row.points.map((point) => banded(point, shown.length)) }));
  const label = `${t("overview.compare.title")}: ${shown.map((row) => row.tool).join(", ")}`;
  return html`
    <section class="card" aria-labelledby="compared">
      <div class="card-head">
        <h2 id="compared">${t("overview.compare.title")}</h2>
        ${compared.length ? html`<button type="button" class="button button-small" onClick=${clear}>${t("overview.compare.clear")}</button>` : html`<span class="quiet small">${t("overview.compare.hint")}</span>`}
      </div>
      <${ChartOrTable}
        actions=${html`<${Legend} names=${shown.map((row) => row.tool)} />`}
        name=${label}
        chart=${html`<${TimeChart} label=${label} from=${first.from} to=${first.to} step=${first.step} lines=${lines} domain=${[-1, 1]} height=${230} />`}
        head=${[t("word.from"), ...shown.map((row) => row.tool)]}
        rows=${() => first.points.map((point, index) => [period === "DAY_30" ? shortDay(point.at) : dayAndClock(point.at), ...shown.map((row) => signed(row.points[index]?.average ?? null))])}
      />
    </section>
  `;
}

/** With more than two tools, bands would hide each other: the rows of the table have them. */
const banded = (point, tools) => ({ at: point.at, value: point.average, low: tools > 2 ? null : point.low, high: tools > 2 ? null : point.high });

function Search({ value, onChange }) {
  const input = useRef(null);
  const [text, setText] = useState(value);
  useEffect(() => {
    // While a person types, the text of the field is ahead of the URL.
    if (document.activeElement !== input.current) setText(value);
  }, [value]);
  useEffect(() => {
    const slash = (event) => {
      if (event.key !== "/" || event.target.closest?.("input, textarea, select, dialog")) return;
      event.preventDefault();
      input.current?.focus();
    };
    addEventListener("keydown", slash);
    return () => removeEventListener("keydown", slash);
  }, []);
  return html`
    <span class="search">
      <${Icon} name="search" />
      <input ref=${input} class="input" type="search" value=${text} placeholder=${t("overview.search")} aria-label=${t("app.find")} title=${t("app.find.hint")} autocomplete="off" spellcheck=${false}
        onInput=${(event) => { setText(event.currentTarget.value); onChange(event.currentTarget.value); }} />
    </span>
  `;
}

function NoTools() {
  const [name, setName] = useState("");
  const add = async (event) => {
    event.preventDefault();
    if (!name.trim()) return;
    try {
      await managed(() => api.addTool(name.trim()));
      note(t("overview.added", { tool: name.trim() }));
      refresh("trends");
    } catch (error) {
      if (error.kind !== "management") note(error.message, { tone: "bad" });
    }
  };
  return html`
    <${Empty} title=${t("overview.empty")} action=${html`
      <form class="row" onSubmit=${add}>
        <input class="input" value=${name} aria-label=${t("overview.empty.name")} placeholder=${t("overview.empty.name")} onInput=${(event) => setName(event.currentTarget.value)} />
        <button type="submit" class="button button-primary">${t("overview.empty.add")}</button>
      </form>`}
    >${t("overview.empty.text")}<//>
  `;
}
