/** What a live run can be asked for: to pause, go on, stop, or change what may change. */
import { useState } from 'preact/hooks';
import { tell } from './live.js';
import { fieldOf, html } from './words.js';

/** @typedef {import('./words.js').Item} Item */

/** @param {{ item: Item }} props */
export function Steering({ item }) {
  const [said, setSaid] = useState('');
  const [isAsking, setAsking] = useState(false);
  const [isSure, setSure] = useState(false);
  const { name, status } = item;
  if (status !== 'running' && status !== 'paused') return said && html`<span role="status">${said}</span>`;
  /** @param {object} request */
  const steer = async (request) => {
    setAsking(true);
    setSure(false);
    try {
      /** @type {{ text: string }} */
      const { text } = await tell('/api/steer', { of: name, ...request });
      setSaid(text);
    } catch (error) {
      setSaid(String(/** @type {Error} */ (error).message));
    }
    setAsking(false);
  };
  /** @param {SubmitEvent & { currentTarget: HTMLFormElement }} event */
  const change = (event) => {
    event.preventDefault();
    const overrides = fieldOf(event.currentTarget, 'overrides').trim().split(/\s+/).filter(Boolean);
    if (overrides.length > 0) void steer({ action: 'set', overrides });
  };
  return html`<div class="live-line" role="group" aria-label=${`Steer this ${item.kind}`}>
${
  status === 'running'
    ? html`<button type="button" disabled=${isAsking} onClick=${() => steer({ action: 'pause' })}>Pause</button>`
    : html`<button type="button" disabled=${isAsking} onClick=${() => steer({ action: 'resume' })}>Go on</button>`
}
<button type="button" disabled=${isAsking} onClick=${() => (isSure ? steer({ action: 'stop' }) : setSure(true))}>${isSure ? 'Stop it: sure?' : 'Stop'}</button>
${item.kind === 'run' && html`<form onSubmit=${change}><label>Change <input type="text" name="overrides" placeholder="limits.calls=500 iterations=200" size="28" autocomplete="off" /></label> <button type="submit" disabled=${isAsking}>Set</button></form>`}
<span role="status">${isAsking ? 'asking …' : said}</span>
</div>`;
}
