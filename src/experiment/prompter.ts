/** Builds each iteration's prompt: renders the memory with the templates. */
import type { Config } from '../config/config.js';
import { languageModelOf } from '../config/model.js';
import type { ResolvedConfig } from '../config/resolve.js';
import type { EnvironmentSpec } from '../environments/environment.js';
import type { ChatMessage } from '../models/language-model.js';
import type { PolicyFamily } from '../policies/policy.js';
import type { ParseFailure } from '../prompting/answer/failure.js';
import {
  createHistory,
  type History,
  rememberedEntries,
  selectHistory,
  withoutVariants,
} from '../prompting/context/history.js';
import type { PromptContext, TaskContext } from '../prompting/context/prompt-context.js';
import { taskContext } from '../prompting/context/task-context.js';
import { encodingFor } from '../prompting/notation/encoding.js';
import { type AnswerForm, answerFormOf } from '../prompting/notation/grammar.js';
import type { PromptSet } from '../prompting/templates/prompt-set.js';
import type { EpisodeRecord } from '../rollout/episode.js';
import { type BufferEntry, bestEntry, type ReplayBuffer } from '../rollout/replay-buffer.js';
import type { ShownEvaluations } from '../runs/calls.js';
import type { RecordedRun } from '../runs/logs.js';

/** The user's opening message in the `conversation` layout. */
const openingMessages = { parameters: 'Propose parameters.', program: 'Write the function.' } as const;

export class Prompter {
  readonly #config: ResolvedConfig;
  readonly #prompts: PromptSet;
  readonly #buffer: ReplayBuffer;
  readonly #task: TaskContext;
  readonly #form: AnswerForm;
  readonly #history: History;
  /** The first episode of each evaluation, kept if prompts show trajectories. */
  readonly #trajectories = new Map<string, EpisodeRecord>();
  readonly #arePrograms: boolean;
  #context: PromptContext | undefined;

  /** @param parts.recorded data of the run, used to restore trajectories */
  constructor(parts: {
    readonly config: ResolvedConfig;
    /** In a replay, the model of the recorded run (default: the config's model). */
    readonly countedModel?: Config['model'];
    readonly environment: EnvironmentSpec;
    readonly family: PolicyFamily;
    readonly prompts: PromptSet;
    readonly buffer: ReplayBuffer;
    readonly recorded: Pick<RecordedRun, 'episodes'>;
  }) {
    const { config, family, prompts, buffer, recorded } = parts;
    this.#config = config;
    this.#prompts = prompts;
    this.#buffer = buffer;
    const encoding = encodingFor(family, config.prompts.set);
    this.#arePrograms = family.description.kind === 'program';
    const taskParts = { ...parts, family: { ...family, parameters: encoding.spec } };
    this.#form = answerFormOf(languageModelOf(parts.countedModel ?? config.model), config.prompts);
    this.#task = taskContext(taskParts, this.#form);
    this.keepTrajectories(recorded.episodes);
    this.#history = createHistory({
      encoding,
      memory: config.memory,
      trajectory: (entry) => this.#trajectories.get(candidateKey(entry)),
    });
  }

  /** The prompt of an iteration, shared by all candidates. */
  messages(iteration: number): readonly ChatMessage[] {
    this.#context = this.#contextOf(iteration);
    if (this.#config.prompts.layout === 'conversation') return this.#turns();
    const user: ChatMessage = { role: 'user', content: this.#prompts.user(this.#context) };
    return [{ role: 'system', content: this.#prompts.system(this.#context) }, user];
  }

  /** Renders a prompt as a conversation in which the model proposed every evaluation shown. */
  #turns(): readonly ChatMessage[] {
    const context = this.#context!;
    const shown = this.#selected();
    const turns = this.#history.turns(shown, this.#form);
    const last = { ...context.history, text: turns.at(-1)?.result ?? '', shown: Math.min(1, shown.length) };
    const requestTexts = [
      openingMessages[this.#arePrograms ? 'program' : 'parameters'],
      ...turns.slice(0, -1).map(({ result }) => result),
    ];
    return [
      { role: 'system', content: this.#prompts.system(context) },
      ...turns.flatMap(({ answer }, i): readonly ChatMessage[] => [
        { role: 'user', content: requestTexts[i]! },
        { role: 'assistant', content: answer },
      ]),
      {
        role: 'user',
        content: this.#prompts.user({ ...context, continued: turns.length > 0, history: last }),
      },
    ];
  }

  /** The evaluations in memory; of programs that differ only in constants, only the best. */
  #remembered(): readonly BufferEntry[] {
    const entries = rememberedEntries(this.#buffer.entries);
    return this.#arePrograms ? withoutVariants(entries) : entries;
  }

  /** The evaluations shown by a prompt. */
  #selected(): readonly BufferEntry[] {
    const { memory } = this.#config;
    const remembered = this.#remembered();
    this.#history.register(remembered);
    // Don't show programs of the warm-up: most are random, and models tend to copy them.
    const proposed = this.#arePrograms ? remembered.filter(({ iteration }) => iteration > 0) : remembered;
    return selectHistory(proposed, memory, this.#history.tokensOf);
  }

  /** Returns the messages, what they show, and a `formatCorrection` that stays valid after other prompts are built. */
  prompt(iteration: number) {
    const messages = this.messages(iteration);
    const context = this.#context!;
    const formatCorrection = (failure: ParseFailure) =>
      this.#prompts.formatCorrection(context, failure, this.#history.scoreText);
    const shown = shownEvaluations(this.#buffer, this.#selected(), bestEntry(this.#remembered()));
    return { messages, shown, formatCorrection };
  }

  /** The program that an iteration's proposals change: the best one; undefined unless `policy.edits` is set. */
  parent(): BufferEntry | undefined {
    const { policy } = this.#config;
    return policy?.kind === 'program' && policy.edits ? bestEntry(this.#remembered()) : undefined;
  }

  /** Renders the message that explains what was wrong with the model's last reply. */
  formatCorrection(failure: ParseFailure): string {
    this.#context ??= this.#contextOf(1);
    return this.#prompts.formatCorrection(this.#context, failure, this.#history.scoreText);
  }

  /** Keeps the first episode of each evaluation if prompts show trajectories. */
  keepTrajectories(episodes: Iterable<EpisodeRecord>): void {
    if (this.#config.memory.trajectories === 'none') return;
    for (const episode of episodes) {
      if (episode.episode === 0) this.#trajectories.set(candidateKey(episode), episode);
    }
  }

  #contextOf(iteration: number): PromptContext {
    const { iterations } = this.#config;
    return {
      ...this.#task,
      ...this.#history.context({
        iteration,
        iterations,
        remembered: this.#remembered(),
        shown: this.#selected(),
        parent: this.parent(),
      }),
    };
  }
}

/** @param best the evaluation that the prompt names as the best */
export function shownEvaluations(
  { entries }: Pick<ReplayBuffer, 'entries'>,
  listed: readonly BufferEntry[],
  best: BufferEntry | undefined,
): ShownEvaluations {
  const listedEntries = new Set(listed);
  const evaluations = entries.flatMap((entry, i) => (listedEntries.has(entry) ? [i] : []));
  return { evaluations, ...(best && { best: best.score }) };
}

const candidateKey = ({ iteration, candidate }: { readonly iteration: number; readonly candidate: number }) =>
  `${iteration}/${candidate}`;
