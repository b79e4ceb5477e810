/** The button that stops a run. */
import { useState } from 'preact/hooks';
import type { Item } from '../../../runs/listing/item.js';
import { html } from '../base/html.js';
import { usePost } from '../base/live.js';

export function Stopping({ item }: { readonly item: Item }) {
  const { isSending, said, send } = usePost();
  const [isSure, setSure] = useState(false);
  const { kind, name } = item;
  const stop = () => {
    setSure(false);
    void send('/api/stop', { of: name });
  };
  const button = (label: string, act: () => void) =>
    html`<button type="button" disabled=${isSending} onClick=${act}>${label}</button>`;
  return html`<div class="live-line" role="region" aria-label=${`Controls of this ${kind}`}>
${isSure ? button('Confirm stop', stop) : button('Stop', () => setSure(true))}
<span role="status">${said}</span>
</div>`;
}
