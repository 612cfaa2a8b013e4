// SPDX-License-Identifier: Apache-2.0
// The report rides in the page as base64 of gzip of JSON.
import type { Doc } from './doc';

export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// Marks that would turn the reading direction of what follows them: shown as what they are, on the raw JSON.
export function showDirectionMarks(json: string): string {
  return json.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (mark) => `\\\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export async function decodeReport(base64: string): Promise<Doc> {
  if (typeof DecompressionStream === 'undefined') {
    throw new Error('This browser is too old to unpack the report (it lacks DecompressionStream). Any browser since 2023 works.');
  }
  const packed = new Blob([bytesOfBase64(base64)]).stream();
  const text = await new Response(packed.pipeThrough(new DecompressionStream('gzip'))).text();
  return JSON.parse(showDirectionMarks(text)) as Doc;
}
