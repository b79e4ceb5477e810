/** The sample answers of a training run, one evaluation at a time. */
import { type ComponentChildren, toChildArray } from 'preact';
import { useState } from 'preact/hooks';
import { html } from '../base/html.js';

interface Props {
  /** Names of the evaluations; their samples are the children. */
  readonly labels: readonly string[];
  readonly children?: ComponentChildren;
}

/** Shows the last evaluation until another one is chosen. */
export function Samples({ children, labels }: Props) {
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const shown = chosen === undefined ? labels.length - 1 : labels.indexOf(chosen);
  return html`<fieldset class="filter"><legend>Evaluation</legend>${labels.map((label, i) => html`<label><input type="radio" name="samples" checked=${i === shown} onChange=${() => setChosen(label)} /> ${label}</label>`)}</fieldset>
${toChildArray(children)[shown]}`;
}
