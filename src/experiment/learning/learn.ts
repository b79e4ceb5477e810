/** Trains a run's model on the scores of its answers, after each iteration. */

import { remembered } from '../../prompting/context/history.js';
import type { MemoryConfig } from '../../prompting/settings.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import type { CallRecord } from '../../runs/calls.js';
import type { Adaptation } from '../../runs/events.js';
import type { Learner } from './learner.js';
import { observedIteration } from './observed.js';

/** The parts of an experiment used here. */
interface Adapting {
  readonly learner: Learner | undefined;
  readonly languageModel: { readonly adopt?: ((directory: string) => void) | undefined } | undefined;
  readonly buffer: { readonly entries: readonly BufferEntry[] };
  readonly config: { readonly memory: MemoryConfig };
  readonly completed: number;
}

/**
 * Shows the learner an iteration's evaluations before they are recorded.
 * @returns what an update did; undefined if none was due or the model isn't trained
 */
export async function learn(
  adapting: Adapting,
  iteration: number,
  calls: readonly CallRecord[],
  entries: readonly BufferEntry[],
): Promise<Adaptation | undefined> {
  const { buffer, config, learner } = adapting;
  if (learner === undefined) return undefined;
  const history = buffer.entries.filter((entry) => entry.iteration < iteration);
  const observed = observedIteration(iteration, calls, entries, remembered(history, config.memory));
  const adapted = await learner.observe(observed);
  if (adapted !== undefined) adopt(adapting);
  return adapted;
}

/** Brings the learner and the model up to the run's last complete iteration. */
export async function learnAgain(adapting: Adapting, recorded: Iterable<CallRecord>): Promise<void> {
  const { buffer, completed, learner } = adapting;
  if (learner === undefined) return;
  adopt(adapting);
  if (learner.iteration >= completed) return;
  const missed = new Map<number, CallRecord[]>();
  for (const call of recorded) {
    if (call.iteration <= learner.iteration || call.iteration > completed) continue;
    missed.set(call.iteration, [...(missed.get(call.iteration) ?? []), call]);
  }
  for (let iteration = learner.iteration + 1; iteration <= completed; iteration++) {
    const entries = buffer.entries.filter((entry) => entry.iteration === iteration);
    await learn(adapting, iteration, missed.get(iteration) ?? [], entries);
  }
}

function adopt({ languageModel, learner }: Adapting): void {
  if (learner?.adapter !== undefined) languageModel?.adopt?.(learner.adapter);
}
