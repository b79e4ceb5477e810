/** Pages of runs. They never run code or programs that a run refers to, because it may come from someone else. */

import { UserError } from '../base/errors.js';
import { drawBounded, drawEpisode, isDrawnFromConfig, openDrawable } from '../experiment/animations.js';
import { type Html, html, preformatted } from '../format/html.js';
import { apart, formatNumber, plural } from '../format/numbers.js';
import { parentOf } from '../report/data/lineage.js';
import { loggedProposals, proposalId } from '../report/data/proposals.js';
import type { ShownCalls } from '../report/data/shown-calls.js';
import { gridMap, taskLabels } from '../report/data/task-labels.js';
import { runPage } from '../report/run-report.js';
import { iterationLog } from '../report/views/call-log.js';
import { runHeader, tile } from '../report/views/overview.js';
import { policyView } from '../report/views/policy-view.js';
import { failedPrograms, programChange, sourceView } from '../report/views/program-view.js';
import { namedPolicies, runData } from '../report/write-report.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import type { CallRecord } from '../runs/calls.js';
import { callsOf, linesOf } from '../runs/log-lines.js';
import { type OpenedRun, readShownFrame, readShownRun } from '../runs/open-run.js';
import { logsIn } from '../runs/reader.js';
import { placeName, summaryOf } from '../runs/summary.js';
import { largest } from '../statistics/descriptive.js';
import type { Page, Section } from '../web/page.js';

export type RunFrame = Omit<OpenedRun, 'recorded'>;

export const pageAddress = (name: string, query = ''): string =>
  `/of/${name.split('/').map(encodeURIComponent).join('/')}${query}`;

const episodeAddress = (name: string, { iteration, candidate }: BufferEntry): string =>
  `/api/episode?${new URLSearchParams({ of: name, iteration: `${iteration}`, candidate: `${candidate + 1}` })}`;

/** The report of a run in its current state. */
export async function shownRunPage(name: string, path: string): Promise<Page> {
  const run = await readShownRun(path);
  const page = runPage({ ...runData(run), animations: { episodes: [], files: [] } });
  const episodes = episodesOf(name, run);
  const at = page.sections.findIndex(({ id }) => id === 'curve') + 1;
  return { ...page, sections: page.sections.toSpliced(at, 0, ...episodes) };
}

function episodesOf(name: string, { config, manifest, recorded }: OpenedRun): readonly Section[] {
  const names = namedPolicies(recorded.entries, manifest);
  if (names.size === 0 || !isDrawnFromConfig(config)) return [];
  const asText = apart([...names.keys()].map(({ score }) => score));
  const figures = [...names].map(([entry, title]): Html => {
    return html`<figure>
<img class="episode" loading="lazy" src="${episodeAddress(name, entry)}" alt="Animation of ${title.toLowerCase()} policy, ${placeName(entry, config)}">
<figcaption><b>${title}</b>, <a href="${pageAddress(name, `?iteration=${entry.iteration}`)}">${placeName(entry, config)}</a>: mean return ${asText(entry.score)}.</figcaption>
</figure>`;
  });
  return [
    {
      id: 'episodes',
      title: 'Episodes',
      content: html`<div class="animations">${figures}</div>
<p class="note">Each animation shows the first episode of its evaluation.</p>`,
    },
  ];
}

export interface ShownIteration {
  /** Evaluations up to the iteration, oldest first. */
  readonly entries: readonly BufferEntry[];
  readonly calls: readonly CallRecord[];
}

export function readIteration(path: string, iteration: number): ShownIteration {
  const files = logsIn(path);
  const entries: BufferEntry[] = [];
  for (const entry of linesOf<BufferEntry>(files, 'evaluations', ignore)) {
    if (entry.iteration > iteration) break;
    if (Number.isFinite(entry.score)) entries.push(entry);
  }
  const calls: CallRecord[] = [];
  if (iteration === 0) return { entries, calls };
  for (const call of callsOf(files, Number.POSITIVE_INFINITY, ignore)) {
    if (call.iteration > iteration) break;
    if (call.iteration === iteration) calls.push(call);
  }
  return { entries, calls };
}

const ignore = () => undefined;

/**
 * The page of an iteration: episodes, prompts, replies and policies.
 * @throws UserError if the run doesn't have this iteration
 */
export async function iterationPage(name: string, path: string, iteration: number): Promise<Page> {
  const frame = await readShownFrame(path);
  const { config, family, manifest } = frame;
  const { calls, entries } = readIteration(path, iteration);
  const own = entries.filter((entry) => entry.iteration === iteration);
  if (own.length + calls.length === 0)
    throw new UserError({
      field: 'iteration',
      value: iteration,
      message: `${name} has no iteration ${iteration}`,
    });
  const proposals = loggedProposals({ calls, entries }).filter((one) => one.iteration === iteration);
  const labels = taskLabels(manifest.environment, family.description, manifest.spec);
  const grid =
    family.description.kind === 'q-table'
      ? gridMap(config.environment, family.description.states)
      : undefined;
  const before = largest(entries.flatMap((entry) => (entry.iteration < iteration ? [entry.score] : [])));
  const facts = summaryOf(path, manifest);
  const arePrograms = family.description.kind === 'program';
  const byIndex = new Map(calls.entries());
  const log = iterationLog(manifest.run, { proposals, calls: byIndex }, arePrograms);
  const shown = own.slice(0, mostShown);
  const asText = apart(shown.map(({ score }) => score));
  const policies = shown.map((entry) => {
    const parent = arePrograms && entry.source === 'proposal' && parentOf(entry, { config, entries });
    return html`<h3>${placeName(entry, config)}: ${asText(entry.score)}</h3>
${entry.program === undefined ? policyView(entry.parameters, family.description, family.parameters, labels, grid) : sourceView(entry.program)}
${
  arePrograms
    ? parent && programChange(entry, parent, config, true)
    : html`<details><summary>Parameter vector</summary>${preformatted(`[${entry.parameters.join(', ')}]`)}</details>`
}`;
  });
  const failed =
    arePrograms && failedPrograms({ config, entries }, proposals, { calls: byIndex, link: proposalLink });
  const sections: (Section | undefined)[] = [
    { id: 'result', title: 'Result', content: headline(own, before, calls.length) },
    isDrawnFromConfig(config) && shown.length > 0
      ? { id: 'episodes', title: 'Episodes', content: episodes(name, shown, config) }
      : undefined,
    log && { id: 'log', title: 'Prompts and replies', content: log },
    shown.length > 0
      ? { id: 'policy', title: arePrograms ? 'Programs' : 'Policies', content: policies }
      : undefined,
    failed ? { id: 'failures', title: 'Failures', content: failed } : undefined,
  ];
  const title = iteration === 0 ? 'Warm-up' : `Iteration ${iteration}`;
  return {
    title: `${title} of ${manifest.run}`,
    header: runHeader({ ...facts, ...frame, parameters: family.parameters, policy: family.description }),
    sections: sections.filter((section) => section !== undefined),
    footer: undefined,
  };
}

const proposalLink: ShownCalls['link'] = (place) => `#${proposalId(place)}`;

/** Maximum number of candidates whose policies and episodes are shown. */
const mostShown = 32;

function headline(own: readonly BufferEntry[], before: number, calls: number): Html {
  const best = own.reduce((highest, { score }) => Math.max(highest, score), Number.NEGATIVE_INFINITY);
  const episodes = own.reduce((sum, { returns }) => sum + returns.length, 0);
  const asText = apart([best, before]);
  return html`<dl class="headline">
${tile('Best mean return', Number.isFinite(best) ? asText(best) : '–', plural(own.length, 'evaluation'))}
${Number.isFinite(before) && tile('Previous best', asText(before), best > before ? 'improved' : 'not improved')}
${tile('Episodes', formatNumber(episodes), 'played')}
${tile('Calls', formatNumber(calls), 'model calls')}
</dl>`;
}

function episodes(name: string, shown: readonly BufferEntry[], config: RunFrame['config']): Html {
  const asText = apart(shown.flatMap(({ returns, score }) => [score, ...returns]));
  return html`<div class="animations">${shown.map(
    (entry) => html`<figure>
<img class="episode" loading="lazy" src="${episodeAddress(name, entry)}" alt="Animation of an episode of ${placeName(entry, config)}">
<figcaption><b>${placeName(entry, config)}</b>: mean return ${asText(entry.score)} <span class="muted">(${entry.returns
      .slice(0, 50)
      .map(asText)
      .join(', ')})</span></figcaption>
</figure>`,
  )}</div>
<p class="note">Each animation shows the first episode of its evaluation.</p>`;
}

const width = 480; // pixels

/**
 * The animation of an episode, as an SVG document.
 * @param candidate 1-based
 * @param episode 1-based, within its evaluation
 * @throws UserError if the policy is unknown, or if drawing would run the run's own code
 */
export async function episodeSvg(
  path: string,
  {
    candidate,
    episode,
    iteration,
  }: { readonly iteration: number; readonly candidate: number; readonly episode: number },
): Promise<string> {
  const frame = await readShownFrame(path);
  const { config, manifest } = frame;
  if (!isDrawnFromConfig(config))
    throw new UserError({
      message:
        'drawing this run would execute its module or its programs, which the view never does; use policyloop render',
    });
  const { entries } = readIteration(path, iteration);
  const entry = entries.find((one) => one.iteration === iteration && one.candidate === candidate - 1);
  if (entry === undefined)
    throw new UserError({ field: 'iteration', value: iteration, message: 'policy not found' });
  if (episode > entry.returns.length)
    throw new UserError({
      field: 'episode',
      value: episode,
      message: `the policy was evaluated on only ${plural(entry.returns.length, 'episode')}`,
    });
  const environment = await openDrawable(config);
  try {
    const setting = { config, seed: manifest.seed, environment, family: frame.family };
    const choice = { kind: 'evaluated', episode: episode - 1 } as const;
    return drawBounded((maxFrames) => drawEpisode(setting, entry, choice, { maxFrames }), width).svg;
  } finally {
    environment.close?.();
  }
}
