/** Controls that pause, stop and change a run. */
import { useState } from 'preact/hooks';
import type { Item } from '../../messages.js';
import { html, submitted } from '../base/html.js';
import { usePost } from '../base/live.js';

export function Steering({ item }: { readonly item: Item }) {
  const { isSending, said, send } = usePost();
  const [isSure, setSure] = useState(false);
  const { kind, name, status } = item;
  if (status !== 'running' && status !== 'paused') return said && html`<span role="status">${said}</span>`;
  const steer = (request: object) => {
    setSure(false);
    void send('/api/steer', { of: name, ...request });
  };
  const button = (label: string, act: () => void) =>
    html`<button type="button" disabled=${isSending} onClick=${act}>${label}</button>`;
  const change = submitted((field) => {
    const overrides = field('overrides').split(/\s+/).filter(Boolean);
    if (overrides.length > 0) steer({ action: 'set', overrides });
  });
  return html`<div class="live-line" role="region" aria-label=${`Controls of this ${kind}`}>
${status === 'running' ? button('Pause', () => steer({ action: 'pause' })) : button('Resume', () => steer({ action: 'resume' }))}
${isSure ? button('Confirm stop', () => steer({ action: 'stop' })) : button('Stop', () => setSure(true))}
${kind === 'run' && html`<form onSubmit=${change}><label>Settings <input type="text" name="overrides" placeholder="limits.calls=500 iterations=200" size="28" autocomplete="off" /></label> <button type="submit" disabled=${isSending}>Set</button></form>`}
<span role="status">${said}</span>
</div>`;
}
