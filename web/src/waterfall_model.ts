// SPDX-License-Identifier: Apache-2.0
// Where the bars of a waterfall lie; src/report/text_pictures.cc follows the same rule.
import type { WaterfallItem } from './doc';

export interface Placed { item: WaterfallItem; from: number; to: number }

// Where each item's bar starts and ends.
export function placeItems(items: WaterfallItem[]): Placed[] {
  let sum = 0;
  let partFrom = 0;
  return items.map((item) => {
    if (item.role === 'total') {
      sum = item.value;
      return { item, from: 0, to: item.value };
    }
    if (item.role === 'within') {
      const from = partFrom;
      partFrom += item.value;
      return { item, from, to: from + item.value };
    }
    const from = sum;
    sum += item.value;
    partFrom = Math.min(from, sum);
    return { item, from: Math.min(from, sum), to: Math.max(from, sum) };
  });
}
