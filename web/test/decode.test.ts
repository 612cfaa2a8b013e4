// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { bytesOfBase64, decodeReport, showDirectionMarks } from '../src/decode';

test('base64 with blanks around it', () => {
  assert.deepEqual([...bytesOfBase64(' //79\n')], [255, 254, 253]);
});

test('marks that turn the reading direction are shown, the JSON stays JSON', () => {
  assert.equal(JSON.parse(showDirectionMarks('"a\u202eb\u2066"')), 'a\\u202eb\\u2066');
  assert.equal(showDirectionMarks('"plain é 漢"'), '"plain é 漢"');
});

test('a report survives packing', async () => {
  const doc = { title: '</script> \u202e', steps: [1, 2] };
  const packed = gzipSync(JSON.stringify(doc)).toString('base64');
  assert.deepEqual(await decodeReport(packed), { title: '</script> \\u202e', steps: [1, 2] });
});
