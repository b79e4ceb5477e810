/**
 * Builds each iteration's prompt: renders the memory with the templates, in a new or a continued conversation.
 */
import type { Config } from '../config/config.js';
import { languageModelOf } from '../config/model.js';
import type { EnvironmentSpec } from '../environments/environment.js';
import { answerText } from '../models/answer-text.js';
import type { ChatMessage } from '../models/language-model.js';
import type { PolicyFamily } from '../policies/policy.js';
import type { ParseFailure } from '../prompting/answer/parse.js';
import type { Demonstration } from '../prompting/context/demonstrations.js';
import {
  createHistory,
  type History,
  parentsOf,
  remembered,
  selectHistory,
  withoutVariants,
} from '../prompting/context/history.js';
import type { PromptContext, TaskContext } from '../prompting/context/prompt-context.js';
import { taskContext } from '../prompting/context/task-context.js';
import { encodingFor } from '../prompting/notation/encoding.js';
import { type AnswerForm, answerFormOf } from '../prompting/notation/grammar.js';
import type { PromptSet } from '../prompting/templates/prompt-set.js';
import type { EpisodeRecord } from '../rollout/episode.js';
import type { BufferEntry, ReplayBuffer } from '../rollout/replay-buffer.js';
import { type CallRecord, stageOf } from '../runs/calls.js';
import type { RecordedRun } from '../runs/logs.js';

/** The user's opening message in the `conversation` layout. */
const firstTurn = { parameters: 'Propose parameters.', program: 'Write the function.' } as const;

/** A conversation that the next iteration continues. */
interface Conversation {
  readonly messages: readonly ChatMessage[];
  readonly shown: number;
  readonly turns: number;
}

interface AskedProposal {
  readonly candidate: number;
  readonly calls: readonly CallRecord[];
}

export class Prompter {
  #config: Config;
  readonly #prompts: PromptSet;
  readonly #buffer: ReplayBuffer;
  #task: TaskContext;
  readonly #form: AnswerForm;
  readonly #history: History;
  /** The first episode of each evaluation, kept if prompts show trajectories. */
  readonly #trajectories = new Map<string, EpisodeRecord>();
  readonly #maximumTurns: number;
  readonly #arePrograms: boolean;
  #conversation: Conversation | undefined;
  #context: PromptContext | undefined;

  /** @param recorded data of the run, used to restore trajectories and the conversation */
  constructor(parts: {
    readonly config: Config;
    /** In a replay, the model of the recorded run (default: the config's model). */
    readonly counted?: Config['model'];
    readonly environment: EnvironmentSpec;
    readonly family: PolicyFamily;
    readonly prompts: PromptSet;
    readonly demonstrations: readonly Demonstration[];
    readonly buffer: ReplayBuffer;
    readonly recorded: Pick<RecordedRun, 'calls' | 'episodes' | 'iteration'>;
  }) {
    const { config, family, prompts, buffer, recorded } = parts;
    const { conversation } = config.prompts;
    this.#config = config;
    this.#prompts = prompts;
    this.#buffer = buffer;
    this.#maximumTurns = conversation === 'fresh' ? 0 : conversation.turns;
    const encoding = encodingFor(family, config.prompts.set);
    this.#arePrograms = family.description.kind === 'program';
    const told = { ...parts, family: { ...family, parameters: encoding.spec } };
    this.#form = answerFormOf(languageModelOf(parts.counted ?? config.model), config.prompts);
    this.#task = taskContext(told, this.#form);
    this.remember(recorded.episodes);
    this.#history = createHistory({
      encoding,
      memory: config.memory,
      trajectory: (entry) => this.#trajectories.get(place(entry)),
    });
    this.#restoreConversation(recorded);
  }

  /**
   * The prompt of an iteration, shared by all candidates with the same parent.
   * @param known the last iteration whose evaluations it may show; defaults to all
   * @param rank 0-based rank of the parent; 0 is the best
   */
  messages(iteration: number, known?: number, rank = 0): readonly ChatMessage[] {
    this.#context = this.#contextOf(iteration, known, rank);
    if (this.#config.prompts.layout === 'conversation') return this.#turns(iteration, known);
    const user: ChatMessage = { role: 'user', content: this.#prompts.user(this.#context) };
    if (this.#conversation !== undefined) return [...this.#conversation.messages, user];
    return [{ role: 'system', content: this.#prompts.system(this.#context) }, user];
  }

  /** Renders a prompt as a conversation in which the model proposed every evaluation shown. */
  #turns(iteration: number, known = iteration): readonly ChatMessage[] {
    const context = this.#context!;
    const shown = this.#shown(known);
    const turns = this.#history.turns(shown, this.#form);
    const last = { ...context.history, text: turns.at(-1)?.result ?? '', shown: Math.min(1, shown.length) };
    const asked = [
      firstTurn[this.#arePrograms ? 'program' : 'parameters'],
      ...turns.slice(0, -1).map(({ result }) => result),
    ];
    return [
      { role: 'system', content: this.#prompts.system(context) },
      ...turns.flatMap(({ answer }, i): readonly ChatMessage[] => [
        { role: 'user', content: asked[i]! },
        { role: 'assistant', content: answer },
      ]),
      {
        role: 'user',
        content: this.#prompts.user({ ...context, continued: turns.length > 0, history: last }),
      },
    ];
  }

  /** The evaluations in memory, without the first `from`; of programs that differ only in constants, only the best. */
  #held(known: number, from = 0): readonly BufferEntry[] {
    const held = remembered(knownEntries(this.#buffer.entries, known), this.#config.memory).slice(from);
    return this.#arePrograms ? withoutVariants(held) : held;
  }

  /** The evaluations shown by a prompt that starts a new conversation. */
  #shown(known: number): readonly BufferEntry[] {
    const { memory } = this.#config;
    const held = this.#held(known);
    this.#history.know(held);
    // Don't show programs of the warm-up: most are random, and models tend to copy them.
    const proposed = this.#arePrograms ? held.filter(({ iteration }) => iteration > 0) : held;
    return selectHistory(proposed, memory, this.#history.tokens);
  }

  /** Like `messages`, but with a `formatCorrection` that stays valid after other prompts are built. */
  prompt(iteration: number, known?: number, rank = 0) {
    const messages = this.messages(iteration, known, rank);
    const context = this.#context!;
    const formatCorrection = (failure: ParseFailure) =>
      this.#prompts.formatCorrection(context, failure, this.#history.scoreText);
    return { messages, formatCorrection };
  }

  /** The parents of an iteration's proposals, best first. */
  parents(known: number): readonly BufferEntry[] {
    return parentsOf(this.#config.proposal, this.#held(known));
  }

  /** Renders the message that explains what was wrong with the model's last reply. */
  formatCorrection(failure: ParseFailure): string {
    this.#context ??= this.#contextOf(1);
    return this.#prompts.formatCorrection(this.#context, failure, this.#history.scoreText);
  }

  remember(episodes: Iterable<EpisodeRecord>): void {
    if (this.#config.memory.trajectories === 'none') return;
    for (const episode of episodes) {
      if (episode.episode === 0) this.#trajectories.set(place(episode), episode);
    }
  }

  expect(iterations: number): void {
    this.#config = { ...this.#config, iterations };
    this.#task = { ...this.#task, iterations };
  }

  /** Updates the conversation with an iteration's proposals and their evaluations. */
  finish(proposals: readonly AskedProposal[], entries: readonly BufferEntry[]): void {
    const before = this.#buffer.entries.length - entries.length;
    this.#advance(proposals, entries, this.#buffer.entries.slice(0, before));
  }

  #contextOf(iteration: number, known = iteration, rank = 0): PromptContext {
    const { iterations } = this.#config;
    const held = this.#held(known);
    const seen = this.#conversation?.shown;
    const continued = seen !== undefined;
    const shown = continued ? this.#held(known, seen) : this.#shown(known);
    const parents = parentsOf(this.#config.proposal, held);
    const entry = parents[rank];
    const parent = entry && { entry, rank: rank + 1, of: parents.length };
    return {
      ...this.#task,
      ...this.#history.context({ iteration, iterations, held, shown, continued, parent }),
    };
  }

  /**
   * Continues the conversation with the best candidate. `before`: the entries that existed when the prompt was built.
   */
  #advance(
    proposals: readonly AskedProposal[],
    entries: readonly BufferEntry[],
    before: readonly BufferEntry[],
  ): void {
    const { memory } = this.#config;
    const proposed = entries.filter(({ revises }) => revises === undefined);
    const best = remembered(proposed, memory).toSorted((a, b) => b.score - a.score)[0];
    const chosen = proposals.find(({ candidate }) => candidate === (best?.candidate ?? 0));
    const last = chosen?.calls.at(-1);
    const turns = (this.#conversation?.turns ?? 0) + 1;
    this.#conversation = undefined;
    if (last?.completion === undefined || turns >= this.#maximumTurns) return;
    const content = withoutThinking(last.completion.text);
    this.#conversation = {
      messages: [...last.messages, { role: 'assistant', content }],
      shown: remembered(before, memory).length,
      turns,
    };
  }

  #restoreConversation({ calls, iteration: last }: Pick<RecordedRun, 'calls' | 'iteration'>): void {
    if (this.#maximumTurns <= 1) return;
    const { entries } = this.#buffer;
    let own: CallRecord[] = [];
    let iteration = 1;
    let from = 0;
    const finishUntil = (next: number) => {
      for (; iteration < next && iteration <= last; iteration++) {
        while (from < entries.length && entries[from]!.iteration < iteration) from++;
        const after = entries.findIndex((entry, i) => i >= from && entry.iteration > iteration);
        const evaluated = entries.slice(from, after < 0 ? entries.length : after);
        this.#advance(proposalsOf(own), evaluated, entries.slice(0, from));
        own = [];
      }
    };
    for (const call of calls) {
      if (stageOf(call) !== 'proposal') continue;
      finishUntil(call.iteration);
      own.push(call);
    }
    finishUntil(last + 1);
  }
}

/** The last iteration whose evaluations the prompt of `iteration` may show; later ones may still be in flight. */
export const lastKnown = ({ pipeline = 1 }: Pick<Config, 'pipeline'>, iteration: number) =>
  Math.max(0, iteration - pipeline);

/** The evaluations up to and including iteration `known`, oldest first. */
export function knownEntries(entries: readonly BufferEntry[], known: number): readonly BufferEntry[] {
  const end = entries.findLastIndex((entry) => entry.iteration <= known) + 1;
  return end === entries.length ? entries : entries.slice(0, end);
}

const place = ({ iteration, candidate }: { readonly iteration: number; readonly candidate: number }) =>
  `${iteration}/${candidate}`;

/** Removes a reply's thinking, which models shouldn't see again in later turns, unless nothing else is left. */
function withoutThinking(reply: string): string {
  const { text } = answerText(reply);
  return text.trim() === '' ? reply : text.trim();
}

function proposalsOf(own: readonly CallRecord[]) {
  return [...new Set(own.map((call) => call.candidate))].map((candidate) => ({
    candidate,
    calls: own.filter((call) => call.candidate === candidate),
  }));
}
