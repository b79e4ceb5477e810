/** Parts of the pages of studies: header, verdict, failures, explanations. */
import { type Content, type Html, html } from '../format/html.js';
import { runFiles } from '../runs/reader.js';
import type { Item } from './messages.js';
import type { Section } from './page.js';

/** Where a study's page is shown. */
export interface Shown {
  /** Address of a run's page; `run` is its path below the study's directory. */
  readonly linkOf: (run: string) => string;
  /** The current status, if it is known better than what was recorded. */
  readonly status?: Item['status'];
}

/** Turns a path below the page into a relative link; encoding keeps it from being anything else, such as a script. */
export const relativeLink = (path: string): string =>
  `./${path.split('/').map(encodeURIComponent).join('/')}`;

/** In a file in the study's directory. */
export const inFile: Shown = { linkOf: (run) => relativeLink(`${run}/${runFiles.report}`) };

export function studyHeader({
  facts = [],
  kicker,
  state,
  status,
  title,
}: {
  readonly kicker: Content;
  readonly title: Content;
  readonly status?: string;
  readonly state: Content;
  readonly facts?: readonly (readonly [title: string, value: Content])[];
}): Html {
  const known = status === 'incomplete' ? 'interrupted' : status;
  return html`<header>
<p class="kicker">policyloop ${kicker}</p>
<h1>${title}</h1>
<p class="state">${known !== undefined && html`<span class="status ${known}">${known}</span> `}${state}</p>
${facts.length > 0 && html`<dl class="facts">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`}
</header>`;
}

/** Nothing if there are no failures. */
export const failuresSection = (
  failures: readonly { readonly run: string; readonly message: string }[],
): readonly Section[] =>
  failures.length === 0
    ? []
    : [
        {
          id: 'failures',
          title: 'Failures',
          content: html`<ul class="warnings">${failures.map(({ message, run }) => html`<li>${run}: ${message}</li>`)}</ul>`,
        },
      ];

/** @param lines sentences without a full stop */
export const readingSection = (lines: readonly Content[]): Section => ({
  id: 'reading',
  title: 'How to read this',
  content: html`<ul>${lines.map((line) => html`<li>${line}.</li>`)}</ul>`,
});

export const writtenBy = (policyloop: string): Html => html`<p>Written by policyloop ${policyloop}.</p>`;

/** A verdict in a box at the start of a page. @param mark `higher`, `lower` or `too-few`: its colour */
export const verdictBox = (text: Content, mark = ''): Html => html`<p class="verdict ${mark}">${text}</p>`;
