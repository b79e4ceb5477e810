/** Plays the runs of a round, and turns their winners into training examples. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { formatAnswer } from '../../../finetune/dataset/source-run.js';
import { createGenerator, deriveSeeds, type RandomGenerator } from '../../../src/base/random/generator.js';
import { encodingFor } from '../../../src/prompting/notation/encoding.js';
import { freeForm } from '../../../src/prompting/notation/grammar.js';
import { createCmaEs } from '../../../src/proposers/cma-es.js';
import { createHillClimb } from '../../../src/proposers/local-search.js';
import { createReplayBuffer } from '../../../src/rollout/replay-buffer.js';
import { type AskedModel, askedModel, searchProposer } from './proposers.js';
import { byScore, type PlayedRun, type Proposer, playRun, prompterOf } from './runs.js';
import type { ProposerPlan, Round } from './settings.js';
import { drawSymmetry, type Symmetry } from './symmetry.js';
import { drawTask, type FamilyName, families } from './tasks/tasks.js';
import { createTeacher } from './teacher.js';

/** Independent random streams of a run, derived from the round's seed and the run's number. */
const streams = { choice: 0, seeds: 1, copies: 2 } as const;

/** A share of a round's runs, for one of several processes. */
export interface Part {
  readonly index: number;
  readonly of: number;
}

/** Where a part's examples are until all parts are complete. */
const partFile = (folder: string, split: string, { index }: Part) => join(folder, `${split}-${index}.jsonl`);

/**
 * Plays every `of`-th run of the round, and of the earlier round's runs that it learns from, and writes their examples
 * to `folder`.
 * @param model directory of the model that the previous round trained, or of the initial model
 */
export async function writePart(
  rounds: readonly Round[],
  number: number,
  part: Part,
  {
    folder,
    maxTokens,
    model,
  }: { readonly folder: string; readonly maxTokens: number; readonly model: string },
): Promise<void> {
  const round = rounds[number]!;
  const models = new Map<number, AskedModel>();
  const modelAt = async (temperature: number) => {
    const known = models.get(temperature);
    const opened = known ?? (await askedModel(model, { format: 'constrained', temperature, maxTokens }));
    models.set(temperature, opened);
    return opened;
  };
  for (const split of ['train', 'validation']) writeFileSync(partFile(folder, split, part), '');
  const playAll = async (source: Round, count: number) => {
    for (let index = part.index; index < count; index += part.of) {
      const run = await drawnRun(source, index, modelAt);
      // Held-out runs have no copies: validation uses only original runs.
      const isHeldOut = index % Math.round(1 / round.validation) === 0;
      const random = createGenerator(round.seed, [source.seed, index, streams.copies]);
      const symmetries = Array.from({ length: isHeldOut ? 0 : round.copies }, () =>
        drawSymmetry(run.assembly.family, random),
      );
      const rows = [(same: readonly number[]) => same, ...symmetries].flatMap((symmetry) =>
        examplesOf(run, symmetry, round.winners),
      );
      const file = partFile(folder, isHeldOut ? 'validation' : 'train', part);
      appendFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    }
  };
  try {
    await playAll(round, round.runs);
    if (round.earlier > 0) await playAll(rounds[number - 1]!, round.earlier);
  } finally {
    for (const opened of models.values()) await opened.close();
  }
}

/** Joins the parts to a dataset that `finetune train` reads. */
export function joinParts(folder: string, parts: number): void {
  for (const split of ['train', 'validation']) {
    const joined = join(folder, `${split}.jsonl`);
    writeFileSync(`${joined}.partial`, '');
    for (let index = 0; index < parts; index++) {
      const file = partFile(folder, split, { index, of: parts });
      appendFileSync(`${joined}.partial`, readFileSync(file));
      rmSync(file);
    }
    renameSync(`${joined}.partial`, joined);
  }
}

/** Whether `joinParts` has completed a dataset. */
export const isDataset = (folder: string): boolean => existsSync(join(folder, 'validation.jsonl'));

export const newDataset = (folder: string): void => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
};

/** Plays the run with this number: draws its task, its proposer and its length. */
async function drawnRun(
  round: Round,
  index: number,
  modelAt: (temperature: number) => Promise<Proposer>,
): Promise<PlayedRun> {
  const random = createGenerator(round.seed, [index, streams.choice]);
  const family = drawFamily(random);
  const plan = round.proposers[random.categorical(shares(round.proposers))]!;
  const [seed, taskSeed] = deriveSeeds(round.seed, [index, streams.seeds], 2).map((value) => value >>> 1) as [
    number,
    number,
  ];
  const [least, most] = plan.iterations ?? round.iterations;
  const iterations = random.integers(least, most + 1);
  const isFunction = 'isFunction' in families[family];
  return playRun(
    drawTask(family, taskSeed),
    { ...round, ...(isFunction && { bias: false, episodes: 1 }), iterations, seed, seen: plan.seen },
    await proposerOf(plan, random, modelAt),
  );
}

export function drawFamily(random: RandomGenerator): FamilyName {
  const names = Object.keys(families) as FamilyName[];
  return names[random.categorical(shares(names.map((name) => families[name])))]!;
}

function shares(items: readonly { readonly weight: number }[]): readonly number[] {
  const total = items.reduce((sum, { weight }) => sum + weight, 0);
  return items.map(({ weight }) => weight / total);
}

async function proposerOf(
  plan: ProposerPlan,
  random: RandomGenerator,
  modelAt: (temperature: number) => Promise<Proposer>,
): Promise<Proposer> {
  switch (plan.search) {
    case 'teacher':
      return searchProposer(createTeacher());
    case 'cma-es':
      return searchProposer(createCmaEs({ provider: 'cma-es', sigma: random.uniform(...plan.sigma) }));
    case 'hill-climb':
      return searchProposer(
        createHillClimb({ provider: 'hill-climb', sigma: random.uniform(...plan.sigma) }),
      );
    case 'model':
      return modelAt(plan.temperature);
  }
}

/** Each iteration's winners, as answers to its prompt; all parameters are replaced by their images. */
function examplesOf({ assembly, memory, steps }: PlayedRun, image: Symmetry, winners: number) {
  const encoding = encodingFor(assembly.family, assembly.config.prompts.set);
  const images = memory.map((entry) => ({ ...entry, parameters: image(entry.parameters) }));
  const buffer = createReplayBuffer();
  const prompter = prompterOf(assembly, buffer);
  return steps.flatMap(({ candidates, incumbent, known }, i) => {
    buffer.append(images.slice(buffer.entries.length, known));
    const best = byScore(candidates.filter(({ score }) => score > incumbent.score)).slice(0, winners);
    if (best.length === 0) return [];
    const prompt = prompter.messages(i + 1);
    return best.map(({ parameters }) => ({
      prompt,
      completion: formatAnswer(image(parameters), encoding, freeForm),
    }));
  });
}
