// The names of feeds by id: where nobody knows the publisher, they say who published. Read only where they are needed.
import { useMemo } from "../../lib/dom.js";
import { useLive } from "../../lib/live.js";
import { operations } from "../../lib/operations.js";

export function useFeedNames(isNeeded) {
  const feeds = useLive(isNeeded ? "feeds" : null, operations.feeds, 300);
  return useMemo(() => new Map((feeds.data ?? []).map((feed) => [feed.feed_id, feed.source_name])), [feeds.data]);
}
