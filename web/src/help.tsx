// SPDX-License-Identifier: Apache-2.0
// The keys, in a dialog the browser itself keeps focus in.
import { useLayoutEffect, useRef } from 'preact/hooks';

const kKeys: [string, string][] = [
  ['j  k', 'next and previous finding'],
  ['Esc', 'clear what is marked'],
  ['/', 'search the table in view'],
  ['g then f t r h l d', 'go to findings, time, ranks, heat strip, timeline, data quality'],
  ['Tab', 'through everything that can be used'],
  ['On the bars', '← → walk, Enter marks the rank'],
  ['On the heat strip', 'arrows move, + − zoom, 0 shows all, Enter marks the rank'],
  ['On the timeline', '← → pan, ↑ ↓ zoom (or a d w s), 0 shows all, Home, End'],
  ['?', 'this list'],
];

export function Help({ open, onClose }: { open: boolean; onClose: () => void }) {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {  // before the next frame is shown, not after it
    const dialog = ref.current!;
    if (open && !dialog.open) dialog.showModal();
    if (!open && dialog.open) dialog.close();
  }, [open]);
  return (
    <dialog ref={ref} class="help" onClose={onClose} aria-labelledby="help-title" onClick={(e) => { if (e.target === ref.current) onClose(); }}>
      <h2 id="help-title">Keys</h2>
      <dl>{kKeys.map(([keys, what]) => <div key={keys}><dt><kbd>{keys}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <button type="button" onClick={onClose}>Close</button>
    </dialog>
  );
}
