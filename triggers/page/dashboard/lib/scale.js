// Axes: round values and times for ticks, positions of values, and paths of lines and bands. Pure.

/** Round numbers from `low` to `high`, about `count` of them. */
export function ticks(low, high, count = 5) {
  if (!(high > low)) return [low];
  const raw = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((each) => each * power >= raw * 0.999) ?? 10);
  const first = Math.ceil(low / step - 1e-9);
  const found = [];
  for (let index = first; index * step <= high + step * 1e-9; index += 1) found.push(Number((index * step).toPrecision(12)));
  return found;
}

/** A round number that is at least `value`: the top of an axis of counts. */
export function roundUp(value) {
  if (value <= 4) return Math.max(1, Math.ceil(value));
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((each) => each * power >= value) ?? 10) * power;
}

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
const STEPS = [HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 3 * DAY, 7 * DAY, 14 * DAY];

/** Where the reader's day begins, as an offset from UTC in milliseconds at that moment. */
export function zoneOffset(moment, zone) {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    ...{ year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" },
  }).formatToParts(moment);
  const of = (type) => Number(parts.find((part) => part.type === type).value);
  const local = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  return local - Math.floor(moment / 1000) * 1000;
}

/** Round local times from `from` to `to`, at most `most`: [{at, kind}], where kind is "hour", "day", "month" or "year". */
export function timeTicks(from, to, most, zone) {
  const span = to - from;
  const step = STEPS.find((each) => span / each <= most);
  if (!step) return monthTicks(from, to, most);
  const offset = zoneOffset(from, zone);
  const found = [];
  for (let local = Math.ceil((from + offset) / step) * step; ; local += step) {
    // The offset of that moment, which may be another one where the clocks change.
    const at = local - zoneOffset(local - offset, zone);
    if (at > to) return found;
    if (at >= from) found.push({ at, kind: step >= DAY || local % DAY === 0 ? "day" : "hour" });
  }
}

function monthTicks(from, to, most) {
  const months = (to - from) / (30.4 * DAY);
  const step = [1, 2, 3, 6, 12, 24, 60].find((each) => months / each <= most) ?? 120;
  const first = new Date(from);
  const found = [];
  for (let month = 0; month <= months + step; month += 1) {
    const at = Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + month, 1);
    const number = new Date(at).getUTCFullYear() * 12 + new Date(at).getUTCMonth();
    if (at >= from && at <= to && number % step === 0) found.push({ at, kind: step >= 12 ? "year" : "month" });
  }
  return found;
}

/** A function from values to positions. */
export const linear = (low, high, start, end) => (value) =>
  high === low ? (start + end) / 2 : start + ((value - low) / (high - low)) * (end - start);

const shown = (value) => String(Math.round(value * 10) / 10);

/** An SVG path through the points; a point without a value breaks the line. */
export function linePath(points) {
  let path = "";
  let pen = false;
  for (const [x, y] of points) {
    if (y === null || y === undefined) {
      pen = false;
      continue;
    }
    path += `${pen ? "L" : "M"}${shown(x)} ${shown(y)}`;
    pen = true;
  }
  return path;
}

/** An SVG path around the band of [x, low, high]; a point without both breaks the band. */
export function bandPath(points) {
  let path = "";
  let run = [];
  const close = () => {
    if (run.length > 1) {
      const there = run.map(([x, low]) => `${shown(x)} ${shown(low)}`);
      const back = run.map(([x, , high]) => `${shown(x)} ${shown(high)}`).reverse();
      path += `M${[...there, ...back].join("L")}Z`;
    }
    run = [];
  };
  for (const point of points) {
    if (point[1] === null || point[2] === null || point[1] === undefined || point[2] === undefined) close();
    else run.push(point);
  }
  close();
  return path;
}

/** The index of the point nearest to a position; points are sorted. -1 without points. */
export function nearest(positions, position) {
  let low = 0;
  let high = positions.length - 1;
  if (high < 0) return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (positions[middle] > position) high = middle;
    else low = middle;
  }
  return position - positions[low] <= positions[high] - position ? low : high;
}

/**
 * The uncertainty of one step of a trend: the half width of the whole period's interval, scaled to the step's mentions.
 * So mentions of one story stay dependent, as they are in the interval of the period. Null if either is not known.
 */
export function bandOf(average, mentions, interval, allMentions) {
  if (average === null || !mentions || !interval || !allMentions) return [null, null];
  const half = ((interval[1] - interval[0]) / 2) * Math.sqrt(allMentions / mentions);
  return [Math.max(-1, average - half), Math.min(1, average + half)];
}
