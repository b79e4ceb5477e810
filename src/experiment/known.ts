/** Which earlier evaluations a prompt or a search may know. */
import type { Config } from '../config/config.js';
import { remembered } from '../prompting/context/history.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import type { Task } from '../search/control.js';
import type { Experiment } from './parts.js';
import { knownEntries } from './prompter.js';

/** The last iteration that the prompt of `iteration` may know about; later ones are still in flight with it. */
export const lastKnown = ({ pipeline = 1 }: Pick<Config, 'pipeline'>, iteration: number) =>
  Math.max(0, iteration - pipeline);

export const knownTo = ({ buffer, config }: Pick<Experiment, 'buffer' | 'config'>, iteration: number) =>
  knownEntries(buffer.entries, lastKnown(config, iteration));

/** What a search knows: the part of these evaluations that the memory holds. */
export const searched = (
  { buffer, config, setting }: Experiment,
  entries: readonly BufferEntry[],
): Omit<Task, 'proposed' | 'shared'> => ({
  parameters: setting.family.parameters,
  history: remembered(entries, config.memory),
  warmup: buffer.entries.filter((entry) => entry.iteration === 0).length,
  noisy: config.evaluation.seeds === 'fresh',
});
