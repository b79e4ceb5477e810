import { join } from 'node:path';
import { UserError } from '../../base/errors.js';
import { replaceFile } from '../../base/files/files.js';
import { readOwnText } from '../../base/files/regular-file.js';
import { html } from '../../base/text/html.js';
import { distinctFormat, formatNumber, formatReturn, plural } from '../../base/text/numbers.js';
import { drawCompactSvg, drawEpisode, isSelfContained, openDrawable } from '../../experiment/animations.js';
import type { PolicyFamily } from '../../policies/policy.js';
import { ProgramFault } from '../../policies/program/program.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import { notablePolicies, type OpenedRun, readShownRun } from '../../runs/open-run.js';
import { runFiles } from '../../runs/reader.js';
import { candidateName, summaryOf } from '../../runs/summary.js';
import type { RunData } from './data/proposals.js';
import { animationView, renderReport, type ShownAnimation } from './run-report.js';

/**
 * Writes `report.html` for the run at `path`; returns its path.
 * @param playedFamily the run's policies, if this process ran it. Without them, no episodes are drawn if that needs
 * a module or a program, because a report never imports code that a run refers to.
 */
export async function writeReport(path: string, playedFamily?: PolicyFamily): Promise<string> {
  const report = join(path, runFiles.report);
  const run = await readShownRun(path);
  replaceFile(report, renderReport(runData(run), animationView(await animationsOf(run, playedFamily))));
  return report;
}

export function runData(run: OpenedRun): RunData {
  const { path, manifest, config, family, recorded } = run;
  return {
    ...summaryOf(path, manifest),
    config,
    configYaml: readOwnText(join(path, runFiles.config)),
    parameters: family.parameters,
    policy: family.description,
    entries: recorded.entries,
    calls: recorded.calls,
    events: recorded.events,
    faults: recorded.faults,
  };
}

const animationWidth = 360; // in pixels; three fit side by side

/** Returns the best, worst and first policies with their names, such as `Best and first` for a policy that is both. */
export function namedPolicies(
  entries: readonly BufferEntry[],
  manifest: OpenedRun['manifest'],
): ReadonlyMap<BufferEntry, string> {
  const nameByEntry = new Map<BufferEntry, string>();
  const notable = notablePolicies(entries, manifest);
  if (notable === undefined) return nameByEntry;
  for (const name of ['best', 'worst', 'first'] as const) {
    const earlier = nameByEntry.get(notable[name]);
    const title = `${name[0]!.toUpperCase()}${name.slice(1)}`;
    nameByEntry.set(notable[name], earlier === undefined ? title : `${earlier} and ${name}`);
  }
  return nameByEntry;
}

async function animationsOf(run: OpenedRun, playedFamily?: PolicyFamily): Promise<readonly ShownAnimation[]> {
  const { manifest, config, recorded } = run;
  const names = namedPolicies(recorded.entries, manifest);
  if (names.size === 0 || !(playedFamily !== undefined || isSelfContained(config))) return [];
  const environment = await openDrawable(config).catch(ignoreUndrawable);
  if (environment === undefined) return [];
  await playedFamily?.prepare?.();
  const setup = { config, seed: manifest.seed, environment, family: playedFamily ?? run.family };
  const choice = { kind: 'evaluated', episode: 0 } as const;
  try {
    return [...names].flatMap(([entry, name]): ShownAnimation | readonly [] => {
      try {
        const draw = (maxFrames: number) => drawEpisode(setup, entry, choice, maxFrames);
        const { replay, recorded = replay.return, svg } = drawCompactSvg(draw, animationWidth);
        const candidateText = candidateName(entry, config);
        const asText = distinctFormat([replay.return, recorded], formatNumber);
        const outcomeText = `return ${asText(replay.return)} in ${plural(replay.length, 'step')}`;
        return {
          picture: { svg },
          alt: `Animation of the ${name.toLowerCase()} policy, ${candidateText}: ${outcomeText}`,
          caption: html`<b>${name}</b>, ${candidateText}: ${outcomeText}; mean return of the evaluation: ${formatReturn(entry.score)}.${recorded !== replay.return && html` <span class="warn-text">The evaluation recorded ${asText(recorded)} for this episode; the environment or policyloop may have changed since.</span>`}`,
        };
      } catch (error) {
        return ignoreUndrawable(error) ?? [];
      }
    });
  } finally {
    environment.close?.();
  }
}

/** Ignores errors of environments that can't be drawn, and of programs that fail; throws all others. */
function ignoreUndrawable(error: unknown): undefined {
  if (!(error instanceof UserError || error instanceof ProgramFault)) throw error;
}
