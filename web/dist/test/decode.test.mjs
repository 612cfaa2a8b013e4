// test/decode.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

// src/decode.ts
function bytesOfBase64(text) {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
function showDirectionMarks(json) {
  return json.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (mark) => `\\\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
async function decodeReport(base64) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This browser is too old to unpack the report (it lacks DecompressionStream). Any browser since 2023 works.");
  }
  const packed = new Blob([bytesOfBase64(base64)]).stream();
  const text = await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text();
  return JSON.parse(showDirectionMarks(text));
}

// test/decode.test.ts
test("base64 with blanks around it", () => {
  assert.deepEqual([...bytesOfBase64(" //79\n")], [255, 254, 253]);
});
test("marks that turn the reading direction are shown, the JSON stays JSON", () => {
  assert.equal(JSON.parse(showDirectionMarks('"a\u202Eb\u2066"')), "a\\u202eb\\u2066");
  assert.equal(showDirectionMarks('"plain \xE9 \u6F22"'), '"plain \xE9 \u6F22"');
});
test("a report survives packing", async () => {
  const doc = { title: "</script> \u202E", steps: [1, 2] };
  const packed = gzipSync(JSON.stringify(doc)).toString("base64");
  assert.deepEqual(await decodeReport(packed), { title: "</script> \\u202e", steps: [1, 2] });
});
