import { useEffect, useState } from 'preact/hooks';
import { html, type InputElementEvent } from '../base/html.js';

interface Props {
  readonly id: string;
  /** Keys, separated by commas. */
  readonly by: string;
  readonly placeholder: string;
  /** Id of the text that explains the field. */
  readonly help?: string;
  /** Keys to suggest. */
  readonly known?: readonly string[];
  readonly onFocus?: () => void;
  readonly apply: (text: string) => void;
}

/** A text field for the keys to group by, at least as wide as its text. */
export function KeysField({ apply, by, help, id, known = [], onFocus, placeholder }: Props) {
  const [text, setText] = useState(by);
  useEffect(() => setText(by), [by]);
  // A suggestion replaces the whole text, so it must repeat the keys before the last one.
  const earlierKeys = text.includes(',') ? `${text.slice(0, text.lastIndexOf(',') + 1)} ` : '';
  return html`<label>Group by <input id=${id} type="text" list=${`${id}-keys`} size=${Math.max(24, text.length + 4)} value=${text} placeholder=${placeholder} aria-describedby=${help} autocomplete="off" spellcheck=${false}
  onFocus=${onFocus} onInput=${({ currentTarget }: InputElementEvent) => setText(currentTarget.value)} onChange=${({ currentTarget }: InputElementEvent) => apply(currentTarget.value.trim())} /></label>
<datalist id=${`${id}-keys`}>${known.map((key) => html`<option value=${`${earlierKeys}${key}`}></option>`)}</datalist>`;
}
