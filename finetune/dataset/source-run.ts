/** Reads a logged run: its prompts and the proposals that answered them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../src/base/errors.js';
import { groupBy } from '../../src/base/grouped.js';
import { languageModelOf } from '../../src/config/model.js';
import type { ChatMessage } from '../../src/models/language-model.js';
import type { ParameterVector } from '../../src/policies/policy.js';
import { statedReason } from '../../src/prompting/answer/reason.js';
import { type Encoding, encodingFor } from '../../src/prompting/notation/encoding.js';
import { type AnswerForm, answerFormOf } from '../../src/prompting/notation/grammar.js';
import { loadPromptSet, type PromptSet } from '../../src/prompting/templates/prompt-set.js';
import { loadHelpers } from '../../src/prompting/templates/rendering.js';
import { type BufferEntry, vectorKey } from '../../src/rollout/replay-buffer.js';
import { stageOf } from '../../src/runs/calls.js';
import type { RecordedRun } from '../../src/runs/logs.js';
import { type OpenedRun, readPlayableRun } from '../../src/runs/open-run.js';
import { runFiles } from '../../src/runs/reader.js';
import { type Lineage, promptHash, type Recipe, sha256 } from './example.js';
import { fileHash } from './lineage.js';

/** Maximum length of a reason in characters. Longer ones are dropped: prompts ask for at most three sentences. */
const maxReasonLength = 600;

/** Formats an answer that parses to these parameters. Drops the reason if it would change them. */
export function formatAnswer(
  parameters: ParameterVector,
  encoding: Encoding,
  form: AnswerForm,
  reason = '',
): string {
  const answer = encoding.answer(parameters, form, reason);
  const read = encoding.read(answer);
  const isSame = read.ok && vectorKey(encoding.encode(read.value)) === vectorKey(encoding.encode(parameters));
  return isSame ? answer : encoding.answer(parameters, form);
}

/** The reason given in a reply, on one line; '' if there is none or it is too long. */
export function reasonIn(reply: string): string {
  const reason = statedReason(reply, maxReasonLength + 1);
  return reason.length > maxReasonLength ? '' : reason;
}

export interface Proposal {
  readonly entry: BufferEntry;
  /** The model's reply; '' if unknown. */
  readonly reply: string;
}

/** An iteration with at least one evaluated proposal. */
export interface Step {
  readonly iteration: number;
  /** The first prompt, before any format correction. */
  readonly prompt: readonly ChatMessage[];
  readonly promptHash: string;
  /** Number of prompt tokens, if the model counted them. */
  readonly promptTokens: number | undefined;
  /** Number of evaluations that the prompt lists. */
  readonly history: number;
  /** The best score that the prompt names; undefined if it names none, or if an earlier version logged the run. */
  readonly best: number | undefined;
  /** Ordered by candidate; never empty. */
  readonly proposals: readonly Proposal[];
}

export interface SourceRun extends OpenedRun {
  readonly name: string;
  readonly hash: string;
  readonly answerForm: AnswerForm;
  /** The run's current prompt set; undefined if it can't be loaded. */
  readonly prompts: PromptSet | undefined;
  readonly steps: readonly Step[];
  /** The `memory.tokens` that shortened the prompts; undefined if they are as logged. */
  readonly historyTokens?: number | undefined;
}

export const candidateKey = ({ iteration, candidate }: Pick<BufferEntry, 'iteration' | 'candidate'>) =>
  `${iteration}/${candidate}`;

/** @throws UserError if there is no run at `path`, it is damaged, or its replies edit programs */
export async function readSourceRun(path: string, name: string): Promise<SourceRun> {
  const openedRun = await readPlayableRun(path);
  const { policy } = openedRun.config;
  if (policy.kind === 'program' && policy.edits) {
    throw new UserError({
      file: join(path, runFiles.config),
      field: 'policy.edits',
      message: 'no recipe supports replies that edit a program',
      hint: 'exclude this run',
    });
  }
  return {
    ...openedRun,
    name,
    hash: runHash(path),
    answerForm: answerFormOf(languageModelOf(openedRun.config.model), openedRun.config.prompts),
    prompts: await currentPrompts(openedRun),
    steps: stepsOf(openedRun.recorded),
  };
}

/** Returns the encoding of parameters in the run's prompts and replies. */
export const encodingIn = ({ config, family }: Pick<SourceRun, 'config' | 'family'>): Encoding =>
  encodingFor(family, config.prompts.set);

/** Formats a proposal as the model would write it. */
export const answerOf = (run: SourceRun, { entry, reply }: Proposal): string =>
  formatAnswer(entry.parameters, encodingIn(run), run.answerForm, reasonIn(reply));

export function lineageOf(
  run: SourceRun,
  recipe: Recipe,
  { iteration, promptHash: prompt, promptTokens, history, best }: Omit<Step, 'prompt' | 'proposals'>,
): Omit<Lineage, 'iteration' | 'candidate' | 'score'> {
  return {
    run: run.name,
    environment: run.manifest.environment,
    model: run.manifest.model,
    recipe,
    prompt,
    promptIteration: iteration,
    history,
    ...(best !== undefined && { incumbent: best }),
    ...(promptTokens !== undefined && { promptTokens }),
  };
}

function runHash(path: string): string {
  const files = [runFiles.config, runFiles.evaluations, runFiles.episodes, runFiles.calls];
  const hashes = files
    .map((file) => join(path, file))
    .map((fullPath) => (existsSync(fullPath) ? fileHash(fullPath) : ''));
  return sha256(hashes.join('\n'));
}

async function currentPrompts({ config, environment }: OpenedRun): Promise<PromptSet | undefined> {
  const { helpers } = config.prompts;
  try {
    return loadPromptSet({
      set: config.prompts.set,
      description: config.prompts.description,
      environment,
      options: config.environment.options,
      maxSteps: config.evaluation.maxSteps,
      ownPolicy: config.policy.kind === 'module',
      userHelpers: helpers === undefined ? undefined : await loadHelpers(helpers),
    });
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

function stepsOf({ entries, calls, iteration: lastIteration }: RecordedRun): readonly Step[] {
  const stepByIteration = new Map<number, Omit<Step, 'proposals'>>();
  const replies = new Map<string, string>();
  for (const call of calls) {
    if (stageOf(call) !== 'proposal') continue;
    const { attempt, completion, iteration, messages, outcome, shown } = call;
    if (outcome.kind === 'accepted') replies.set(candidateKey(call), completion?.text ?? '');
    if (attempt > 0 || messages.length === 0) continue;
    const existing = stepByIteration.get(iteration);
    stepByIteration.set(iteration, {
      iteration,
      prompt: messages,
      promptHash: existing?.promptHash ?? promptHash(messages),
      history: shown?.evaluations.length ?? 0,
      best: shown?.best,
      ...existing,
      promptTokens: existing?.promptTokens ?? completion?.usage.promptTokens,
    });
  }
  // Exclude revisions, which answer the critic's prompts, and programs whose constants a search chose.
  const answerEntries = entries.filter(
    ({ iteration, revises, source, tuned }) =>
      source === 'proposal' && iteration <= lastIteration && revises === undefined && tuned === undefined,
  );
  return [...groupBy(answerEntries, ({ iteration }) => iteration)].flatMap(([iteration, ownEntries]) => {
    const step = stepByIteration.get(iteration);
    if (step === undefined) return [];
    const proposals = ownEntries
      .toSorted((a, b) => a.candidate - b.candidate)
      .map((entry) => ({ entry, reply: replies.get(candidateKey(entry)) ?? '' }));
    return [{ ...step, proposals }];
  });
}
