/** Pages of runs. They never execute a run's modules or programs, because the run may come from someone else. */

import { UserError } from '../base/errors.js';
import type { Content } from '../base/text/content.js';
import { html } from '../base/text/html.js';
import { distinctFormat, formatNumber, plural } from '../base/text/numbers.js';
import { drawCompactSvg, drawEpisode, isSelfContained, openDrawable } from '../experiment/animations.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import type { CallRecord } from '../runs/calls.js';
import { logItems, readCalls } from '../runs/log-lines.js';
import { type OpenedRun, readShownRun, readShownSetup } from '../runs/open-run.js';
import { logFilesIn } from '../runs/reader.js';
import { candidateName, summaryOf } from '../runs/summary.js';
import { largest } from '../statistics/descriptive.js';
import { itemAddress, queryOf } from '../web/address.js';
import { type Page, sectionsOf } from '../web/page.js';
import { parentOf } from '../web/report/data/lineage.js';
import { type CandidateId, loggedProposals } from '../web/report/data/proposals.js';
import { taskLabels } from '../web/report/data/task-labels.js';
import { animationView, runPage } from '../web/report/run-report.js';
import { proposalList } from '../web/report/views/call-log.js';
import { runHeader } from '../web/report/views/overview.js';
import { policyViews } from '../web/report/views/policy-view.js';
import { programChange } from '../web/report/views/program-view.js';
import { namedPolicies, runData } from '../web/report/write-report.js';
import { tile } from '../web/study.js';

type RunSetup = Omit<OpenedRun, 'recorded'>;

const episodeAddress = (name: string, { iteration, candidate }: BufferEntry): string =>
  `/api/episode${queryOf({ of: name, iteration, candidate: candidate + 1 })}`;

/** Builds the report of a run in its current state. */
export async function liveRunPage(name: string, path: string): Promise<Page> {
  const run = await readShownRun(path);
  const { config, manifest, recorded } = run;
  const requests = [...namedPolicies(recorded.entries, manifest)].map(([entry, title]) => {
    const link = html`<a href="${itemAddress(name, { iteration: entry.iteration })}">${candidateName(entry, config)}</a>`;
    return { entry, alt: `the ${title.toLowerCase()} policy, `, title: html`<b>${title}</b>, ${link}` };
  });
  return runPage(runData(run), animations(name, requests, config), ({ iteration }) =>
    itemAddress(name, { iteration }),
  );
}

interface AnimationRequest {
  readonly entry: BufferEntry;
  /** Part of the alternative text, before the policy's iteration and candidate. */
  readonly alt: string;
  readonly title: Content;
}

/** Shows animations, which the browser requests when they come into view; undefined if none can be drawn. */
function animations(name: string, shown: readonly AnimationRequest[], config: RunSetup['config']): Content {
  if (!isSelfContained(config)) return undefined;
  const scoreText = distinctFormat(shown.map(({ entry }) => entry.score));
  const allReturns = shown.flatMap(({ entry }) => entry.returns);
  const returnText = distinctFormat(allReturns, formatNumber);
  return animationView(
    shown.map(({ alt, entry, title }) => ({
      picture: { address: episodeAddress(name, entry) },
      alt: `Animation of ${alt}${candidateName(entry, config)}`,
      caption: html`${title}: mean return ${scoreText(entry.score)} <span class="muted">(${entry.returns.slice(0, maxReturns).map(returnText).join(', ')})</span>`,
    })),
  );
}

/** Reads the evaluations up to and including an iteration, oldest first, and the calls of only this iteration. */
function readIteration(path: string, iteration: number) {
  const files = logFilesIn(path);
  const entries: BufferEntry[] = [];
  for (const entry of logItems<BufferEntry>(files, 'evaluations', ignore)) {
    if (entry.iteration > iteration) break;
    if (Number.isFinite(entry.score)) entries.push(entry);
  }
  const calls: CallRecord[] = [];
  if (iteration === 0) return { entries, calls };
  for (const call of readCalls(files, Number.POSITIVE_INFINITY, ignore)) {
    if (call.iteration > iteration) break;
    if (call.iteration === iteration) calls.push(call);
  }
  return { entries, calls };
}

const ignore = () => undefined;

/**
 * Builds the page of an iteration: episodes, prompts, replies and policies.
 * @throws UserError if the run doesn't have this iteration
 */
export async function iterationPage(name: string, path: string, iteration: number): Promise<Page> {
  const { config, family, manifest } = await readShownSetup(path);
  const { calls, entries } = readIteration(path, iteration);
  const ownEntries = entries.filter((entry) => entry.iteration === iteration);
  if (ownEntries.length + calls.length === 0)
    throw new UserError({
      field: 'iteration',
      value: iteration,
      message: `${name} has no iteration ${iteration}`,
    });
  const proposals = loggedProposals({ calls, entries }).filter((one) => one.iteration === iteration);
  const labels = taskLabels(manifest.environment, family.description, manifest.spec);
  const data = { config, entries, parameters: family.parameters, policy: family.description };
  const earlierBest = largest(entries.flatMap((entry) => (entry.iteration < iteration ? [entry.score] : [])));
  const arePrograms = family.description.kind === 'program';
  const callByIndex = new Map(calls.entries());
  const shownEntries = ownEntries.slice(0, maxShown);
  const asText = distinctFormat(shownEntries.map(({ score }) => score));
  const policies = shownEntries.map((entry) => {
    const parent = arePrograms && entry.source === 'proposal' && parentOf(entry, data);
    const { vector, view } = policyViews(entry, data, labels);
    return html`<h3>${candidateName(entry, config)}: ${asText(entry.score)}</h3>
${view}
${parent && programChange(entry, parent, config, true)}${vector}`;
  });
  const animationRequests = shownEntries.map((entry) => ({
    entry,
    alt: 'an episode of ',
    title: html`<b>${candidateName(entry, config)}</b>`,
  }));
  const title = iteration === 0 ? 'Warm-up' : `Iteration ${iteration}`;
  return {
    title: `${title} of ${manifest.run}`,
    header: runHeader({ ...summaryOf(path, manifest), ...data }),
    sections: sectionsOf(
      ['result', 'Result', headline(ownEntries, earlierBest, calls.length)],
      ['episodes', 'Episodes', animations(name, animationRequests, config)],
      [
        'log',
        'Prompts and replies',
        proposals.length > 0 && proposalList(manifest.run, { proposals, calls: callByIndex }),
      ],
      ['policy', arePrograms ? 'Programs' : 'Policies', shownEntries.length > 0 && policies],
    ),
    footer: undefined,
  };
}

/** Maximum number of candidates whose policies and episodes are shown. */
const maxShown = 32;

/** Maximum number of returns listed for an evaluation. */
const maxReturns = 50;

function headline(entries: readonly BufferEntry[], earlierBest: number, callCount: number): Content {
  const best = entries.reduce((highest, { score }) => Math.max(highest, score), Number.NEGATIVE_INFINITY);
  const episodes = entries.reduce((sum, { returns }) => sum + returns.length, 0);
  const asText = distinctFormat([best, earlierBest]);
  return html`<dl class="headline">
${tile('Best mean return', Number.isFinite(best) ? asText(best) : '–', plural(entries.length, 'evaluation'))}
${Number.isFinite(earlierBest) && tile('Previous best', asText(earlierBest), best > earlierBest ? 'improved' : 'not improved')}
${tile('Episodes', formatNumber(episodes), 'played')}
${tile('Calls', formatNumber(callCount), 'to models')}
</dl>`;
}

const width = 480; // pixels

/**
 * Draws the animation of an episode as an SVG document.
 * @param candidate 1-based
 * @param episode 1-based, within its evaluation
 * @throws UserError if the policy or episode doesn't exist or can't be drawn, or drawing would execute the run's code
 */
export async function episodeSvg(
  path: string,
  { candidate, episode, iteration }: CandidateId & { readonly episode: number },
): Promise<string> {
  const { config, family, manifest } = await readShownSetup(path);
  if (!isSelfContained(config))
    throw new UserError({
      message:
        'drawing this run would execute code that it names, such as a module or a program, which the view never does; use policyloop evaluate --picture',
    });
  const { entries } = readIteration(path, iteration);
  const entry = entries.find((one) => one.iteration === iteration && one.candidate === candidate - 1);
  if (entry === undefined)
    throw new UserError({
      field: 'iteration',
      value: iteration,
      message: `candidate ${candidate} of this iteration was not evaluated`,
    });
  if (episode > entry.returns.length)
    throw new UserError({
      field: 'episode',
      value: episode,
      message: `the policy was evaluated on only ${plural(entry.returns.length, 'episode')}`,
    });
  const environment = await openDrawable(config);
  try {
    const setup = { config, seed: manifest.seed, environment, family };
    const choice = { kind: 'evaluated', episode: episode - 1 } as const;
    return drawCompactSvg((maxFrames) => drawEpisode(setup, entry, choice, maxFrames), width).svg;
  } finally {
    environment.close?.();
  }
}
