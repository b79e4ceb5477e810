/** Compares two iterations of one or two runs: results, parameters or program, reply, prompt and config. */
import { join } from 'node:path';
import { UserError } from '../base/errors.js';
import { type Html, html } from '../format/html.js';
import { apart, formatCount, formatParameter, formatSigned, plural } from '../format/numbers.js';
import { htmlTable, number, text } from '../format/table.js';
import { textDifference } from '../report/views/text-difference.js';
import { type BufferEntry, bestEntry } from '../rollout/replay-buffer.js';
import type { CallRecord } from '../runs/calls.js';
import { outcomeText } from '../runs/failure-text.js';
import { readShownFrame } from '../runs/open-run.js';
import { runFiles } from '../runs/reader.js';
import { placeName } from '../runs/summary.js';
import { readOwnText } from '../storage/regular-file.js';
import { type Page, sectionsOf } from '../web/page.js';
import { pageHeader } from '../web/study.js';
import type { Place } from './items.js';
import { pageAddress, type RunFrame, readIteration } from './shown-run.js';

export interface Wanted {
  readonly place: Place;
  /** Default: the iteration of the run's best evaluation. */
  readonly iteration?: number | undefined;
  /** 1-based. Default: the iteration's best candidate. */
  readonly candidate?: number | undefined;
}

interface Side extends RunFrame {
  readonly name: string;
  readonly configYaml: string;
  readonly iteration: number;
  readonly candidate: number;
  readonly entry: BufferEntry | undefined;
  /** Latest first. */
  readonly calls: readonly CallRecord[];
}

/** @throws UserError if a wanted candidate has neither calls nor an evaluation */
export async function differencesPage(a: Wanted, b: Wanted): Promise<Page> {
  const [left, right] = [await sideOf(a), await sideOf(b)];
  const arePrograms = [left, right].some(({ family }) => family.description.kind === 'program');
  return {
    title: `${titleOf(left)} and ${titleOf(right)}`,
    header: pageHeader({
      kicker: 'comparison',
      title: html`${linkTo(left)} <span class="by">and</span> ${linkTo(right)}`,
      state: html`Text <del>only on the left</del> or <ins>only on the right</ins> is marked.`,
    }),
    sections: sectionsOf(
      ['figures', 'Results', figures(left, right)],
      arePrograms
        ? ['program', 'Program', textDifference(left.entry?.program, right.entry?.program)]
        : ['parameters', 'Parameters', parameters(left, right)],
      ['reply', 'Reply', textDifference(replyOf(left), replyOf(right))],
      ['prompt', 'Prompt', textDifference(promptOf(left), promptOf(right))],
      ['config', 'Config', left.name !== right.name && textDifference(left.configYaml, right.configYaml)],
    ),
    footer: undefined,
  };
}

const titleOf = ({ name, ...side }: Side) => `${name} (${placeName(side, side.config)})`;

const linkTo = (side: Side): Html =>
  html`<a href="${pageAddress(side.name, `?iteration=${side.iteration}`)}">${titleOf(side)}</a>`;

async function sideOf({ candidate, iteration, place }: Wanted): Promise<Side> {
  const { path } = place;
  const { name } = place.item;
  const frame = await readShownFrame(path);
  const { best } = frame.manifest;
  const wanted = iteration ?? best?.iteration ?? 0;
  const { calls, entries } = readIteration(path, wanted);
  const own = entries.filter((entry) => entry.iteration === wanted);
  const isWanted = (one: { readonly candidate: number }) =>
    one.candidate === (candidate === undefined ? bestEntry(own)?.candidate : candidate - 1);
  const entry = own.find(isWanted);
  const of = entry?.candidate ?? (candidate ?? 1) - 1;
  const asked = calls.filter((call) => call.candidate === of);
  if (entry === undefined && asked.length === 0)
    throw new UserError({
      ...{ field: 'iteration', value: wanted },
      message: `${name} has no calls or evaluations of this iteration and candidate`,
    });
  const configYaml = readOwnText(join(path, runFiles.config));
  return { ...frame, name, configYaml, iteration: wanted, candidate: of, entry, calls: asked.toReversed() };
}

function figures(left: Side, right: Side): Html {
  const score = apart([left.entry?.score, right.entry?.score]);
  const best = apart([left.manifest.best?.return, right.manifest.best?.return]);
  const rows: readonly (readonly [string, (side: Side) => string | undefined])[] = [
    ['mean return', ({ entry }) => entry && score(entry.score)],
    ['episodes', ({ entry }) => entry && formatCount(entry.returns.length)],
    ['calls', ({ calls }) => formatCount(calls.length)],
    ['outcome', ({ calls: [call] }) => call && (outcomeText(call.outcome) || 'accepted')],
    ['environment', ({ manifest }) => manifest.environment],
    ['model', ({ manifest }) => manifest.model],
    ['seed', ({ manifest }) => String(manifest.seed)],
    ['best observed', ({ manifest }) => manifest.best && best(manifest.best.return)],
  ];
  return htmlTable(rows, [
    text('', ([title]) => title),
    text(titleOf(left), ([, of]) => of(left)),
    text(titleOf(right), ([, of]) => of(right)),
  ]);
}

/** Maximum number of parameters in the table. */
const mostParameters = 1000;

function parameters(left: Side, right: Side): Html {
  const [a, b] = [left.entry?.parameters ?? [], right.entry?.parameters ?? []];
  const names = left.family.parameters.names;
  const all = Array.from({ length: Math.max(a.length, b.length) }, (_, i) => i);
  const changed = all.filter((i) => a[i] !== b[i]);
  if (all.length === 0) return html`<p class="empty">Neither policy has parameters.</p>`;
  const shown = (value: number | undefined) => (value === undefined ? undefined : formatParameter(value));
  const table = htmlTable(
    changed.slice(0, mostParameters),
    [
      text('parameter', (i) => `${i}${names?.[i] === undefined ? '' : ` ${names[i]}`}`),
      number('left', (i) => shown(a[i])),
      number('right', (i) => shown(b[i])),
      number('difference', (i) =>
        a[i] === undefined || b[i] === undefined ? undefined : formatSigned(b[i] - a[i]),
      ),
    ],
    { tall: true },
  );
  return html`<p>${formatCount(changed.length)} of ${plural(all.length, 'parameter')} ${changed.length === 1 ? 'differs' : 'differ'}.</p>
${changed.length > 0 && table}`;
}

const promptOf = ({ calls: [call] }: Side): string | undefined =>
  call?.messages.map(({ content, role }) => `--- ${role} ---\n${content}`).join('\n');

const replyOf = ({ calls: [call] }: Side): string | undefined => call?.completion?.text;
