// SPDX-License-Identifier: Apache-2.0
// The report rides in the page as base64 of gzip of JSON.
import type { Doc } from './doc';

export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export async function decodeReport(base64: string): Promise<Doc> {
  if (typeof DecompressionStream === 'undefined') {
    throw new Error('This browser is too old to unpack the report (it lacks DecompressionStream). Any browser since 2023 works.');
  }
  const packed = new Blob([bytesOfBase64(base64)]).stream();
  const text = await new Response(packed.pipeThrough(new DecompressionStream('gzip'))).text();
  return JSON.parse(text) as Doc;
}
