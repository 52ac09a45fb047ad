"use strict";
// A Cosmos DB server on 127.0.0.1 for tests. Prints its port, and ends when its standard input does, so that a killed
// test run leaves nothing behind. What it does otherwise than Azure is evened out first.

// Azure reads a composite index backwards too; this server wants each direction declared.
const helpers = require("@zeit/cosmosdb-query/lib/helpers");
const { sort } = helpers;
const opposite = { ascending: "descending", descending: "ascending" };
helpers.sort = (collection, getRid, indexes, ...orders) => {
  const backwards = (indexes || []).map(index =>
    index.map(({ path, order }) => ({ path, order: opposite[order] }))
  );
  return sort(collection, getRid, [...(indexes || []), ...backwards], ...orders);
};

// Reading an item that is not there is a 404; this server stumbles over it (500) before it gets that far.
const readDocument = require("@vercel/cosmosdb-server/lib/handler/read-document");
const { parsePartitionKey } = require("@vercel/cosmosdb-server/lib/utils/get-partition-from-header");
const { default: read } = readDocument;
readDocument.default = (account, req, res, params) => {
  const key = req.headers["x-ms-documentdb-partitionkey"];
  const collection = account.database(params.dbId).collection(params.collId);
  if (key && collection.read() && !collection.document(params.docId, parsePartitionKey(key, params.docId)).read()) {
    res.statusCode = 404;
    return { code: "NotFound", message: "Entity with the specified id does not exist in the system." };
  }
  return read(account, req, res, params);
};

// The condition of a patch is about the item that is patched; this server tries it on those of its id in any partition.
const patching = require("@vercel/cosmosdb-server/lib/handler/_patch-operations");
const { patchOperation } = patching;
patching.patchOperation = (collection, input) => {
  const [path] = collection.read().partitionKey.paths;
  const key = JSON.stringify(parsePartitionKey(input.partitionKey, input.id));
  const condition = input.condition && `${input.condition} AND c[${JSON.stringify(path.slice(1))}] = ${key}`;
  return patchOperation(collection, { ...input, condition });
};

// A transactional batch is all or nothing, and its operations are about the partition that its header names. This server
// stumbles over operations that do not name it themselves (500), and keeps what was done before one that failed.
const batching = require("@vercel/cosmosdb-server/lib/handler/batch-documents");
const operations = require("@vercel/cosmosdb-server/lib/handler/_document-operations");
const { default: readJson } = require("@vercel/cosmosdb-server/lib/json");
const LARGEST_BATCH = 2 * 1024 * 1024;
batching.default = async (account, req, res, params) => {
  const wanted = await readJson(req);
  const collection = account.database(params.dbId).collection(params.collId);
  if (!collection.read()) {
    res.statusCode = 404;
    return {};
  }
  if (wanted.length > 100 || Number(req.headers["content-length"]) > LARGEST_BATCH) {
    res.statusCode = wanted.length > 100 ? 400 : 413;
    return { message: "The batch is too large." };
  }
  const { documents } = collection;
  const before = { _data: new Map(documents._data), _index: new Map(documents._index) };
  const partitionKey = req.headers["x-ms-documentdb-partitionkey"];
  const results = [];
  for (const each of wanted) {
    const operation = operations[`${each.operationType.toLowerCase()}Operation`];
    const { statusCode, body } = operation(collection, { ...each, partitionKey });
    if (statusCode >= 400) {
      Object.assign(documents, before);
      res.statusCode = 207;
      return wanted.map((_, n) => ({ statusCode: n === results.length ? statusCode : 424, requestCharge: 0 }));
    }
    results.push({ statusCode, requestCharge: 1, eTag: body && body._etag, resourceBody: body });
  }
  return results;
};

// The SDK reads many items with one query that names them all. Azure looks each up in its index; this server compares
// every item of the container with all of them.
const items = require("@vercel/cosmosdb-server/lib/account/items").default;
const { query } = items.prototype;
const READ_MANY = /^SELECT \* FROM c WHERE (?:\( \( c\.id = @param_id0 |c\.\w+ = @pk AND c\.id IN \()/;
items.prototype.query = function(params, options) {
  if (!READ_MANY.test(params.query) || !this._parent.read()) return query.call(this, params, options);
  const value = Object.fromEntries(params.parameters.map(each => [each.name, each.value]));
  const keys = "@pk" in value
    ? Object.keys(value).filter(name => name !== "@pk").map(name => [value[name], value["@pk"]])
    : Object.keys(value).filter(name => name.startsWith("@param_id"))
      .map(name => [value[name], value[`@param_pk${name.slice("@param_id".length)}0`]]);
  const found = keys.map(([id, partition]) => this._item("/id", id, partition).read());
  return { result: found.filter(Boolean), continuation: null };
};

// This server parses a query's text twice for each time that it is asked, which is most of what it does.
const cosmosdbQuery = require("@zeit/cosmosdb-query");
const { default: parse } = cosmosdbQuery;
const parsed = new Map();
cosmosdbQuery.default = text => {
  if (!parsed.has(text)) {
    if (parsed.size === 1000) parsed.clear();
    parsed.set(text, parse(text));
  }
  return parsed.get(text);
};

const { createHttpServer, createHttpsServer } = require("@vercel/cosmosdb-server");

// --tls: the SDK sends an identity's token over nothing else.
const create = process.argv.includes("--tls") ? createHttpsServer : createHttpServer;
const server = create({ keepAlive: true });
server.keepAliveTimeout = 60000;
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
process.stdin.resume();
process.stdin.on("end", () => process.exit());
