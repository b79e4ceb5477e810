/** `policyloop audit`: plays the policies of runs and records again, and prints what is left of their results. */
import { resolve } from 'node:path';
import { type CommandContext, shownPath } from '../../base/context.js';
import { replaceFile } from '../../base/files/files.js';
import { groupedBy } from '../../base/grouped.js';
import { createProgress } from '../../base/text/progress.js';
import { page } from '../../web/page.js';
import { type Audit, audit } from './audit.js';
import { auditPage } from './page.js';
import { type AuditResult, type Searched, searches, searchOnce } from './searches.js';
import { type FoundSource, findSources, type SourceRequest } from './source.js';
import { auditText } from './text.js';

interface AuditRequest extends SourceRequest {
  /** Number of fresh episodes to choose by, and of others to measure with. */
  readonly episodes: number;
  /** Root seed of the fresh episodes and of the searches. */
  readonly seed: number;
  /** Number of repeats of each search; 0 for none. */
  readonly searches: number;
  readonly html?: string | undefined;
  readonly json: boolean;
  readonly quiet: boolean;
}

/** Returns the text to print. @throws UserError for bad input; nothing is written then */
export async function runAudit(request: AuditRequest, context: CommandContext): Promise<string> {
  const { html, json, quiet } = request;
  const found = await findSources(request, context);
  const progress = createProgress({ quiet: quiet || json }, context);
  const results: AuditResult[] = [];
  try {
    for (const own of groupedBy(found, ({ task }) => task).values()) {
      const audits: Audit[] = [];
      for (const source of own) audits.push(await audited(source, request, context, progress));
      const made = await searched(own, request, context, progress);
      for (const one of audits)
        results.push({ ...one, searches: made.filter(({ evaluations }) => evaluations === one.evaluations) });
    }
  } finally {
    progress.close();
  }
  if (html !== undefined) replaceFile(resolve(context.cwd, html), page(auditPage(results)));
  if (json) return results.map((result) => JSON.stringify(result)).join('\n');
  const written =
    html === undefined ? '' : `\n\npage        ${shownPath(resolve(context.cwd, html), context.cwd)}`;
  return auditText(results, context.columns) + written;
}

type Shows = ReturnType<typeof createProgress>;

async function audited(
  source: FoundSource,
  { episodes, seed }: AuditRequest,
  { env, stop }: CommandContext,
  progress: Shows,
): Promise<Audit> {
  const opened = await source.open({ env });
  progress.begin({ label: `${source.name}: policy`, total: source.policies });
  try {
    const onPlayed = (policies: number) => progress.update(policies);
    return await audit(opened, { episodes, seed, signal: stop.abort, onPlayed });
  } finally {
    await opened.close();
  }
}

/** Repeats each search, once for all sources of a task, and reads off what it had found after each number of evaluations. */
async function searched(
  sources: readonly FoundSource[],
  { episodes, searches: repeats, seed }: AuditRequest,
  { env, stop }: CommandContext,
  progress: Shows,
): Promise<readonly Searched[]> {
  const [first] = sources;
  if (first === undefined || repeats === 0 || first.config.policy.kind === 'program') return [];
  const budgets = [...new Set(sources.map(({ evaluations }) => evaluations))].toSorted((a, b) => a - b);
  const each = budgets.at(-1)!;
  const opened = await first.open({ env });
  const rows: Searched[] = [];
  try {
    for (const search of searches) {
      progress.begin({ label: `${search}: evaluation`, total: repeats * each });
      let done = 0;
      const returns: (readonly number[])[] = [];
      for (let repeat = 0; repeat < repeats; repeat++)
        returns.push(
          await searchOnce(opened.setting, search, budgets, {
            seed: seed + repeat,
            audit: { seed, episodes },
            episodes: first.episodes,
            signal: stop.abort,
            onEvaluated: () => progress.update(++done),
          }),
        );
      for (const [i, evaluations] of budgets.entries())
        rows.push({ search, evaluations, returns: returns.map((own) => own[i]!) });
    }
    return rows;
  } finally {
    await opened.close();
  }
}
