// A table whose columns can be sorted, whose rows appear as they are scrolled to, and which becomes cards on a phone.
import { html, useEffect, useMemo, useRef, useState } from "../lib/dom.js";
import { t } from "../i18n/index.js";

const FIRST = 30;
const STEP = 25;

/**
 * columns: [{id, name, cell: (row) => markup, value?: (row) => number|string|null (sortable), numeric?, className?,
 * hideName?: true for a column whose cells need no name on a phone, isControl?: true for one of controls, which names
 * itself to screen readers only, first?: "up" or "down"}]
 * sort: "id" or "-id" (highest first). rows come sorted; `groups` is [{id, name, rows}] instead of rows.
 */
export function Table({ caption, columns, rows, groups, keyOf, sort, onSort, className = "", rowClass }) {
  const parts = groups ?? [{ id: "all", rows }];
  const total = parts.reduce((sum, part) => sum + part.rows.length, 0);
  const [most, grow] = useState(FIRST);
  const end = useRef(null);
  // Another order or choice begins at the top again: drawing hundreds of rows anew would be felt.
  const before = useRef({ sort, total });
  if (before.current.sort !== sort || before.current.total !== total) {
    before.current = { sort, total };
    if (most !== FIRST) grow(FIRST);
  }
  useEffect(() => {
    if (most >= total || !end.current) return undefined;
    const watch = new IntersectionObserver(
      (seen) => seen.some((each) => each.isIntersecting) && grow((count) => count + STEP),
      { rootMargin: "1200px" },
    );
    watch.observe(end.current);
    return () => watch.disconnect();
  }, [most, total]);
  let left = most;
  // A row that is drawn once is kept while its columns stay the same: more rows, or another order, cost only what is new.
  const drawn = useMemo(() => new WeakMap(), [columns, rowClass]);
  const drawRow = (row) => {
    if (!drawn.has(row)) drawn.set(row, html`<${Row} key=${keyOf(row)} row=${row} columns=${columns} rowClass=${rowClass} />`);
    return drawn.get(row);
  };
  return html`
    <div class="table-frame">
      <table class=${`table ${className}`}>
        ${caption && html`<caption class="visually-hidden">${caption}</caption>`}
        <thead>
          <tr>${columns.map((column) => html`<${Head} key=${column.id} column=${column} sort=${sort} onSort=${onSort} />`)}</tr>
        </thead>
        ${parts.map((part) => {
          const shown = part.rows.slice(0, Math.max(0, left));
          left -= shown.length;
          return html`
            <tbody key=${part.id}>
              ${part.name && shown.length > 0 && html`<tr class="group"><th scope="rowgroup" colspan=${columns.length}>${part.name} <span class="quiet">${part.rows.length}</span></th></tr>`}
              ${shown.map(drawRow)}
            </tbody>
          `;
        })}
      </table>
      ${most < total && html`<div ref=${end} class="table-end"><button type="button" class="button" onClick=${() => grow(most + 2 * STEP)}>${t("word.more")}</button></div>`}
    </div>
  `;
}

const Row = ({ row, columns, rowClass }) => html`
  <tr class=${rowClass?.(row)}>
    ${columns.map((column) => html`
      <td key=${column.id} data-name=${column.hideName ? undefined : column.name} class=${`${column.numeric ? "numeric" : ""} ${column.className ?? ""}`}>
        ${column.cell(row)}
      </td>
    `)}
  </tr>
`;

function Head({ column, sort, onSort }) {
  const up = sort === column.id;
  const down = sort === `-${column.id}`;
  const kind = `${column.numeric ? "numeric" : ""} ${column.className ?? ""}`;
  if (!column.value || !onSort) {
    return html`<th scope="col" class=${kind}>${column.isControl ? html`<span class="visually-hidden">${column.name}</span>` : column.name}</th>`;
  }
  const first = column.first ?? (column.numeric ? "down" : "up");
  const next = up ? `-${column.id}` : down ? column.id : first === "down" ? `-${column.id}` : column.id;
  return html`
    <th scope="col" class=${kind} aria-sort=${up ? "ascending" : down ? "descending" : undefined}>
      <button type="button" class="sort" onClick=${() => onSort(next)} title=${column.title}>
        ${column.name}<span class="sort-mark" aria-hidden="true">${up ? "▲" : down ? "▼" : ""}</span>
      </button>
    </th>
  `;
}

/** Rows in the order that `sort` names; rows without a value come last in both directions. */
export function sorted(rows, columns, sort) {
  const descending = sort?.startsWith("-");
  const column = columns.find((each) => each.id === (descending ? sort.slice(1) : sort));
  if (!column?.value) return rows;
  const values = new Map(rows.map((row) => [row, column.value(row)]));
  const compared = (a, b) => {
    const [x, y] = [values.get(a), values.get(b)];
    if (x === null || x === undefined) return y === null || y === undefined ? 0 : 1;
    if (y === null || y === undefined) return -1;
    const order = typeof x === "string" ? x.localeCompare(y) : x - y;
    return descending ? -order : order;
  };
  return [...rows].sort(compared);
}
