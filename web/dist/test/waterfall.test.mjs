// test/waterfall.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";

// src/waterfall_model.ts
function placeItems(items) {
  let sum = 0;
  let partFrom = 0;
  return items.map((item2) => {
    if (item2.role === "total") {
      sum = item2.value;
      return { item: item2, from: 0, to: item2.value };
    }
    if (item2.role === "within") {
      const from2 = partFrom;
      partFrom += item2.value;
      return { item: item2, from: from2, to: from2 + item2.value };
    }
    const from = sum;
    sum += item2.value;
    partFrom = Math.min(from, sum);
    return { item: item2, from: Math.min(from, sum), to: Math.max(from, sum) };
  });
}

// test/waterfall.test.ts
var item = (role, value) => ({ name: "", time_class: "other", role, value, note: "", term: "" });
var places = (items) => placeItems(items).map((p) => [p.from, p.to]);
test("parts follow one another, what is within starts where its part does", () => {
  assert.deepEqual(
    places([item("part", 50), item("part", 40), item("within", 30), item("within", 10), item("part", 10), item("total", 100)]),
    [[0, 50], [50, 90], [50, 80], [80, 90], [90, 100], [0, 100]]
  );
});
test("gains step down from a level", () => {
  assert.deepEqual(
    places([item("total", 412), item("part", -81), item("part", -14), item("total", 317)]),
    [[0, 412], [331, 412], [317, 331], [0, 317]]
  );
});
