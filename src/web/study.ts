/** Parts of pages, such as headers, facts, tiles, warnings and explanations. */
import type { Content } from '../base/text/content.js';
import { html } from '../base/text/html.js';
import { formatInterval, formatReturn, formatTime } from '../base/text/numbers.js';
import type { Item } from '../runs/listing/item.js';
import { runFiles } from '../runs/reader.js';

/** The parts of a study's page that depend on where it is shown. */
export interface PageContext {
  /** Address of a run's page; `run` is its path below the study's directory. */
  readonly linkOf: (run: string) => string;
  /** The current status, if it can differ from the recorded one. */
  readonly status?: Item['status'];
}

/** Context of a page in the study's directory. Links are relative, and encoded so none can become `javascript:`. */
export const fileContext: PageContext = {
  linkOf: (run) => `./${run.split('/').map(encodeURIComponent).join('/')}/${runFiles.report}`,
};

/** Builds the header of a page. Facts without a value are omitted. */
export function pageHeader({
  facts = [],
  kicker,
  state,
  status,
  title,
  verdict,
}: {
  readonly kicker: Content;
  readonly title: Content;
  readonly status?: string;
  readonly state?: Content;
  readonly verdict?: Content;
  readonly facts?: readonly (readonly [title: string, value: Content])[];
}): Content {
  const statusText = status === 'incomplete' ? 'interrupted' : status;
  return html`<header>
<p class="kicker">policyloop ${kicker}</p>
<h1>${title}</h1>
${(statusText !== undefined || state !== undefined) && html`<p class="state">${statusText !== undefined && html`<span class="status ${statusText}">${statusText}</span> `}${state}</p>`}
${facts.length > 0 && factList(facts)}${verdict}
</header>`;
}

/** Lists names with their values. Names without a value are omitted. */
export const factList = (facts: readonly (readonly [name: string, value: Content])[]): Content =>
  html`<dl class="facts">${facts.map(([name, value]) => isShown(value) && html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

const isShown = (value: Content) => value !== undefined && value !== null && value !== false;

/** Shows a value with its name above and a note below. */
export const tile = (name: string, value: Content, note: Content, className = ''): Content =>
  html`<div class="tile ${className}"><dt>${name}</dt><dd class="value">${value}</dd><dd class="note">${note}</dd></div>`;

/** Shows the main result of a page. @param over the sample, such as `over 5 games`, or why there is no interval */
export const resultTile = (
  name: string,
  value: number | null | undefined,
  interval: readonly [number, number] | null | undefined,
  over: string,
): Content =>
  tile(
    name,
    typeof value === 'number' ? formatReturn(value) : '–',
    interval ? html`<b>${formatInterval(interval)}</b> is the 95 % interval ${over}` : over,
    typeof value === 'number' ? 'confirmed' : '',
  );

/** Lists warnings; undefined if there are none. */
export const warningList = (warnings: readonly Content[]): Content | undefined =>
  warnings.length === 0
    ? undefined
    : html`<ul class="warnings">${warnings.map((line) => html`<li>${line}</li>`)}</ul>`;

/** Lists failed runs; undefined if none failed. */
export const failureList = (failures: readonly { readonly run: string; readonly message: string }[]) =>
  warningList(failures.map(({ message, run }) => `${run}: ${message}`));

/** Title of the section that explains a page. */
export const howToReadTitle = 'How to read this';

/** @param sentences each without its full stop */
export const explanationList = (sentences: readonly Content[]): Content =>
  html`<ul>${sentences.map((line) => html`<li>${line}.</li>`)}</ul>`;

/** @param time when the data was recorded, ISO 8601 */
export const writtenByNote = (version: string, time?: string): Content =>
  html`<p>${time !== undefined && `State as of ${formatTime(time)}. `}Written by policyloop ${version}.</p>`;

/** Shows a verdict in a box at the start of a page. @param mark sets its colour: `higher`, `lower` or `too-few` */
export const verdictBox = (text: Content, mark = ''): Content => html`<p class="verdict ${mark}">${text}</p>`;
