// SPDX-License-Identifier: Apache-2.0
// What the reader has picked. One choice for the whole page: every picture and table marks it.
import { createContext } from 'preact';
import { useContext, useMemo } from 'preact/hooks';
import type { Doc, Finding, Mark } from './doc';

export interface Selection { finding: string | null; ranks: ReadonlySet<number>; victims: ReadonlySet<number> }
export const kNothing: Selection = { finding: null, ranks: new Set(), victims: new Set() };

export interface Page {
  doc: Doc;
  places: Places;
  selection: Selection;
  pickFinding(id: string): void;
  pickRank(rank: number): void;
  pickRanks(ranks: number[]): void;
  clear(): void;
}

export const PageContext = createContext<Page>(null as unknown as Page);
export function usePage(): Page { return useContext(PageContext); }

export interface Place { host: string; device: string; coordinates: number[] }
export class Places {
  readonly byRank = new Map<number, Place>();
  readonly #byHost = new Map<string, number[]>();

  constructor(readonly doc: Doc) {
    doc.places.rank.forEach((rank, i) => {
      const place = { host: doc.places.host[i], device: doc.places.device[i], coordinates: doc.places.coordinates[i] ?? [] };
      this.byRank.set(rank, place);
      const on = this.#byHost.get(place.host);
      if (on) on.push(rank);
      else this.#byHost.set(place.host, [rank]);
    });
  }

  ranksOf(host: string): number[] { return this.#byHost.get(host) ?? []; }

  // "rank 19 (n2, gpu 3)"
  describe(rank: number): string {
    const place = this.byRank.get(rank);
    const parts = place ? [place.host, place.device].filter(Boolean) : [];
    return parts.length ? `rank ${rank} (${parts.join(', ')})` : `rank ${rank}`;
  }
}

// The ranks a finding is about: those it names, the ends of its links, else all of its hosts.
export function ranksOfFinding(finding: Finding, places: Places): number[] {
  const ranks = new Set(finding.ranks);
  for (const link of finding.links) for (const end of [link.from, link.to]) if (end >= 0) ranks.add(end);
  if (ranks.size === 0) for (const host of finding.hosts) for (const rank of places.ranksOf(host)) ranks.add(rank);
  return [...ranks].sort((a, b) => a - b);
}

// The part of a rank in the finding picked; a rank picked by itself is guilty of nothing.
export type Sign = Mark | 'picked';

export function signOf(rank: number, selection: Selection, fallback: Mark = 'none'): Sign {
  if (rank < 0) return fallback;
  if (selection.ranks.has(rank)) return selection.finding ? 'culprit' : 'picked';
  if (selection.victims.has(rank)) return 'victim';
  return selection.finding ? 'none' : fallback;
}

export function useRanksOf(finding: Finding): number[] {
  const { places } = usePage();
  return useMemo(() => ranksOfFinding(finding, places), [finding, places]);
}
