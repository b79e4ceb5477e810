/** `policyloop audit`: plays the policies of runs and records again, and prints how well their results hold up. */
import { resolve } from 'node:path';
import { type CommandContext, shownPath } from '../../base/context.js';
import { replaceFile } from '../../base/files/files.js';
import { groupBy } from '../../base/grouped.js';
import { createProgress, type Progress } from '../../base/text/progress.js';
import { returnRange } from '../../environments/catalogue/known-bounds.js';
import { rethrowFaults } from '../../experiment/programs/program-file.js';
import { closeEnvironment, workersFor } from '../../experiment/setup/assemble.js';
import { vectorKey } from '../../rollout/replay-buffer.js';
import { openTask } from '../../rollout/task.js';
import { largest } from '../../statistics/descriptive.js';
import { pageHtml } from '../../web/page.js';
import { type Audit, audit, freshSeeds } from './audit.js';
import { auditPage, auditText } from './report.js';
import { type AuditResult, repeatSearches } from './searches.js';
import { type AuditSource, readSources, type SourceRequest } from './source.js';

interface AuditRequest extends SourceRequest {
  /** Number of fresh episodes per policy for choosing the best policies; ten times as many then measure those. */
  readonly episodes: number;
  /** Root seed of the fresh episodes and of the searches. */
  readonly seed: number;
  /** Number of repeats of each search; 0 for none. */
  readonly searches: number;
  readonly html?: string | undefined;
  readonly json: boolean;
  readonly quiet: boolean;
}

/** Returns the text to print, and writes the page. @throws UserError for bad input, before anything is written */
export async function runAudit(request: AuditRequest, context: CommandContext): Promise<string> {
  const { html, json, quiet } = request;
  const sources = await readSources(request, context);
  const progress = createProgress({ quiet: quiet || json }, context);
  const results: AuditResult[] = [];
  try {
    for (const taskSources of groupBy(sources, ({ task }) => task).values())
      for (const result of await auditTask(taskSources, request, context, progress)) results.push(result);
  } finally {
    progress.close();
  }
  const file = html === undefined ? undefined : resolve(context.cwd, html);
  if (file !== undefined) replaceFile(file, pageHtml(auditPage(results)));
  if (json) return results.map((result) => JSON.stringify(result)).join('\n');
  return (
    auditText(results, context.columns) +
    (file === undefined ? '' : `\n\npage        ${shownPath(file, context.cwd)}`)
  );
}

/** Audits sources that have the same environment, policies and evaluation settings. */
async function auditTask(
  sources: readonly AuditSource[],
  { episodes, searches, seed }: AuditRequest,
  { env, stop }: CommandContext,
  progress: Progress,
): Promise<readonly AuditResult[]> {
  const { config, family } = sources[0]!;
  const { evaluation } = config;
  const environment = await openTask(config.environment, evaluation.reward, env, 1);
  const workers = workersFor(config);
  const setup = { environment, family, workers, maxSteps: evaluation.maxSteps, record: 'none' } as const;
  const range = returnRange(config.environment, evaluation);
  const signal = stop.finish;
  try {
    const audits: Audit[] = [];
    for (const source of sources) {
      const total = new Set(source.evaluations.map(({ parameters }) => vectorKey(parameters))).size;
      progress.begin({ label: `${source.name}: policy`, total });
      const onPlayed = (policies: number) => progress.update(policies);
      const options = { episodes, seed, range, signal, onPlayed };
      audits.push(await rethrowFaults(source.name, () => audit(source, setup, options)));
    }
    const counts = sources.flatMap((source) => source.evaluations.map(({ returns }) => returns.length));
    const outcomes = await repeatSearches(setup, new Set(audits.map(({ evaluations }) => evaluations)), {
      searches: ['random', 'gp'],
      repeats: config.policy.kind === 'program' ? 0 : searches,
      seed,
      episodes: largest(counts) || evaluation.episodes,
      range,
      measuringSeeds: freshSeeds(seed, episodes).measuring,
      signal,
      progress,
    });
    return audits.map((result) => ({
      ...result,
      searches: outcomes.filter(({ evaluations }) => evaluations === result.evaluations),
    }));
  } finally {
    await closeEnvironment({ environment, workers });
  }
}
