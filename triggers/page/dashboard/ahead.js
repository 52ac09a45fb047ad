// Asks for the data of the view that the URL names. Runs before app.js, as soon as it has the few modules that it needs.
import { prime } from "./lib/live.js";
import { firstOf } from "./lib/questions.js";
import { parse } from "./lib/router.js";

for (const question of firstOf(parse(location.pathname, location.search))) prime(...question);
