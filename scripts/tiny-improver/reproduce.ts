/**
 * Makes the embedded model again from nothing: `npm run reproduce:tiny-improver -- [--out DIR] [--install] [--smoke]`.
 * Given again after it was stopped, it goes on. `--install` replaces the model of the package, `--smoke` makes a small
 * one in a minute or two and checks that it has learnt.
 */
import { rmSync, statfsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { fileHash } from '../../finetune/lineage.js';
import type { Metric } from '../../finetune/metrics.js';
import { recordFiles } from '../../finetune/training-record.js';
import { UserError } from '../../src/errors.js';
import { readJsonLines } from '../../src/json-lines.js';
import { packageRoot } from '../../src/package-root.js';
import { shownPath } from '../../src/run-result.js';
import { exitCodes, formatBytes, formatDuration, formatTable } from '../../src/terminal.js';
import { heapMegabytes, Interrupted } from './command.js';
import { fillRecipe } from './model-card.js';
import { fullPlan, type Plan, shippedModel, smokePlan } from './recipe.js';
import { type ReproductionRecord, readRecord, recordFile, writeRecord } from './record.js';
import { type StepName, stepNames, steps, trainedModel } from './steps.js';
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

/** Set by Ctrl-C, which commands hear themselves: what is done in this process ends with its step. */
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
  for (const [index, name] of stepNames.entries()) {
    orInterrupted();
    const step = steps[name];
    const title = `step ${index + 1} of ${stepNames.length + 1}, ${step.title}`;
    if (step.isComplete(plan)) {
      say(`${title}: complete in ${shown(step.place(plan))}`);
      continue;
    }
    say(title);
    const started = performance.now();
    try {
      await step.run(plan);
    } finally {
      const seconds = (record.seconds[name] ?? 0) + (performance.now() - started) / 1000;
      keep({ seconds: { ...record.seconds, [name]: Number(seconds.toFixed(1)) } });
    }
  }
  orInterrupted();
  say(`step ${stepNames.length + 1} of ${stepNames.length + 1}, the model as it is shipped, and its answers`);
  const model = plan.places.model;
  const stored = storeModel(trainedModel(plan.places.trained), model);
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
    say(`installed in ${shown(shippedModel)}, and the recipe in its card`);
  }
}

/** Before anything is done. */
function tellCost({ cost, collection, places }: Plan): void {
  if (cost === undefined) {
    say(`a small version: about a minute of one core and 15 MB in ${shown(smokeFolder)}`);
    return;
  }
  const of = (unit: 'minutes' | 'gigabytes') =>
    Object.values(cost).reduce((sum, { [unit]: amount }) => sum + amount, 0);
  const { bavail, bsize } = statfsSync(packageRoot());
  say(`makes ${shown(places.model)} from nothing; expected on two cores, complete steps included:`);
  const rows = Object.entries(cost).map(([name, { minutes, gigabytes }]) => [
    steps[name as StepName].title,
    formatDuration(60_000 * minutes),
    formatBytes(1e9 * gigabytes),
    shown(steps[name as StepName].place({ places } as Plan)),
  ]);
  say(formatTable(['step', 'time', 'disk', 'in'], rows));
  say(
    `${collection.runs} runs; ${formatDuration(60_000 * of('minutes'))} and ${formatBytes(1e9 * of('gigabytes'))} in all, ${formatBytes(bavail * bsize)} free, and up to ${formatBytes(1e6 * heapMegabytes)} of memory; Ctrl-C stops, the same command goes on`,
  );
}

function validationLosses({ places }: Plan): readonly number[] {
  const metrics = readJsonLines<Metric>(join(places.trained, recordFiles.metrics), { repair: false }) ?? [];
  return metrics.flatMap((metric) => (metric.kind === 'validation' ? [metric.loss] : []));
}

const share = ({ asked, valid }: Validity) =>
  `${valid} of ${asked} (${((100 * valid) / asked).toFixed(2)} %)`;

function summarize(plan: Plan, { seconds, checked }: ReproductionRecord, stored: StoredModel): void {
  const { places } = plan;
  const hashed: Readonly<Record<StepName, string | undefined>> = {
    initial: join(places.initial, 'model.safetensors'),
    collect: undefined,
    dataset: join(places.dataset, 'train.jsonl'),
    train: join(trainedModel(places.trained), 'model.safetensors'),
  };
  const rows = stepNames.map((name) => [
    steps[name].title,
    seconds[name] === undefined ? 'not timed' : formatDuration(1000 * seconds[name]),
    hashed[name] === undefined ? '' : fileHash(hashed[name]).slice(0, 16),
    shown(hashed[name] ?? steps[name].place(plan)),
  ]);
  const losses = validationLosses(plan);
  process.stdout.write(
    `${[
      formatTable(['step', 'took', 'sha256', 'result'], rows),
      '',
      `model       ${shown(places.model)}: ${stored.parameters} parameters as ${stored.dtype}, ${formatBytes(stored.bytes)} of ${formatBytes(mostBytes)}`,
      `sha256      ${checked!.sha256}`,
      ...(losses.length === 0
        ? []
        : [`validation  loss ${losses[0]!.toFixed(4)} at first, ${Math.min(...losses).toFixed(4)} at best`]),
      `valid       ${share(checked!.raw)} as sampled at temperature 1, ${share(checked!.constrained)} constrained`,
      `report      ${shown(join(places.trained, recordFiles.page))}`,
    ].join('\n')}\n`,
  );
}

/** Share of its first value that the validation loss must have fallen to. */
const clearly = 0.8;

/** @throws Error when the small version shows that the recipe doesn't work */
function requireLearnt(plan: Plan, { checked }: ReproductionRecord): void {
  const losses = validationLosses(plan);
  if (!(losses.length > 1 && Math.min(...losses) < clearly * losses[0]!))
    throw new Error(`the validation loss did not fall clearly: ${losses.join(', ')}`);
  const { asked, valid } = checked!.constrained;
  if (asked === 0 || valid !== asked)
    throw new Error(`only ${valid} of ${asked} constrained answers are valid`);
  const open = stepNames.filter((name) => !steps[name].isComplete(plan));
  if (open.length > 0) throw new Error(`would be made again: ${open.join(', ')}`);
  say('the small version has learnt, its constrained answers are valid, and nothing would be made again');
}

function planned(): Plan {
  if (values.smoke) {
    if (values.install || values.out !== undefined)
      throw new UserError({ field: '--smoke', message: 'goes without --install and --out' });
    // What an earlier version of this code left would prove nothing.
    rmSync(smokeFolder, { recursive: true, force: true });
    return smokePlan(smokeFolder);
  }
  const out = resolve(values.out ?? join(buffers, 'tiny-improver-model'));
  if (out === shippedModel)
    throw new UserError({
      field: '--out',
      value: out,
      message: 'this is the model of the package',
      remedy: '--install replaces it once the new one is made and checked',
    });
  return fullPlan(out);
}

try {
  const plan = planned();
  tellCost(plan);
  await reproduce(plan);
} catch (error) {
  if (error instanceof Interrupted) {
    say(values.smoke ? 'stopped' : 'stopped; the same command goes on');
    process.exitCode = exitCodes.interrupted;
  } else if (error instanceof UserError) {
    say(`error ${error.message}`);
    process.exitCode = exitCodes.usage;
  } else {
    say(`error ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = exitCodes.failure;
  }
}
