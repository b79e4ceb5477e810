/** Executes the remaining runs of a comparison of models and shows the result. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandContext, exitCodeOf, shownPath } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import { openPage } from '../../base/open-page.js';
import { fitted } from '../../format/width.js';
import { planFile, readManifest, runFiles, statusOf } from '../../runs/reader.js';
import { replaceFile } from '../../storage/files.js';
import { page } from '../../web/page.js';
import { inFile } from '../../web/study.js';
import { checkConfig, type PlayArguments, resultFiles } from '../plan.js';
import { failureLines, type Played, type PlayedStatus, playPlan } from '../play.js';
import { settingsPlace } from '../sweep/sweep-plan.js';
import { modelsOnTerminal, modelsPage } from './models-page.js';
import { type ModelRun, type ModelsPlan, type ModelsRequest, planModels, planOf } from './models-plan.js';
import { type ModelsResult, modelsResult, proposalReader } from './models-result.js';

interface ModelsArguments extends ModelsRequest, PlayArguments {
  /** Directory of the comparison (default: one below `runsDir`, derived from the contestants). */
  readonly out?: string | undefined;
  /** If true, shows the recorded results and calls no model. */
  readonly replay: boolean;
  /** Whether to open the page in the browser at the end. */
  readonly open?: boolean | undefined;
}

/** The last line that `--json` prints. */
export interface ModelsSummary extends Omit<ModelsResult, 'status'> {
  /** Status of this command. */
  readonly status: PlayedStatus;
  /** Status of the whole comparison. */
  readonly result: ModelsResult['status'];
  /** Directory of the comparison. */
  readonly out: string;
}

/**
 * Requests the missing proposals of every contestant and prints the result. Returns the exit code.
 * @throws UserError if a contestant or a history can't be used; no model has been called by then
 */
export async function compareModels(args: ModelsArguments, context: CommandContext): Promise<number> {
  const models = planModels(args, context.cwd);
  for (const note of models.notes) context.note(note);
  const { cwd } = context;
  const settings = models.contestants;
  const place = settingsPlace(
    'models',
    { name: models.name, settings },
    { cwd, out: args.out, runsDir: args.runsDir },
  );
  const { directory } = place;
  const read = proposalReader(directory);
  const write = (failures: Played<ModelRun>['failures']): ModelsResult => {
    const told = failures.map(({ entry, message }) => ({ run: entry.path, message }));
    const result = modelsResult(models, { failures: told, now: context.now(), read });
    replaceFile(join(directory, resultFiles.models), `${JSON.stringify(result, null, 2)}\n`);
    replaceFile(join(directory, runFiles.report), page(modelsPage(result, inFile)));
    return result;
  };
  if (args.replay) {
    requireRecorded(directory);
    report(write([]), { status: 'completed', failures: [] }, directory, args, context);
  } else {
    await checkContestants(models, context);
    const plan = planOf(models);
    for (const { path } of plan.entries) removeUnanswered(join(directory, path));
    const played = await playPlan(plan, place, args, context, write);
    report(played.result!, played, directory, args, context);
    if (played.status !== 'completed') return exitCodeOf(played.status);
  }
  if (args.open === true) await openPage(join(directory, runFiles.report), context);
  return 0;
}

function requireRecorded(directory: string): void {
  if (existsSync(join(directory, planFile))) return;
  throw new UserError({
    field: '--replay',
    value: directory,
    message: 'this directory contains no recorded results',
    remedy: 'run the command without --replay to call the models, or choose another directory with --out',
  });
}

/** Assembles each contestant and recorded history before calling any model, so that errors surface early. */
async function checkContestants(
  { contestants, histories }: ModelsPlan,
  { env }: CommandContext,
): Promise<void> {
  for (const { config, label } of contestants) await checkConfig(config, env, label);
  const { config } = contestants.at(-1)!;
  for (const { name, warmup } of histories)
    if (warmup) await checkConfig({ ...config, warmup }, env, `history ${name}`);
}

/**
 * Removes the run of a model that never answered, e.g. because its server was down, so that the model is called again.
 */
function removeUnanswered(path: string): void {
  if (!existsSync(join(path, runFiles.manifest))) return;
  const manifest = readManifest(path);
  const { calls, errors } = manifest.usage;
  if (statusOf(path, manifest) === 'failed' && calls === errors) rmSync(path, { recursive: true });
}

function report(
  result: ModelsResult,
  { failures, limit, status: played }: Pick<Played, 'failures' | 'limit' | 'status'>,
  directory: string,
  { json }: ModelsArguments,
  context: CommandContext,
): void {
  const out = shownPath(directory, context.cwd);
  if (json) {
    const { status, ...rest } = result;
    const summary: ModelsSummary = { ...rest, status: played, result: status, out };
    context.print(JSON.stringify(summary));
    return;
  }
  const lines = [
    modelsOnTerminal(result, context.columns),
    '',
    ...failureLines({ failures }),
    ...(limit === undefined ? [] : [`stopped at limits.${limit}`]),
    `runs        ${out}`,
    `page        ${shownPath(join(directory, runFiles.report), context.cwd)}`,
    ...(result.status === 'completed' ? [] : ['resume      with the same command']),
  ];
  context.print(fitted(lines.join('\n'), context.columns));
}
