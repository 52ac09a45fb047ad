// The views by their path. A view is loaded when it is first opened. README.md says how to add one.
//
// `nav`: its place in the navigation, with a text `nav.<id>`; `under`: the place that a view without one belongs to. The view's module exports the component as default; it
// gets `params` (from the path), `query`, and `setQuery(change, {replace})`.

export const VIEWS = [
  { id: "overview", path: "", nav: true, load: () => import("./overview.js") },
  { id: "tool", path: "tools/:tool", under: "overview", titled: true, load: () => import("./tool.js") },
  { id: "feeds", path: "feeds", nav: true, load: () => import("./feeds.js") },
  { id: "feed", path: "feeds/:feed", under: "feeds", titled: true, load: () => import("./feed.js") },
  { id: "quarantine", path: "quarantine", nav: true, load: () => import("./quarantine.js") },
  { id: "runs", path: "runs", nav: true, load: () => import("./runs.js") },
  { id: "run", path: "runs/:run", under: "runs", titled: true, load: () => import("./run.js") },
  { id: "health", path: "health", nav: true, load: () => import("./health.js") },
];
