/** Plays the games of a config in a run directory, and resumes interrupted agent runs. */

import { basename, join } from 'node:path';
import { type CommandContext, exitCodeOf } from '../base/context.js';
import { messageOf, UserError } from '../base/errors.js';
import { replaceFile } from '../base/files/files.js';
import { isLocked } from '../base/files/lock.js';
import { openPage } from '../base/open-page.js';
import { plural } from '../base/text/numbers.js';
import { fitText } from '../base/text/width.js';
import { withListPrice } from '../models/hosted/prices.js';
import { estimatePromptTokens } from '../prompting/token-estimate.js';
import { limitField, limitText } from '../runs/calls.js';
import { createRunDirectory, newRunPath } from '../runs/create.js';
import { rejectDifferences, requireSameSetup } from '../runs/fingerprint.js';
import { findRun } from '../runs/listing/names.js';
import { alreadyRunningError } from '../runs/listing/stop.js';
import { requireConfig } from '../runs/open-run.js';
import { readManifest, runFiles } from '../runs/reader.js';
import { type RunDirectory, resumeRunDirectory } from '../runs/writer.js';
import type { ScheduleArguments } from '../studies/plan.js';
import { finishKilledRun } from '../studies/resume.js';
import { withLocations } from '../studies/run.js';
import { createDisplay } from '../studies/run-progress.js';
import { loadPlayConfig, playYaml } from './play-config.js';
import { playInDirectory } from './play-games.js';
import { writePlayPage } from './play-page.js';
import { playResult, playText } from './play-result.js';
import { type PlaySetup, playManifest, setUpPlay } from './play-setup.js';

interface PlayArguments extends Pick<ScheduleArguments, 'json' | 'quiet' | 'open'> {
  readonly overrides: readonly string[];
  readonly runsDir: string;
}

/** Plays the games that a config describes. @returns the exit code */
export async function runPlay(
  args: PlayArguments & {
    readonly config: string;
    readonly runDir?: string | undefined;
  },
  context: CommandContext,
): Promise<number> {
  const loaded = loadPlayConfig(args.config, args.overrides, context.cwd);
  for (const note of loaded.notes) context.note(note);
  return withLocations(loaded, async () => {
    const { model } = loaded.config;
    const config = { ...loaded.config, ...(model && { model: withListPrice(model, context.env) }) };
    const setup = await setUpPlay(config, context.env);
    await openModel(setup, context);
    const path = newRunPath(args, args.config, context, config.name);
    const directory = createRunDirectory(path, {
      configYaml: playYaml(config),
      manifest: playManifest(setup, basename(path), context.now()),
      now: context.now,
    });
    return playAndReport(setup, directory, args, context);
  });
}

/** Resumes an agent run. @returns the exit code */
export async function resumePlay(
  args: PlayArguments & { readonly run: string },
  context: CommandContext,
): Promise<number> {
  const path = findRun(args.run, { cwd: context.cwd, runsDir: args.runsDir });
  if (isLocked(join(path, runFiles.lock))) throw alreadyRunningError(path);
  const file = requireConfig(join(path, runFiles.config));
  const originalConfig = loadPlayConfig(file, [], context.cwd, true).config;
  const loaded = loadPlayConfig(file, args.overrides, context.cwd, true);
  rejectDifferences(originalConfig, loaded.config, 'play');
  const manifest = readManifest(path);
  const { iterations, reason } = manifest;
  const isLimited = reason?.kind === 'limit';
  const hasSameLimits = JSON.stringify(originalConfig.limits) === JSON.stringify(loaded.config.limits);
  const isComplete = isLimited ? hasSameLimits : loaded.config.episodes <= iterations.done;
  if (manifest.status === 'completed' && isComplete) {
    if (await finishKilledRun(path, context.now, () => undefined)) return report(path, args, context);
    throw new UserError({
      message: isLimited
        ? `this agent run stopped ${limitText(reason.limit)} after ${iterations.done} of ${plural(iterations.of, 'game')}`
        : `this agent run is complete (${plural(iterations.of, 'game')})`,
      value: path,
      hint: isLimited
        ? `raise the limit: policyloop resume ${path} ${limitField(reason.limit)}=…`
        : `to play more games, run policyloop resume ${path} episodes=${2 * iterations.done}`,
    });
  }
  return withLocations(loaded, async () => {
    const setup = await setUpPlay(loaded.config, context.env);
    requireSameSetup(setup, manifest, file);
    await openModel(setup, context);
    const directory = resumeRunDirectory(path, context.now);
    replaceFile(file, playYaml(loaded.config));
    return playAndReport(setup, directory, args, context);
  });
}

/** Maximum prompt length to announce to a server, in tokens, unless `policy.historyTokens` is set. */
const maxExpectedTokens = 16_384;

async function openModel(setup: PlaySetup, { note }: CommandContext): Promise<void> {
  const { agent, arena, config, model, startSeeds } = setup;
  if (model === undefined) return;
  if (model.expect !== undefined) {
    const [observation] = await arena.batch.reset(startSeeds.slice(0, 1));
    const info = arena.batch.info?.(0);
    const message = agent.formatObservation(observation!, { choices: agent.choices(info), info, steps: 0 });
    const turnCount = 1 + Math.min(config.policy.history, config.maxSteps);
    const countTokens = (text: string) => estimatePromptTokens([{ content: text }]);
    const fullPromptTokens = countTokens(agent.systemPrompt()) + 2 * turnCount * countTokens(message);
    model.expect(config.policy.historyTokens ?? Math.min(fullPromptTokens, maxExpectedTokens));
  }
  const description = await model.open?.();
  if (description !== undefined) note(description);
}

async function playAndReport(
  setup: PlaySetup,
  directory: RunDirectory,
  args: PlayArguments,
  context: CommandContext,
): Promise<number> {
  const { path } = directory;
  const { json, quiet } = args;
  try {
    await playInDirectory(setup, directory, createDisplay({ json, quiet }, context, true), context);
  } catch (error) {
    const failedResult = { ...playResult(path, context.cwd), status: 'failed', error: messageOf(error) };
    if (json) context.print(JSON.stringify(failedResult));
    throw error;
  }
  return report(path, args, context);
}

/** Writes the page of an agent run, prints the result, and opens the page if requested. @returns the exit code */
async function report(
  path: string,
  { json, open = false }: PlayArguments,
  context: CommandContext,
): Promise<number> {
  const page = writePlayPage(path);
  const result = playResult(path, context.cwd);
  context.print(json ? JSON.stringify(result) : fitText(playText(result, context.cwd), context.columns));
  if (open) await openPage(page, context);
  return exitCodeOf(result.status);
}
