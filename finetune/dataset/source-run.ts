/** Reads a logged run: its prompts and the proposals that answered them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../src/base/errors.js';
import { groupedBy } from '../../src/base/grouped.js';
import { languageModelOf } from '../../src/config/model.js';
import type { ChatMessage } from '../../src/models/language-model.js';
import type { ParameterVector } from '../../src/policies/policy.js';
import { statedReason } from '../../src/prompting/answer/reason.js';
import { remembered } from '../../src/prompting/context/history.js';
import { type Encoding, encodingFor } from '../../src/prompting/notation/encoding.js';
import { type AnswerForm, answerFormOf } from '../../src/prompting/notation/grammar.js';
import { loadPromptSet, type PromptSet } from '../../src/prompting/templates/prompt-set.js';
import { loadHelpers } from '../../src/prompting/templates/rendering.js';
import { type BufferEntry, createReplayBuffer, vectorKey } from '../../src/rollout/replay-buffer.js';
import { type CallRecord, stageOf } from '../../src/runs/calls.js';
import type { RecordedRun } from '../../src/runs/logs.js';
import { type OpenedRun, readWholeRun } from '../../src/runs/open-run.js';
import { runFiles } from '../../src/runs/reader.js';
import { type Lineage, promptHash, type Recipe, sha256 } from './example.js';
import { fileHash } from './lineage.js';

/** In characters. Longer reasons are dropped, because prompts ask for at most three sentences. */
const longestReason = 600;

/** Formats an answer that parses to these parameters. Drops the reason if it would change them. */
export function formatAnswer(
  parameters: ParameterVector,
  encoding: Encoding,
  form: AnswerForm,
  reason = '',
): string {
  const answer = encoding.answer(parameters, form, reason);
  const read = encoding.read(answer);
  const same = read.ok && vectorKey(encoding.encode(read.value)) === vectorKey(encoding.encode(parameters));
  return same ? answer : encoding.answer(parameters, form);
}

/** The reason given in a reply, on one line; '' if there is none or it is too long. */
export function reasonIn(reply: string): string {
  const reason = statedReason(reply, longestReason + 1);
  return reason.length > longestReason ? '' : reason;
}

export interface Proposed {
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
  readonly promptTokens?: number | undefined;
  /** Number of evaluations that the prompt could show, without those still in flight (`pipeline`). */
  readonly history: number;
  /** The best of these evaluations, which the prompt also presents as the best. */
  readonly incumbent: BufferEntry | undefined;
  /** Ordered by candidate; never empty. */
  readonly proposals: readonly Proposed[];
}

export interface SourceRun extends OpenedRun {
  readonly name: string;
  readonly hash: string;
  readonly answerForm: AnswerForm;
  /** The run's prompt set as it is now; undefined if it can't be loaded. */
  readonly prompts: PromptSet | undefined;
  readonly steps: readonly Step[];
}

export const placeKey = ({ iteration, candidate }: Pick<BufferEntry, 'iteration' | 'candidate'>) =>
  `${iteration}/${candidate}`;

/** @throws UserError if there is no run at `path`, it is damaged, or its replies edit programs */
export async function readSourceRun(path: string, name: string): Promise<SourceRun> {
  const opened = await readWholeRun(path);
  const { memory, policy } = opened.config;
  if (policy.kind === 'program' && policy.edits) {
    throw new UserError({
      file: join(path, runFiles.config),
      field: 'policy.edits',
      message: 'no recipe supports replies that edit a program',
      hint: 'exclude this run',
    });
  }
  // Prompts are rendered many times, so keep episodes in memory, but only if prompts show trajectories.
  const episodes = memory.trajectories === 'none' ? [] : [...opened.recorded.episodes];
  return {
    ...opened,
    recorded: { ...opened.recorded, episodes },
    name,
    hash: contentHash(path),
    answerForm: answerFormOf(languageModelOf(opened.config.model), opened.config.prompts),
    prompts: await currentPrompts(opened),
    steps: stepsOf(opened.recorded),
  };
}

/** How the run's prompts and answers encode parameters. */
export const encodingIn = ({ config, family }: Pick<SourceRun, 'config' | 'family'>): Encoding =>
  encodingFor(family, config.prompts.set);

export function lineageOf(
  run: SourceRun,
  recipe: Recipe,
  { iteration, promptHash: prompt, promptTokens, history, incumbent }: Omit<Step, 'prompt' | 'proposals'>,
): Omit<Lineage, 'iteration' | 'candidate' | 'score'> {
  return {
    run: run.name,
    environment: run.manifest.environment,
    model: run.manifest.model,
    recipe,
    prompt,
    promptIteration: iteration,
    history,
    ...(incumbent && { incumbent: incumbent.score }),
    ...(promptTokens !== undefined && { promptTokens }),
  };
}

function contentHash(path: string): string {
  const files = [runFiles.config, runFiles.evaluations, runFiles.episodes, runFiles.calls];
  const hashes = files
    .map((file) => join(path, file))
    .map((full) => (existsSync(full) ? fileHash(full) : ''));
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

function stepsOf({ entries, calls, iteration: last }: RecordedRun): readonly Step[] {
  const callsAt = byIteration(stepCalls(calls));
  const proposalsAt = byIteration(entries.filter(({ source }) => source === 'proposal'));
  const buffer = createReplayBuffer(entries.filter(({ source }) => source !== 'proposal'));
  const steps: Step[] = [];
  /** State of the memory after each iteration; index 0 is the warm-up. */
  const held: Pick<Step, 'history' | 'incumbent'>[] = [];
  for (let iteration = 1; iteration <= last; iteration++) {
    held.push({ history: buffer.entries.length, incumbent: buffer.best });
    const own = callsAt.get(String(iteration)) ?? [];
    const evaluated = (proposalsAt.get(String(iteration)) ?? []).toSorted(
      (a, b) => a.candidate - b.candidate,
    );
    const asked = own.filter(({ attempt }) => attempt === 0);
    const prompt = asked[0]?.messages;
    // Exclude revisions, which answer the critic's prompts, and programs whose constants a search chose.
    const answers = evaluated.filter(({ revises, tuned }) => revises === undefined && tuned === undefined);
    if (prompt !== undefined && answers.length > 0) {
      steps.push({
        iteration,
        prompt,
        promptHash: promptHash(prompt),
        promptTokens: asked.map(({ completion }) => completion?.usage.promptTokens).find(Boolean),
        ...held[iteration - 1 - (asked[0]?.behind ?? 0)]!,
        proposals: answers.map((entry) => ({ entry, reply: replyOf(entry, own) })),
      });
    }
    buffer.append(remembered(evaluated));
  }
  return steps;
}

/** Yields each candidate's first call, and accepted corrections. Only an iteration's first call keeps its prompt. */
function* stepCalls(calls: Iterable<CallRecord>): Generator<CallRecord, void> {
  let iteration = -1;
  for (const call of calls) {
    if (stageOf(call) !== 'proposal') continue;
    const isPrompt = call.attempt === 0 && call.iteration !== iteration;
    if (isPrompt) iteration = call.iteration;
    if (call.attempt > 0 && call.outcome.kind !== 'accepted') continue;
    yield isPrompt ? call : { ...call, messages: [] };
  }
}

const byIteration = <T extends { readonly iteration: number }>(items: Iterable<T>) =>
  groupedBy([...items], ({ iteration }) => String(iteration));

function replyOf({ candidate }: BufferEntry, calls: readonly CallRecord[]): string {
  const accepted = calls.findLast((call) => call.candidate === candidate && call.outcome.kind === 'accepted');
  return accepted?.completion?.text ?? '';
}
