// SPDX-License-Identifier: Apache-2.0
// Parts that add up, each where the one before it ends. A real table: readable without the picture.
import type { Waterfall } from './doc';
import { duration, scaleFor, scaled, share } from './format';
import { kHatched } from './palette';
import { Term } from './parts';
import { placeItems } from './waterfall_model';

export function WaterfallView({ items }: Waterfall) {
  const placed = placeItems(items);
  const top = Math.max(...placed.map((p) => p.to), 1);
  const base = items.find((item) => item.role === 'total')?.value ?? top;
  const scale = scaleFor([top], 'duration');
  return (
    <table class="waterfall">
      <thead><tr><th>Part</th><th class="picture"><span class="sr">Picture</span></th><th class="num">{scale.suffix}</th><th class="num">share</th></tr></thead>
      <tbody>
        {placed.map(({ item, from, to }, i) => (
          <tr key={i} class={`${item.role}${item.value < 0 ? ' gain' : ''}`} title={item.note || undefined}>
            <th scope="row"><Term term={item.term}>{item.role === 'within' ? `of it ${item.name}` : item.name}</Term></th>
            <td class="picture" aria-hidden="true">
              <span class={`block class-${item.role === 'total' ? 'total' : item.time_class}${kHatched.has(item.time_class) && item.role !== 'total' ? ' hatched' : ''}`}
                style={{ left: `${(from / top) * 100}%`, width: `${Math.max(0.25, ((to - from) / top) * 100)}%` }} />
            </td>
            <td class="num" title={duration(item.value)}>{scaled(item.value, 'duration', scale)}</td>
            <td class="num">{share(item.value / base)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
