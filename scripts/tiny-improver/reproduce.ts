/**
 * Reproduces the embedded model from scratch: `npm run reproduce:tiny-improver -- [--out DIR] [--install] [--smoke]`.
 * Run it again to resume after a stop. `--install` replaces the package's model; `--smoke` trains a small model in a
 * minute or two and checks that it has learnt.
 */
import { rmSync, statfsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { contentHash, fileHash } from '../../finetune/dataset/lineage.js';
import type { Metric } from '../../finetune/train/trainer.js';
import { exitCodes, shownPath } from '../../src/base/context.js';
import { UserError } from '../../src/base/errors.js';
import { packageRoot } from '../../src/base/package.js';
import { formatBytes, formatDuration } from '../../src/format/numbers.js';
import { number, terminalTable, text } from '../../src/format/table.js';
import { trainingFiles } from '../../src/runs/training-files.js';
import { readJsonLines } from '../../src/storage/json-lines.js';
import { heapMegabytes, Interrupted } from './command.js';
import { heldOut } from './held-out.js';
import { fillRecipe } from './model-card.js';
import {
  fullPlan,
  type HeldOutPlan,
  type Plan,
  type Round,
  shippedModel,
  smokePlan,
  trainedModel,
} from './recipe.js';
import { type Choice, type ReproductionRecord, readRecord, recordFile, writeRecord } from './record.js';
import { sharpHead } from './sharp-head.js';
import { stepsOf } from './steps.js';
import { mostBytes, type StoredModel, storeModel } from './stored-model.js';
import { type Validity, validityOf } from './validity.js';

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    install: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
  },
});
const buffers = join(packageRoot(), 'buffers');
const smokeFolder = join(buffers, 'tiny-improver-smoke');

const say = (text: string) => void process.stderr.write(`${text}\n`);
const shown = (path: string) => shownPath(path, process.cwd());

/** Set by Ctrl-C. Child commands receive the signal themselves; work in this process stops after the current step. */
let stopped = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    stopped = true;
  });
}
const orInterrupted = () => {
  if (stopped) throw new Interrupted();
};

async function reproduce(plan: Plan): Promise<void> {
  const file = recordFile(plan.places.model);
  let record = readRecord(file);
  const keep = (changes: Partial<ReproductionRecord>) => {
    record = { ...record, ...changes };
    writeRecord(file, record);
  };
  const timed = async (title: string, work: () => Promise<void>) => {
    const started = performance.now();
    try {
      await work();
    } finally {
      const seconds = (record.seconds[title] ?? 0) + (performance.now() - started) / 1000;
      keep({ seconds: { ...record.seconds, [title]: Number(seconds.toFixed(1)) } });
    }
  };
  const steps = stepsOf(plan);
  const numbered = (index: number, title: string) => `step ${index + 1} of ${steps.length + 2}, ${title}`;
  for (const [index, step] of steps.entries()) {
    orInterrupted();
    const title = numbered(index, step.title);
    if (step.isComplete()) {
      say(`${title}: complete in ${shown(step.place)}`);
      continue;
    }
    say(title);
    await timed(step.title, () => step.run());
  }
  orInterrupted();
  say(numbered(steps.length, 'comparison of rounds on held-out tasks'));
  const models = plan.rounds.map(({ places }) => trainedModel(places.trained));
  const best = await bestOf(models, plan.heldOut, {
    known: () => record.chosen ?? [],
    keep: (choice) => keep({ chosen: [...(record.chosen ?? []), choice] }),
  });
  orInterrupted();
  say(numbered(steps.length + 1, 'the model to ship, and the validity of its answers'));
  const model = plan.places.model;
  const head = await sharpHead(models[best]!, plan.rounds[best]!.places.dataset, plan.head);
  orInterrupted();
  const stored = storeModel(models[best]!, model, { head });
  const sha256 = fileHash(join(model, 'model.safetensors'));
  if (record.checked?.sha256 !== sha256) {
    const raw = await validityOf(model, 'text', plan.prompts);
    orInterrupted();
    const constrained = await validityOf(model, 'constrained', plan.prompts);
    keep({ checked: { sha256, raw, constrained } });
  }
  summarize(plan, record, stored);
  if (values.smoke) requireLearnt(plan, record);
  if (values.install) {
    storeModel(model, shippedModel);
    fillRecipe();
    say(`installed in ${shown(shippedModel)}; its card contains the recipe`);
  }
}

interface Choices {
  known(): readonly Choice[];
  keep(choice: Choice): void;
}

/** Index of the model to ship: the last round that won on more than half of the tasks against the best before it. */
async function bestOf(models: readonly string[], tasks: HeldOutPlan, choices: Choices): Promise<number> {
  const hashes = models.map(contentHash);
  const percent = (value: number) => `${(100 * value).toFixed(0)} %`;
  let best = 0;
  for (let later = 1; later < models.length; later++) {
    const pair = { model: hashes[later]!, against: hashes[best]! };
    const known = choices
      .known()
      .find(({ against, model }) => model === pair.model && against === pair.against);
    const choice = known ?? { ...pair, ...(await heldOut(models[later]!, models[best]!, tasks)) };
    orInterrupted();
    if (known === undefined) choices.keep(choice);
    const won = choice.winRate > 0.5;
    say(
      `round ${later + 1} ends higher than round ${best + 1} on ${percent(choice.winRate)} of ${choice.tasks} tasks [${choice.winInterval.map(percent).join(', ')}]: ${won ? 'kept' : 'not kept'}`,
    );
    if (won) best = later;
  }
  return best;
}

/** Prints the expected cost before anything runs. */
function tellCost(plan: Plan): void {
  const steps = stepsOf(plan).filter(({ cost }) => cost !== undefined);
  if (steps.length === 0) {
    say(`a small version: about a minute of one core and 20 MB in ${shown(smokeFolder)}`);
    return;
  }
  const of = (unit: 'minutes' | 'gigabytes') => steps.reduce((sum, { cost }) => sum + cost![unit], 0);
  const { bavail, bsize } = statfsSync(packageRoot());
  say(
    `builds ${shown(plan.places.model)} from scratch; expected cost on two cores, including complete steps:`,
  );
  say(
    terminalTable(steps, [
      text('step', ({ title }) => title),
      number('time', ({ cost }) => formatDuration(60_000 * cost!.minutes)),
      number('disk', ({ cost }) => formatBytes(1e9 * cost!.gigabytes)),
      text('in', ({ place }) => shown(place)),
    ]),
  );
  const minutes = of('minutes') + (plan.heldOut.minutes ?? 0);
  say(
    `${formatDuration(60_000 * minutes)} and ${formatBytes(1e9 * of('gigabytes'))} in all, ${formatBytes(bavail * bsize)} free, and up to ${formatBytes(1e6 * heapMegabytes)} of memory; Ctrl-C stops, the same command goes on`,
  );
}

function validationLosses({ places }: Round): readonly number[] {
  const metrics = readJsonLines<Metric>(join(places.trained, trainingFiles.metrics), { repair: false }) ?? [];
  return metrics.flatMap((metric) => (metric.kind === 'validation' ? [metric.loss] : []));
}

const share = ({ asked, valid }: Validity) =>
  `${valid} of ${asked} (${((100 * valid) / asked).toFixed(2)} %)`;

function summarize(plan: Plan, { seconds, checked }: ReproductionRecord, stored: StoredModel): void {
  const losses = plan.rounds.map((round, index) => {
    const [first, ...others] = validationLosses(round);
    return first === undefined
      ? []
      : [
          `round ${index + 1}     validation loss ${first.toFixed(4)} at first, ${Math.min(first, ...others).toFixed(4)} at best; ${shown(join(round.places.trained, trainingFiles.page))}`,
        ];
  });
  process.stdout.write(
    `${[
      terminalTable(stepsOf(plan), [
        text('step', ({ title }) => title),
        number('took', ({ title }) => seconds[title] ?? 'not timed', {
          format: (time) => formatDuration(1000 * time),
        }),
        text('sha256', ({ hashed }) => (hashed === undefined ? '' : fileHash(hashed).slice(0, 16))),
        text('result', ({ hashed, place }) => shown(hashed ?? place)),
      ]),
      '',
      `model       ${shown(plan.places.model)}: ${stored.parameters} parameters as ${stored.dtype}, ${formatBytes(stored.bytes)} of ${formatBytes(mostBytes)}`,
      `sha256      ${checked!.sha256}`,
      ...losses.flat(),
      `valid       ${share(checked!.raw)} as sampled at temperature 1, ${share(checked!.constrained)} constrained`,
    ].join('\n')}\n`,
  );
}

/** The validation loss must fall below this fraction of its first value. */
const clearly = 0.8;

/** @throws Error if the small version shows that the recipe doesn't work */
function requireLearnt(plan: Plan, { checked }: ReproductionRecord): void {
  const losses = validationLosses(plan.rounds[0]!);
  if (!(losses.length > 1 && Math.min(...losses) < clearly * losses[0]!))
    throw new Error(`the validation loss did not fall clearly: ${losses.join(', ')}`);
  const { asked, valid } = checked!.constrained;
  if (asked === 0 || valid !== asked)
    throw new Error(`only ${valid} of ${asked} constrained answers are valid`);
  const open = stepsOf(plan).filter((step) => !step.isComplete());
  if (open.length > 0)
    throw new Error(`these steps would run again: ${open.map(({ title }) => title).join(', ')}`);
  say('the small version has learnt, its constrained answers are valid, and no step would run again');
}

function planned(): Plan {
  if (values.smoke) {
    if (values.install || values.out !== undefined)
      throw new UserError({ field: '--smoke', message: "can't be combined with --install or --out" });
    // Remove results of earlier versions of this code, because they would prove nothing.
    rmSync(smokeFolder, { recursive: true, force: true });
    return smokePlan(smokeFolder);
  }
  const out = resolve(values.out ?? join(buffers, 'tiny-improver-model'));
  if (out === shippedModel)
    throw new UserError({
      field: '--out',
      value: out,
      message: "is the directory of the package's own model",
      remedy: 'pass --install to replace it once the new model is trained and checked',
    });
  return fullPlan(out);
}

try {
  const plan = planned();
  tellCost(plan);
  await reproduce(plan);
} catch (error) {
  if (error instanceof Interrupted) {
    say(values.smoke ? 'stopped' : 'stopped; the same command resumes');
    process.exitCode = exitCodes.interrupted;
  } else if (error instanceof UserError) {
    say(`error ${error.message}`);
    process.exitCode = exitCodes.usage;
  } else {
    say(`error ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = exitCodes.failure;
  }
}
