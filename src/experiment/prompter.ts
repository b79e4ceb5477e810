/** The messages of each iteration: what the memory shows, through the templates, in a fresh or a continued conversation. */
import type { Config } from '../config/config.js';
import type { EnvironmentSpec } from '../environments/environment.js';
import type { ChatMessage } from '../models/language-model.js';
import type { PolicyFamily } from '../policies/policy.js';
import type { ParseFailure } from '../prompting/answer/format.js';
import { answerText } from '../prompting/answer/reply-scanner.js';
import { createHistory } from '../prompting/context/history.js';
import type { PromptContext } from '../prompting/context/prompt-context.js';
import { progressContext, taskContext } from '../prompting/context/task-context.js';
import { remembered, selectHistory } from '../prompting/memory.js';
import type { PromptSet } from '../prompting/templates/prompt-set.js';
import type { EpisodeRecord } from '../rollout/episode.js';
import { type BufferEntry, createReplayBuffer, type ReplayBuffer } from '../rollout/replay-buffer.js';
import type { CallRecord } from '../runs/events.js';
import type { RecordedRun } from '../runs/reader.js';
import type { Proposal } from './proposal.js';

export interface Prompter {
  /** The prompt of an iteration, which all its candidates answer. */
  messages(iteration: number): readonly ChatMessage[];
  /** Tells the model what was wrong with its last reply. */
  formatCorrection(failure: ParseFailure): string;
  /** Keeps what a prompt may show of a new entry's episodes. */
  remember(entry: BufferEntry, episodes: readonly EpisodeRecord[]): void;
  /** Told of each finished iteration: its proposals, and the entries of those that were evaluated. */
  finish(proposals: readonly Pick<Proposal, 'candidate' | 'calls'>[], entries: readonly BufferEntry[]): void;
}

/** An exchange that the next iteration goes on with. */
interface Conversation {
  readonly messages: readonly ChatMessage[];
  /** Entries of the memory that it has shown. */
  readonly shown: number;
  readonly turns: number;
}

/** @param recorded what the run holds already, so that a resumed one has the same trajectories and conversation */
export function createPrompter(parts: {
  readonly config: Config;
  readonly environment: EnvironmentSpec;
  readonly family: PolicyFamily;
  readonly prompts: PromptSet;
  readonly buffer: ReplayBuffer;
  readonly recorded: RecordedRun;
}): Prompter {
  const { config, environment, family, prompts, buffer, recorded } = parts;
  const spec = family.parameters;
  const maximumTurns = config.prompts.conversation === 'fresh' ? 0 : config.prompts.conversation.turns;
  const task = taskContext({ config, environment, family, description: prompts.description });
  const trajectories = new Map<string, EpisodeRecord>();
  const keep = (episode: EpisodeRecord) => {
    if (config.memory.trajectories !== 'none' && episode.episode === 0)
      trajectories.set(place(episode), episode);
  };
  for (const episode of recorded.episodes) keep(episode);
  const history = createHistory({
    spec,
    memory: config.memory,
    trajectory: (entry) => trajectories.get(place(entry)),
  });

  let conversation: Conversation | undefined;
  let context: PromptContext | undefined;

  const contextOf = (iteration: number): PromptContext => {
    const held = remembered(buffer.entries, config.memory);
    const entries = conversation === undefined ? held : held.slice(conversation.shown);
    const shown =
      conversation === undefined ? selectHistory(entries, config.memory, history.tokens) : entries;
    return {
      ...task,
      ...progressContext({
        iteration,
        iterations: config.iterations,
        history: history.part(shown, entries.length),
        buffer: createReplayBuffer(held),
        spec,
        continued: conversation !== undefined,
      }),
    };
  };

  /** `before`: the entries that there were when the prompt was made. */
  const advance = (
    proposals: readonly Pick<Proposal, 'candidate' | 'calls'>[],
    entries: readonly BufferEntry[],
    before: readonly BufferEntry[],
  ): void => {
    const best = remembered(entries, config.memory).toSorted((a, b) => b.score - a.score)[0];
    const chosen = proposals.find(({ candidate }) => candidate === (best?.candidate ?? 0));
    const last = chosen?.calls.at(-1);
    const turns = (conversation?.turns ?? 0) + 1;
    conversation =
      last?.completion === undefined || turns >= maximumTurns
        ? undefined
        : {
            messages: [
              ...last.messages,
              { role: 'assistant', content: spoken(last.completion.text, spec.count) },
            ],
            shown: remembered(before, config.memory).length,
            turns,
          };
  };
  // Brings the conversation of a resumed run to where it stood.
  for (let iteration = 1; maximumTurns > 1 && iteration <= recorded.iteration; iteration++) {
    const entries = buffer.entries.filter((entry) => entry.iteration === iteration);
    const before = buffer.entries.filter((entry) => entry.iteration < iteration);
    advance(proposalsOf(recorded.calls, iteration), entries, before);
  }

  return {
    messages(iteration) {
      context = contextOf(iteration);
      const user: ChatMessage = { role: 'user', content: prompts.user(context) };
      if (conversation !== undefined) return [...conversation.messages, user];
      return [{ role: 'system', content: prompts.system(context) }, user];
    },
    formatCorrection(failure) {
      context ??= contextOf(1);
      return prompts.formatCorrection(context, failure);
    },
    remember: (_entry, episodes) => episodes.forEach(keep),
    finish: (proposals, entries) =>
      advance(proposals, entries, buffer.entries.slice(0, buffer.entries.length - entries.length)),
  };
}

const place = ({ iteration, candidate }: { readonly iteration: number; readonly candidate: number }) =>
  `${iteration}/${candidate}`;

/** A reply as later turns quote it: without its thinking, which models are not meant to be shown again. */
function spoken(reply: string, count: number): string {
  const { text } = answerText(reply, count);
  return text.trim() === '' ? reply : text.trim();
}

function proposalsOf(calls: readonly CallRecord[], iteration: number) {
  const own = calls.filter((call) => call.iteration === iteration);
  return [...new Set(own.map((call) => call.candidate))].map((candidate) => ({
    candidate,
    calls: own.filter((call) => call.candidate === candidate),
  }));
}
