/** Copies of runs, as if they had been made in environments that a symmetry makes of theirs. */
import { UserError } from '../src/errors.js';
import { createPrompter } from '../src/prompter.js';
import { createGenerator } from '../src/random.js';
import { type BufferEntry, createReplayBuffer } from '../src/replay-buffer.js';
import { promptHash } from './example.js';
import type { SourceRun, Step } from './source-run.js';
import { drawSymmetry, type Symmetry, transformed } from './symmetry.js';

/** Prompt sets that say nothing of the environment, so that nothing they say becomes untrue. */
const silentSets = ['numeric', 'compact'];

/**
 * Copies `1 … count` of a run, each with a symmetry of its policy class that `seed`, the run's own seed and the number of
 * the copy fix: a run that is made again is copied the same way.
 * @throws UserError when the run's prompts tell of its environment, or can't be rendered again
 */
export function augmented(run: SourceRun, count: number, seed: number): readonly SourceRun[] {
  return Array.from({ length: count }, (_, i) => {
    const random = createGenerator(seed, [run.manifest.seed, i + 1]);
    return { ...transformedRun(run, drawSymmetry(run.family, random)), copy: i + 1 };
  });
}

/**
 * The run with all its parameters transformed, and its prompts rendered from them by the code and the templates that
 * serve. Reasons are left out: they tell of the parameters as they were.
 */
export function transformedRun(run: SourceRun, symmetry: Symmetry): SourceRun {
  requireSilentPrompts(run);
  const images = new Map<BufferEntry, BufferEntry>(
    run.recorded.entries.map((entry) => [
      entry,
      { ...entry, parameters: transformed(entry.parameters, symmetry, run.family) },
    ]),
  );
  const recorded = { ...run.recorded, entries: [...images.values()] };
  return { ...run, recorded, steps: renderedSteps({ ...run, recorded }, (entry) => images.get(entry)!) };
}

function renderedSteps(run: SourceRun, image: (entry: BufferEntry) => BufferEntry): readonly Step[] {
  const { config, environment, family, recorded } = run;
  const prompts = requirePrompts(run);
  const buffer = createReplayBuffer();
  const unspoken = { ...recorded, entries: [], episodes: [], calls: [], events: [], iteration: 0 };
  const prompter = createPrompter({ config, environment, family, prompts, buffer, recorded: unspoken });
  let shown = 0;
  return run.steps.map((step) => {
    const end = recorded.entries.findIndex(({ iteration }) => iteration >= step.iteration);
    buffer.append(recorded.entries.slice(shown, end));
    shown = end;
    const prompt = prompter.messages(step.iteration);
    return {
      ...step,
      prompt,
      promptHash: promptHash(prompt),
      promptTokens: undefined,
      incumbent: step.incumbent && image(step.incumbent),
      proposals: step.proposals.map(({ entry }) => ({ entry: image(entry), reply: '' })),
    };
  });
}

function requirePrompts({ prompts, name, config }: SourceRun) {
  if (prompts !== undefined) return prompts;
  throw new UserError({
    field: '--augment',
    message: `the prompt templates of ${name} are gone or broken, so its prompts can't be rendered again`,
    value: config.prompts.set,
    remedy: 'restore them, leave this run out, or leave --augment out',
  });
}

function requireSilentPrompts({ name, config: { prompts, memory } }: SourceRun): void {
  const refused = (field: string, value: unknown, message: string, alternatives: readonly string[]) =>
    new UserError({
      field: '--augment',
      message: `${message}: ${name} has ${field}`,
      value,
      alternatives,
      remedy: 'leave such runs out, or leave --augment out',
    });
  if (!silentSets.includes(prompts.set)) {
    const message =
      'prompts that tell of the environment would be untrue with its observations and actions moved';
    throw refused('prompts.set', prompts.set, message, silentSets);
  }
  if (memory.trajectories !== 'none') {
    const message = 'trajectories tell of observations and actions, which copies would move';
    throw refused('memory.trajectories', memory.trajectories, message, ['none']);
  }
  if (prompts.conversation !== 'fresh' && prompts.conversation.turns > 1) {
    const message = 'a conversation holds earlier replies, which can not be rendered again';
    throw refused('prompts.conversation', prompts.conversation, message, ['fresh']);
  }
}
