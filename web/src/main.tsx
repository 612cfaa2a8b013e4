// SPDX-License-Identifier: Apache-2.0
import { render } from 'preact';
import { App } from './app';
import { watchTheme } from './canvas';
import { decodeReport } from './decode';
import './style.css';

async function start(): Promise<void> {
  const root = document.getElementById('app')!;
  try {
    const holder = document.getElementById('headway-report')!;
    const doc = await decodeReport(holder.textContent ?? '');
    holder.remove();
    watchTheme();
    root.replaceChildren();
    render(<App doc={doc} />, root);
    performance.mark('headway-ready');
  } catch (error) {
    const line = document.createElement('p');
    line.className = 'broken';
    line.textContent = `The report could not be shown: ${error instanceof Error ? error.message : String(error)}`;
    root.append(line);
    throw error;
  }
}

void start();
