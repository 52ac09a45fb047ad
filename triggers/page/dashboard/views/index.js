// The views by their path. A view is loaded when it is first opened. README.md says how to add one.
//
// `nav`: its place in the navigation, with a text `nav.<id>`. The view's module exports the component as default; it
// gets `params` (from the path), `query`, and `setQuery(change, {replace})`.

export const VIEWS = [{ id: "overview", path: "", nav: true, load: () => import("./overview.js") }];
