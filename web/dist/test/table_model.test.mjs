// test/table_model.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";

// src/heat_model.ts
var kCollator = new Intl.Collator("en", { numeric: true });
function naturally(a, b) {
  return kCollator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}

// src/table_model.ts
function groupRows(rows2) {
  const groups = [];
  let pair = -1;
  for (const row2 of rows2) {
    if (row2.pair >= 0 && row2.pair === pair) groups[groups.length - 1].rows.push(row2);
    else groups.push({ rows: [row2] });
    pair = row2.pair;
  }
  return groups;
}
function compareValues(a, b, descending) {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const by = typeof a === "number" && typeof b === "number" ? a - b : naturally(String(a), String(b));
  return descending ? -by : by;
}
function sortGroups(groups, column, descending) {
  if (column < 0) return groups;
  return [...groups].sort((a, b) => compareValues(a.rows[0].cells[column], b.rows[0].cells[column], descending));
}
function filterGroups(groups, filter, show2) {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return groups.filter((group) => {
    if (filter.abnormalOnly && !group.rows.some((row2) => row2.role === "abnormal")) return false;
    if (filter.ranks && !group.rows.some((row2) => filter.ranks.has(row2.rank))) return false;
    if (words.length === 0) return true;
    const text = group.rows.map((row2) => row2.cells.map(show2).join("\0")).join("\0").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
var kUnitInHeader = {
  duration: "ns",
  bytes: "bytes",
  "bytes-per-second": "bytes/s",
  share: "share of 1",
  ratio: "ratio"
};
function csvText(text) {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}
function toCsv(table, groups) {
  const roles = table.rows.some((row2) => row2.role !== "plain");
  const head = table.columns.map((c) => csvText(kUnitInHeader[c.unit] ? `${c.title} (${kUnitInHeader[c.unit]})` : c.title));
  const lines = [(roles ? ["row", ...head] : head).join(",")];
  for (const row2 of groups.flatMap((group) => group.rows)) {
    const cells = row2.cells.map((v) => v === null ? "" : typeof v === "number" ? String(v) : csvText(v));
    lines.push((roles ? [row2.role, ...cells] : cells).join(","));
  }
  return lines.join("\r\n") + "\r\n";
}

// test/table_model.test.ts
var row = (cells, role = "plain", pair = -1, rank = -1) => ({ cells, role, pair, rank });
var rows = [
  row(["gemm", 31], "abnormal", 0, 19),
  row(["gemm", 24], "normal", 0, 18),
  row(["adam", 60], "abnormal", 1, 19),
  row(["adam", 50], "normal", 1, 20),
  row(["norm", null], "plain", -1, 3)
];
var show = (value) => String(value);
var all = { text: "", abnormalOnly: false, ranks: null };
test("pairs stay together whichever way they are sorted", () => {
  const groups = groupRows(rows);
  assert.deepEqual(groups.map((g) => g.rows.length), [2, 2, 1]);
  const down = sortGroups(groups, 1, true).map((g) => g.rows[0].cells[0]);
  assert.deepEqual(down, ["adam", "gemm", "norm"]);
  const up = sortGroups(groups, 1, false).map((g) => g.rows[0].cells[0]);
  assert.deepEqual(up, ["gemm", "adam", "norm"]);
  assert.deepEqual(sortGroups(groups, -1, true), groups);
});
test("text sorts as people count", () => {
  assert.ok(compareValues("n2", "n10", false) < 0);
  assert.ok(compareValues("n2", "n10", true) > 0);
  assert.equal(compareValues(null, null, true), 0);
});
test("search wants every word, in any case, anywhere in the pair", () => {
  const groups = groupRows(rows);
  const found = (text) => filterGroups(groups, { ...all, text }, show).map((g) => g.rows[0].cells[0]);
  assert.deepEqual(found("GEMM 24"), ["gemm"]);
  assert.deepEqual(found("gemm 50"), []);
  assert.deepEqual(found("  "), ["gemm", "adam", "norm"]);
});
test("filters by role and by rank", () => {
  const groups = groupRows(rows);
  assert.equal(filterGroups(groups, { ...all, abnormalOnly: true }, show).length, 2);
  assert.deepEqual(filterGroups(groups, { ...all, ranks: /* @__PURE__ */ new Set([20]) }, show).map((g) => g.rows[0].cells[0]), ["adam"]);
});
test("CSV is quoted by RFC 4180, says units, and starts no formula", () => {
  const table = {
    columns: [{ title: "name", unit: "text", term: "" }, { title: "time", unit: "duration", term: "" }],
    rows: [row(['say "a, b"', 15e5]), row(['=HYPERLINK("x")', null]), row(["-1+2", -5]), row(["two\nlines", 0])],
    sort_column: -1,
    descending: true,
    notes: []
  };
  assert.equal(
    toCsv(table, groupRows(table.rows)),
    `name,time (ns)\r
"say ""a, b""",1500000\r
"'=HYPERLINK(""x"")",\r
'-1+2,-5\r
"two
lines",0\r
`
  );
});
test("CSV of pairs says which row is which", () => {
  const table = { columns: [{ title: "name", unit: "text", term: "" }, { title: "n", unit: "count", term: "" }], rows: rows.slice(0, 2), sort_column: -1, descending: true, notes: [] };
  assert.equal(toCsv(table, groupRows(table.rows)), "row,name,n\r\nabnormal,gemm,31\r\nnormal,gemm,24\r\n");
});
